//! `bash`: exit codes, the shown part of each stream, timeouts and cancelling.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use expect_test::expect;
use eyelet::tools::{Bash, BashArgs, BashReport, Keep};
use eyelet::{
    AttachmentMode, CancelFlag, Envelope, Environment, OutputStore, SandboxPolicy, Tool as _,
    ToolInvocation, ToolRouter, TurnContext,
};
use serde_json::{Value, json};
use testkit::TempTree;

/// A turn in `tree` with the tests' own environment and an output store beside the tree.
pub(crate) fn turn(tree: &TempTree) -> TurnContext {
    TurnContext::new(tree.path(), SandboxPolicy::Full)
        .expect("absolute")
        .with_environment(std::env::vars_os().collect())
        .with_output_store(Arc::new(OutputStore::session(tree.beside())))
}

/// The envelope of a call, with paths replaced.
pub(crate) fn envelope(tree: &TempTree, turn: &TurnContext, arguments: &Value) -> String {
    let call = ToolInvocation::new("bash", arguments.to_string(), turn);
    let envelope = Envelope::new(&ToolRouter::new().call(&call), AttachmentMode::Omit).to_json();
    redact(tree, &envelope)
}

/// The text of a call, with paths replaced.
pub(crate) fn text(tree: &TempTree, turn: &TurnContext, arguments: &Value) -> String {
    let call = ToolInvocation::new("bash", arguments.to_string(), turn);
    match ToolRouter::new().call(&call).and_then(|output| output.function()) {
        Ok(output) => redact(tree, &output.content),
        Err(error) => redact(tree, &error.to_string()),
    }
}

/// Replaces temp directories and random names, which differ each time.
fn redact(tree: &TempTree, text: &str) -> String {
    let beside = tree.beside();
    let mut rest = tree.redact(text);
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once(beside.to_str().expect("UTF-8")) {
        plain.push_str(before);
        plain.push_str("/spill");
        let path = |c: char| c == '/' || c == '-' || c.is_ascii_alphanumeric();
        rest = after.trim_start_matches(path).to_owned();
    }
    plain + &rest
}

pub(crate) fn run(turn: &TurnContext, command: &str) -> BashReport {
    Bash.run(BashArgs::new(command), turn).expect("it runs")
}

/// Both dialects of one command.
fn both(command: &str) -> String {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let arguments = json!({ "command": command });
    format!("{}\n{}", envelope(&tree, &turn, &arguments), text(&tree, &turn, &arguments))
}

