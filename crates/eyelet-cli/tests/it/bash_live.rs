//! `eyelet bash` prints output while the command runs, and passes Ctrl-C on.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process};
use testkit::cli::{command, eyelet};
use testkit::workspace::SUPERVISED;
use testkit::{TempTree, eyelet_bin};

/// `eyelet` in the tree, with both streams as pipes. It reacts to SIGINT even if the tests ignore that.
fn start(tree: &TempTree, arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut env = Command::new("env");
    env.arg("--default-signal=INT").arg(eyelet_bin()).args(arguments);
    env.current_dir(tree.path()).env("HOME", tree.beside()).env("TMPDIR", tree.beside());
    env.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = env.spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

fn line(stream: &mut impl BufRead) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    line
}

fn interrupt(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}

/// The exit code, and the rest of both streams.
fn end(mut child: Child, mut stdout: BufReader<ChildStdout>) -> (i32, String, String) {
    let (mut rest, mut notes) = (String::new(), String::new());
    stdout.read_to_string(&mut rest).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut notes).unwrap();
    (child.wait().unwrap().code().unwrap(), rest, notes)
}

#[test]
fn output_appears_before_the_command_ends() {
    let tree = TempTree::new("");
    let script = "echo out; echo err >&2; until [ -e go ]; do sleep 0.05; done; echo end";
    let (mut child, mut stdout) = start(&tree, &["bash", script]);
    assert_eq!(line(&mut stdout), "out\n");
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    assert_eq!(line(&mut stderr), "err\n");
    tree.file("go", "");
    assert_eq!((line(&mut stdout), line(&mut stderr)), ("end\n".to_owned(), String::new()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn pipe_gets_all_output_unchanged() {
    let tree = TempTree::new("");
    let script = r"head -c 3000000 /dev/zero; printf '\377\033[2J'; head -c 70000 /dev/zero >&2";
    let output = command(&tree).args(["bash", script]).output().unwrap();
    assert!(output.stderr == vec![0; 70_000], "{} bytes", output.stderr.len());
    let (zeros, end) = output.stdout.split_at(3_000_000);
    assert!(zeros.iter().all(|byte| *byte == 0));
    assert_eq!(end, b"\xff\x1b[2J");
    // Nothing is saved: the person has all of it.
    assert_eq!(fs::read_dir(tree.beside()).unwrap().count(), 0);
}

#[test]
fn output_can_be_an_ordinary_file() {
    let tree = TempTree::new("");
    let file = File::create(tree.path().join("log")).unwrap();
    command(&tree).args(["bash", "seq 100000"]).stdout(file).status().unwrap();
    let whole: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    assert!(fs::read_to_string(tree.path().join("log")).unwrap() == whole);
}

#[test]
fn reader_that_goes_away_ends_the_command() {
    let tree = TempTree::new("");
    for script in ["yes", "echo y; exec sleep 100"] {
        let (child, mut stdout) = start(&tree, &["bash", script]);
        assert_eq!(line(&mut stdout), "y\n");
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(141), vec![]), "{script}");
    }
}

#[test]
fn time_limit_holds_although_nobody_reads() {
    let tree = TempTree::new("");
    let (mut child, _stdout) = start(&tree, &["bash", "yes", "--timeout-secs", "1"]);
    assert_eq!(child.wait().unwrap().code(), Some(124));
    let mut notes = String::new();
    child.stderr.take().unwrap().read_to_string(&mut notes).unwrap();
    expect![[r#"
        the end of the output is lost, because the program that reads it was too slow
        timed out; use --timeout-secs to allow more time
    "#]]
    .assert_eq(&notes);
}

#[test]
fn output_that_cannot_be_written_ends_the_command() {
    let tree = TempTree::new("");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = command(&tree).args(["bash", "yes"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    expect![[r#"
        eyelet: cannot write the output: No space left on device (os error 28)
    "#]]
    .assert_eq(&String::from_utf8_lossy(&output.stderr));
}

#[test]
fn interrupt_reaches_the_command() {
    let tree = TempTree::new("");
    // bash drops an interrupt that arrives while it starts another program, so the loop starts none.
    let trap = "trap 'echo bye; exit 5' INT; echo go; while :; do :; done";
    for flags in SUPERVISED {
        for (script, code, rest) in [(trap, 5, "bye\n"), ("echo go; exec sleep 100", 130, "")] {
            let arguments = [&["--root", tree.str()], flags, &["bash", script]].concat();
            let (child, mut stdout) = start(&tree, &arguments);
            assert_eq!(line(&mut stdout), "go\n", "{flags:?}");
            interrupt(&child);
            assert_eq!(end(child, stdout), (code, rest.to_owned(), String::new()), "{flags:?}");
        }
    }
}

#[test]
fn second_interrupt_or_three_seconds_kill_the_command() {
    let tree = TempTree::new("");
    let cancelled = |rest: &str, code| (code, rest.to_owned(), "cancelled\n".to_owned());
    let stubborn = "trap 'echo caught' INT; echo go; while :; do :; done";
    let deaf = format!("trap '' TERM; {stubborn}");
    for (script, code) in [(stubborn, 143), (&deaf, 137)] {
        let (child, mut stdout) = start(&tree, &["bash", script]);
        assert_eq!(line(&mut stdout), "go\n");
        interrupt(&child);
        assert_eq!(line(&mut stdout), "caught\n");
        interrupt(&child);
        assert_eq!(end(child, stdout), cancelled("", code));
        let (child, mut stdout) = start(&tree, &["bash", script]);
        assert_eq!(line(&mut stdout), "go\n");
        interrupt(&child);
        assert_eq!(end(child, stdout), cancelled("caught\n", code));
    }
}

#[test]
fn interrupted_command_is_reported_with_json() {
    let tree = TempTree::new("");
    let script = "touch started; exec sleep 100";
    let (child, stdout) = start(&tree, &["bash", "--json", script]);
    while !tree.path().join("started").exists() {
        std::thread::yield_now();
    }
    interrupt(&child);
    let (code, envelope, _) = end(child, stdout);
    expect![[r#"
        130 {"ok":true,"data":{"stdout":"","stderr":"","exit_code":130,"timed_out":false,"stdout_truncated":false,"stderr_truncated":false,"stdout_total_bytes":0,"stderr_total_bytes":0}}
    "#]].assert_eq(&format!("{code} {envelope}"));
}

#[test]
fn only_keep_and_json_limit_the_output() {
    let tree = TempTree::new("");
    for flag in ["--keep=head", "--json"] {
        let output = command(&tree).args(["bash", "seq 20000", flag]).output().unwrap();
        assert!((51_200..80_000).contains(&output.stdout.len()), "{flag}");
    }
    let shown = eyelet(&tree, ["bash", "seq 20000"]);
    assert!(shown.ends_with("19999\n20000\n"), "{} bytes", shown.len());
}
