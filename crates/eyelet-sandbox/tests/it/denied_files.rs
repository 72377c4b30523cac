//! Denied files, secrets and the directories of other sessions that change while a command runs, and deny globs at their
//! limits.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::FlockOperation;
use testkit::workspace::{FIRST, TIERS, Workspace, envelope, marked, marker, within};

/// The flags that deny `.env` files. Only the first tier can.
fn deny_env() -> Vec<&'static str> {
    [FIRST, &["--deny", "**/.env"]].concat()
}

/// Runs `command` after `change`, with the outside directory as the home. The command starts before the change.
pub(crate) fn run_during(
    workspace: &Workspace,
    flags: &[&str],
    command: &str,
    change: impl FnOnce(),
) -> String {
    run_with_home(workspace, workspace.outside(), flags, command, change)
}

fn run_with_home(
    workspace: &Workspace,
    home: &Path,
    flags: &[&str],
    command: &str,
    change: impl FnOnce(),
) -> String {
    let marker = marker();
    let command =
        format!("sleep {marker} & until [ -e changed ]; do sleep 0.01; done; {command}; echo seen");
    let mut eyelet = workspace.eyelet(flags);
    let eyelet = eyelet.env("HOME", home).args(["bash", &command]);
    let call = eyelet.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(within(Duration::from_secs(30), || marked(&marker) == 1), "{flags:?}");
    change();
    fs::write(workspace.at("changed"), "").unwrap();
    let output = call.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("seen"), "{flags:?} {command}: {output:?}");
    printed
}

/// Waits until a file is hidden: for about a millisecond after it was replaced, the command can read it.
pub(crate) fn hidden(file: &str) -> String {
    format!("while grep -qs CANARY {file}; do sleep 0.01; done")
}

#[test]
fn a_secret_that_is_replaced_while_a_command_runs_stays_hidden() {
    for tier in TIERS {
        let workspace = Workspace::new("");
        let home = workspace.outside();
        fs::write(home.join(".claude.json"), "CANARY").unwrap();
        fs::write(home.join("open"), "open").unwrap();
        fs::create_dir(home.join(".ssh")).unwrap();
        fs::write(home.join(".ssh/id"), "CANARY").unwrap();
        let replace = || {
            fs::write(home.join("new"), "CANARY").unwrap();
            fs::rename(home.join("new"), home.join(".claude.json")).unwrap();
            fs::rename(home.join(".ssh"), home.join("old")).unwrap();
            fs::create_dir(home.join(".ssh")).unwrap();
            fs::write(home.join(".ssh/id"), "CANARY").unwrap();
        };
        let command = "cat ~/.claude.json ~/.ssh/id ~/old/id ~/open";
        let printed = run_during(&workspace, tier, command, replace);
        assert!(!printed.contains("CANARY") && printed.contains("open"), "{tier:?}: {printed}");
    }
}

#[test]
fn a_replaced_secret_in_a_home_below_tmp_is_covered_again() {
    let home = tempfile::Builder::new().prefix("eyelet-home-").tempdir_in("/tmp").unwrap();
    let at = |path: &str| home.path().join(path);
    fs::write(at(".claude.json"), "CANARY").unwrap();
    fs::write(at("open"), "open").unwrap();
    let replace = || {
        fs::write(at("new"), "CANARY").unwrap();
        fs::rename(at("new"), at(".claude.json")).unwrap();
    };
    let workspace = Workspace::new("");
    let command = format!("{}; cat ~/.claude.json ~/open", hidden("~/.claude.json"));
    let printed = run_with_home(&workspace, home.path(), FIRST, &command, replace);
    assert!(!printed.contains("CANARY") && printed.contains("open"), "{printed}");
}

#[test]
fn a_denied_file_in_a_root_that_is_replaced_is_covered_again() {
    let read_only = ["--sandbox", "read-only", "--deny", "**/.env"];
    for flags in [deny_env(), read_only.to_vec()] {
        let workspace = Workspace::new("conf/deep/.env = CANARY\n.env = CANARY");
        let at = |path: &str| workspace.at(path);
        let replace = || {
            fs::write(at("new"), "CANARY").unwrap();
            fs::rename(at("new"), at(".env")).unwrap();
            fs::rename(at("conf"), at("old")).unwrap();
            fs::create_dir_all(at("conf/deep")).unwrap();
            fs::write(at("conf/deep/.env"), "CANARY").unwrap();
        };
        let files = [".env", "conf/deep/.env", "old/deep/.env"];
        let command = format!("{}; cat {}", files.map(hidden).join("; "), files.join(" "));
        let printed = run_during(&workspace, &flags, &command, replace);
        assert!(!printed.contains("CANARY"), "{flags:?}: {printed}");
    }
}