#[test]
fn a_command_returns_its_output_and_exit_code() {
    expect![[r#"
        {"ok":true,"data":{"stdout":"hello\n","stderr":"oops\n","exit_code":7,"timed_out":false,"stdout_truncated":false,"stderr_truncated":false,"stdout_total_bytes":6,"stderr_total_bytes":5}}
        [exit 7; stdout 1 line; stderr 1 line]
        hello
        [stderr]
        oops
    "#]].assert_eq(&both("echo hello; echo oops >&2; exit 7"));
}

#[test]
fn success_is_exit_code_zero() {
    let tree = TempTree::new("");
    for (command, success) in [("true", true), ("false", false)] {
        let arguments = json!({ "command": command }).to_string();
        let turn = turn(&tree);
        let output = ToolRouter::new().call(&ToolInvocation::new("bash", arguments, &turn));
        assert_eq!(output.expect("it runs").success(), success);
    }
}

#[test]
fn a_long_stream_is_truncated_and_saved_to_a_file() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let command = "cat /dev/urandom | head -c 100000 | base64";
    let report = run(&turn, command);
    assert_eq!(report.stdout.text().len(), 51_200);
    assert!(report.stdout.is_truncated() && !report.stderr.is_truncated());
    assert_eq!((report.stdout.total_bytes, report.stdout.lines), (135_091, 1_755));
    let file = std::fs::read_to_string(report.stdout.file().expect("saved")).expect("readable");
    assert_eq!(file.len(), 135_091);
    assert!(file.starts_with(report.stdout.text()));

    let whole = text(&tree, &turn, &json!({ "command": command }));
    expect![
        "[exit 0; stdout 1755 lines, 135091 bytes, first 51200 shown, saved to /spill; stderr empty]"
    ]
    .assert_eq(whole.lines().next().expect("a header"));
}

#[test]
fn the_envelope_of_a_long_stream_names_the_file() {
    let tree = TempTree::new("");
    let command = "printf '%051200d' 0; printf x; printf '%051200d' 0 >&2";
    let whole = envelope(&tree, &turn(&tree), &json!({ "command": command }));
    expect![[r#"{"ok":true,"data":{"stdout":"(51200 zeros)","stderr":"(51200 zeros)","exit_code":0,"timed_out":false,"stdout_truncated":true,"stderr_truncated":false,"stdout_total_bytes":51201,"stderr_total_bytes":51200,"stdout_file":"/spill"}}"#]].assert_eq(&whole.replace(&"0".repeat(51_200), "(51200 zeros)"));
}

#[test]
fn keep_selects_the_shown_part() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let command = "printf '%030000d' 0; printf '%030000d' 0 | tr 0 1";
    let shown = |keep: Value| {
        let whole = envelope(&tree, &turn, &json!({ "command": command, "keep": keep }));
        let mut short = String::new();
        for character in whole.chars() {
            if short.chars().rev().take(3).filter(|last| *last == character).count() < 3 {
                short.push(character);
            }
        }
        short
    };
    let all = [json!(null), json!("head"), json!("tail"), json!("both")].map(shown);
    expect![[r#"
        {"ok":true,"data":{"stdout":"000111","stderr":"","exit_code":0,"timed_out":false,"stdout_truncated":true,"stderr_truncated":false,"stdout_total_bytes":6000,"stderr_total_bytes":0,"stdout_file":"/spill"}}
        {"ok":true,"data":{"stdout":"000111","stderr":"","exit_code":0,"timed_out":false,"stdout_truncated":true,"stderr_truncated":false,"stdout_total_bytes":6000,"stderr_total_bytes":0,"stdout_file":"/spill"}}
        {"ok":true,"data":{"stdout":"000111","stderr":"","exit_code":0,"timed_out":false,"stdout_truncated":true,"stderr_truncated":false,"stdout_total_bytes":6000,"stderr_total_bytes":0,"stdout_file":"/spill"}}
        {"ok":true,"data":{"stdout":"000","stderr":"","exit_code":0,"timed_out":false,"stdout_truncated":true,"stderr_truncated":false,"stdout_total_bytes":6000,"stderr_total_bytes":0,"stdout_tail":"111","stdout_file":"/spill"}}"#]].assert_eq(&all.join("\n"));

    let long = |keep| {
        let args = BashArgs { keep: Some(keep), ..BashArgs::new(command) };
        let report = Bash.run(args, &turn).expect("it runs");
        (report.stdout.text().len(), report.stdout.tail().map(str::len))
    };
    assert_eq!(long(Keep::Head), (51_200, None));
    assert_eq!(long(Keep::Tail), (51_200, None));
    assert_eq!(long(Keep::Both), (25_600, Some(25_600)));
}

#[test]
fn a_stream_that_fits_is_complete_for_every_keep() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    for keep in [Keep::Head, Keep::Tail, Keep::Both] {
        let args = BashArgs { keep: Some(keep), ..BashArgs::new("printf '%051200d' 7") };
        let report = Bash.run(args, &turn).expect("it runs");
        assert_eq!((report.stdout.text().len(), report.stdout.tail()), (51_200, None));
        assert!(!report.stdout.is_truncated() && report.stdout.saved.is_none());
    }
}

#[test]
fn text_of_both_parts_says_how_much_is_truncated() {
    let tree = TempTree::new("");
    let command = "seq 1 20000; seq 1 20000 | tr '\\n' ' ' >&2";
    let whole = text(&tree, &turn(&tree), &json!({ "command": command, "keep": "both" }));
    let ours: Vec<&str> = whole.lines().filter(|line| line.starts_with('[')).collect();
    expect![[r#"
        [exit 0; stdout 20000 lines, 108894 bytes, first 25600 and last 25600 shown, saved to /spill; stderr 1 line, 108894 bytes, first 25600 and last 25600 shown, saved to /spill]
        [57694 bytes truncated]
        [stderr]
        [57694 bytes truncated]"#]].assert_eq(&ours.join("\n"));
}

#[test]
fn exit_codes_are_those_of_the_shell() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    for (command, code) in [
        ("exit 7", 7),
        ("no-such-command-anywhere", 127),
        ("kill -9 $$", 137),
        ("kill -SEGV $$", 139),
        ("kill -TERM $$", 143),
        ("exit 256", 0),
    ] {
        assert_eq!(run(&turn, command).exit_code, code, "{command}");
    }
}

#[test]
fn standard_input_is_empty_and_there_is_no_terminal() {
    expect![[r#"
        {"ok":true,"data":{"stdout":"not a tty\nno terminal\ndumb 1\n","stderr":"","exit_code":0,"timed_out":false,"stdout_truncated":false,"stderr_truncated":false,"stdout_total_bytes":29,"stderr_total_bytes":0}}
        [exit 0; stdout 3 lines; stderr empty]
        not a tty
        no terminal
        dumb 1
    "#]].assert_eq(&both(
        "cat; tty; (echo x >/dev/tty) 2>/dev/null || echo no terminal; echo $TERM $NO_COLOR",
    ));
}

#[test]
fn the_environment_is_the_turns_and_nothing_else() {
    let tree = TempTree::new("");
    let environment: Environment =
        [("PATH", "/usr/bin:/bin"), ("GREETING", "hello"), ("TERM", "xterm")].into_iter().collect();
    let turn = turn(&tree).with_environment(environment);
    let names = "env | grep -v '^_=\\|^SHLVL=' | sort";
    expect![[r#"
        [exit 0; stdout 5 lines; stderr empty]
        GREETING=hello
        NO_COLOR=1
        PATH=/usr/bin:/bin
        PWD=/repo
        TERM=dumb
    "#]]
    .assert_eq(&text(&tree, &turn, &json!({ "command": names })));
}

#[test]
fn without_bash_on_the_path_sh_runs_the_command() {
    let tree = TempTree::new("bin/");
    std::os::unix::fs::symlink("/bin/sh", tree.at("bin/sh")).expect("the tree is writable");
    for path in [tree.at("bin"), "/nonexistent".to_owned()] {
        let environment: Environment = [("PATH", path)].into_iter().collect();
        let turn = turn(&tree).with_environment(environment);
        assert_eq!(run(&turn, "echo ${BASH_VERSION:+bash} $0 | grep -c sh").exit_code, 127);
        let report = run(&turn, "echo $0");
        assert!(report.stdout.text().ends_with("/sh\n"), "{report:?}");
    }
}

#[test]
fn a_command_that_starts_with_a_dash_is_not_an_option() {
    expect![[r#"
        {"ok":true,"data":{"stdout":"after\n","stderr":"","exit_code":0,"timed_out":false,"stdout_truncated":false,"stderr_truncated":false,"stdout_total_bytes":6,"stderr_total_bytes":0}}
        [exit 0; stdout 1 line; stderr empty]
        after
    "#]].assert_eq(&both("-x 2>/dev/null; echo after"));
}

#[test]
fn invalid_bytes_are_replaced_and_counted_raw() {
    expect![[r#"
        {"ok":true,"data":{"stdout":"��tail\n�","stderr":"","exit_code":0,"timed_out":false,"stdout_truncated":false,"stderr_truncated":false,"stdout_total_bytes":9,"stderr_total_bytes":0}}
        [exit 0; stdout 2 lines; stderr empty]
        ��tail
        �"#]].assert_eq(&both(r"printf '\xff\xfe'; echo tail; printf '\xf0\x9f'"));
}

#[test]
fn a_stream_too_long_after_replacement_is_saved() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let report = run(&turn, r"head -c 20000 /dev/zero | tr '\0' '\377'");
    assert_eq!(report.stdout.text(), "\u{fffd}".repeat(17_066));
    assert_eq!(report.stdout.total_bytes, 20_000);
    let file = std::fs::read(report.stdout.file().expect("saved")).expect("readable");
    assert_eq!(file, [0xff; 20_000]);
}

#[test]
fn a_truncated_character_is_dropped() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    for before in 51_196..=51_200 {
        let report = run(&turn, &format!("printf '%0{before}d' 0; printf '😀😀'"));
        let shown = if before == 51_196 { 51_200 } else { before };
        assert_eq!(report.stdout.text().len(), shown);
        assert!(!report.stdout.text().contains('\u{fffd}') && report.stdout.is_truncated());
    }
}

#[test]
fn a_timeout_returns_the_output_so_far() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let command = "trap 'echo cleaning up; exit 3' TERM; echo before; sleep 100 & wait";
    let arguments = json!({ "command": command, "timeout_secs": 1 });
    let answers = [envelope(&tree, &turn, &arguments), text(&tree, &turn, &arguments)];
    expect![[r#"
        {"ok":true,"data":{"stdout":"before\ncleaning up\n","stderr":"","exit_code":-1,"timed_out":true,"stdout_truncated":false,"stderr_truncated":false,"stdout_total_bytes":19,"stderr_total_bytes":0}}
        [timed out after 1 s; stdout 2 lines; stderr empty]
        before
        cleaning up
    "#]].assert_eq(&answers.join("\n"));
}

#[test]
fn a_command_that_ignores_sigterm_is_killed() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    for command in
        ["trap '' TERM INT HUP; echo before; sleep 100; sleep 100", "echo before; kill -STOP $$"]
    {
        let args = BashArgs { timeout_secs: Some(1), ..BashArgs::new(command) };
        let report = Bash.run(args, &turn).expect("it runs");
        assert!(report.timed_out, "{command}");
        assert_eq!((report.stdout.text(), report.exit_code), ("before\n", -1), "{command}");
    }
}

#[test]
fn the_turns_deadline_counts_as_a_timeout() {
    let tree = TempTree::new("");
    let soon = turn(&tree).with_deadline(Instant::now() + Duration::from_millis(1_400));
    expect![[r#"
        [timed out after 1 s; stdout 1 line; stderr empty]
        hello
    "#]]
    .assert_eq(&text(&tree, &soon, &json!({ "command": "echo hello; sleep 100" })));
    let past = turn(&tree).with_deadline(Instant::now());
    assert!(run(&past, "touch made").timed_out);
    assert!(!tree.path().join("made").exists());
}

#[test]
fn a_cancelled_call_returns_the_output_so_far() {
    let tree = TempTree::new("");
    let cancel = CancelFlag::default();
    let turn = turn(&tree).with_cancel(cancel.clone());
    let flag = tree.path().join("started");
    let canceller = std::thread::spawn(move || {
        while !flag.exists() {
            std::thread::yield_now();
        }
        cancel.cancel();
    });
    let arguments = json!({ "command": "echo hello; touch started; sleep 100" });
    expect![[r#"{"ok":true,"data":{"stdout":"hello\n","stderr":"","exit_code":-1,"timed_out":false,"stdout_truncated":false,"stderr_truncated":false,"stdout_total_bytes":6,"stderr_total_bytes":0,"cancelled":true}}"#]].assert_eq(&envelope(&tree, &turn, &arguments));
    canceller.join().expect("it cancels");
    // The flag is still set.
    expect!["[cancelled; stdout empty; stderr empty]"].assert_eq(&text(&tree, &turn, &arguments));
}

#[test]
fn live_output_gets_everything_in_parts_of_any_size() {
    let tree = TempTree::new("");
    let taken = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
    let (live, calls) = (Arc::clone(&taken), AtomicUsize::new(0));
    let live_turn = turn(&tree).with_live_output(move |kind, bytes| {
        // Sometimes nothing, as a slow reader.
        let most = [0, 1, 50_000][calls.fetch_add(1, Ordering::Relaxed) % 3].min(bytes.len());
        live.lock().unwrap()[kind as usize].extend_from_slice(&bytes[..most]);
        most
    });
    let script = "seq 200000; seq 100 >&2";
    let report = run(&live_turn, script);
    let numbers = |last| (1..=last).map(|number| format!("{number}\n")).collect::<String>();
    let [stdout, stderr] = taken.lock().unwrap().clone();
    assert!(stdout == numbers(200_000).as_bytes(), "{} bytes", stdout.len());
    assert_eq!(String::from_utf8(stderr).unwrap(), numbers(100));
    let usual = run(&turn(&tree), script);
    assert_eq!((report.stdout.shown, report.stderr), (usual.stdout.shown, usual.stderr));
}

#[test]
fn output_that_live_output_never_takes_ends_at_the_time_limit() {
    let tree = TempTree::new("");
    let turn = turn(&tree).with_live_output(|_, _| 0);
    let args = BashArgs { timeout_secs: Some(1), ..BashArgs::new("echo hello") };
    let report = Bash.run(args, &turn).unwrap();
    assert!(report.timed_out, "{report:?}");
    assert_eq!((report.stdout.text(), report.stopped_with), ("hello\n", Some(0)));
}

#[test]
fn interrupt_lets_the_command_end_by_itself() {
    let tree = TempTree::new("");
    let cancel = CancelFlag::default();
    let flag = cancel.clone();
    let turn = turn(&tree).with_cancel(cancel).with_live_output(move |_, bytes| {
        flag.interrupt();
        bytes.len()
    });
    // bash drops an interrupt that arrives while it starts another program, so the loop starts none.
    // A shell cannot trap a signal that was ignored when it started, as in a background process of a script.
    let command = "exec env --default-signal=INT bash -c \"\
        trap 'echo bye; exit 5' INT; echo go; while :; do :; done\"";
    let report = run(&turn, command);
    assert_eq!((report.exit_code, report.cancelled), (5, false));
    assert_eq!(report.stdout.text(), "go\nbye\n");
}

#[test]
fn without_an_output_store_a_long_stream_is_not_saved() {
    let tree = TempTree::new("");
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Full).expect("absolute");
    let report = run(&turn, "printf '%060000d' 0");
    assert_eq!(
        report.stdout.save_error().as_deref(),
        Some("no directory for saved output is configured")
    );
    assert_eq!(report.stdout.text().len(), 51_200);
}