#[test]
fn a_running_command_cannot_read_the_temp_directory_of_a_later_session() {
    for tier in TIERS {
        let workspace = Workspace::new("");
        let temp = workspace.outside().join("tmp");
        fs::create_dir(&temp).unwrap();
        let mut later = workspace.eyelet(tier);
        later.env("TMPDIR", &temp);
        later.args([
            "bash",
            "echo CANARY > $TMPDIR/secret; : > later; until [ -e ended ]; do sleep 0.01; done",
        ]);
        let later = later.stdout(Stdio::null());
        let mut first = workspace.eyelet(tier);
        first.env("TMPDIR", &temp);
        let command =
            ": > up; until [ -e later ]; do sleep 0.01; done; cat $OUT/tmp/*/secret; echo seen";
        let first = first.args(["bash", command]).stdout(Stdio::piped()).spawn().unwrap();
        assert!(within(Duration::from_secs(30), || workspace.at("up").exists()), "{tier:?}");
        let mut later = later.spawn().unwrap();
        let output = first.wait_with_output().unwrap();
        fs::write(workspace.at("ended"), "").unwrap();
        later.wait().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains("seen") && !printed.contains("CANARY"), "{tier:?}: {printed}");
    }
}

#[test]
fn commands_run_while_temp_directories_of_other_sessions_vanish() {
    if testkit::lacks("strace") {
        return;
    }
    let user = rustix::process::geteuid().as_raw();
    for _ in 0..3 {
        let workspace = Workspace::new("");
        let temp = workspace.tree.beside();
        let others = (0..60_u8).map(|number| temp.join(format!("eyelet-{user}-tmp-{number:032x}")));
        let others: Vec<_> = others.collect();
        let create = |folder: &PathBuf| {
            fs::create_dir(folder).unwrap();
            let folder = File::open(folder).unwrap();
            // Otherwise it counts as that of a dead session.
            rustix::fs::flock(&folder, FlockOperation::LockExclusive).unwrap();
            folder
        };
        let _locked: Vec<_> = others.iter().map(create).collect();
        let mut eyelet = workspace.eyelet(FIRST);
        eyelet.args(["call", "bash", r#"{"command":"echo ran"}"#]);
        let mut slow = Command::new("strace");
        slow.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=mount"])
            .args(["-e", "inject=mount:delay_enter=20000"])
            .arg(eyelet.get_program())
            .args(eyelet.get_args())
            .env_clear()
            .envs(eyelet.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(workspace.tree.path());
        let slow = slow.stdout(Stdio::piped()).spawn().unwrap();
        for folder in others.iter().rev() {
            fs::remove_dir(folder).unwrap();
            std::thread::sleep(Duration::from_millis(8));
        }
        let answer = envelope(&slow.wait_with_output().unwrap());
        assert_eq!(answer["data"]["stdout"], "ran\n", "{answer}");
    }
}

#[test]
fn more_denied_files_than_can_be_hidden_are_refused() {
    let workspace = Workspace::new("");
    for number in 0..=1000 {
        fs::create_dir(workspace.at(&format!("{number}"))).unwrap();
        fs::write(workspace.at(&format!("{number}/.env")), "CANARY").unwrap();
    }
    let answer = workspace.answer(&deny_env(), "cat */.env");
    let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(message.contains("the deny globs match more than 1000 paths"), "{message}");
    // One fewer is hidden.
    fs::remove_file(workspace.at("0/.env")).unwrap();
    assert_eq!(workspace.stdout(&deny_env(), "cat */.env | wc -c"), "0\n");
}

#[test]
fn deny_globs_apply_in_roots_whose_names_are_no_utf_8_or_have_wildcards() {
    for name in [b"b\xff\xfed".as_slice(), b"[a]*?{b}"] {
        let workspace = Workspace::new("");
        let root = workspace.tree.path().join(OsStr::from_bytes(name));
        fs::create_dir(&root).unwrap();
        fs::write(root.join(".env"), "CANARY").unwrap();
        fs::write(root.join("open"), "seen").unwrap();
        let mut eyelet = testkit::cli::command(&workspace.tree);
        eyelet.current_dir(&root).arg("--root").arg(&root).args(deny_env());
        let output = eyelet.args(["bash", "cat .env open"]).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(!printed.contains("CANARY") && printed.contains("seen"), "{output:?}");
    }
}
