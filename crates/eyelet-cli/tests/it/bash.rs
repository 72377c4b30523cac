//! `eyelet bash`.

use std::fs;

use expect_test::expect;
use testkit::TempTree;
use testkit::cli::{command, eyelet};

#[test]
fn output_and_exit_code_are_those_of_the_command() {
    let tree = TempTree::new("");
    expect![[r#"
        exit 3
        --- stdout
        out
        --- stderr
        err<no newline>
    "#]]
    .assert_eq(&eyelet(&tree, ["bash", "echo out; printf err >&2; exit 3"]));
    expect![[r#"
        exit 137
    "#]]
    .assert_eq(&eyelet(&tree, ["bash", "kill -9 $$"]));
}

#[test]
fn command_has_the_working_directory_and_environment() {
    let tree = TempTree::new("d/");
    let output =
        command(&tree).env("WORD", "said").args(["--cwd", "d", "bash", "pwd; echo $WORD"]).output();
    expect![[r#"
        /repo/d
        said
    "#]]
    .assert_eq(&tree.redact(&String::from_utf8(output.unwrap().stdout).unwrap()));
}

#[test]
fn timeout_exits_124_and_prints_the_output_so_far() {
    let tree = TempTree::new("");
    let slow = ["bash", "echo early; exec sleep 60", "--timeout-secs", "1"];
    expect![[r#"
        exit 124
        --- stdout
        early
        --- stderr
        timed out; use --timeout-secs to allow more time
    "#]]
    .assert_eq(&eyelet(&tree, slow));
}

#[test]
fn command_that_cannot_run_exits_125() {
    let tree = TempTree::new("");
    expect![[r#"
        exit 125
        --- stderr
        eyelet: command must not be empty
    "#]]
    .assert_eq(&eyelet(&tree, ["bash", ""]));
    expect![[r#"
        exit 125
        --- stderr
        eyelet: timeout_secs must be greater than zero
    "#]]
    .assert_eq(&eyelet(&tree, ["bash", "true", "--timeout-secs", "0"]));
    expect![[r#"
        exit 125
        --- stderr
        eyelet: --cwd: cannot open the directory `gone`: No such file or directory (os error 2)
    "#]]
    .assert_eq(&eyelet(&tree, ["--cwd", "gone", "bash", "true"]));
}

#[test]
fn json_prints_the_envelope_and_keeps_the_exit_code() {
    let tree = TempTree::new("");
    expect![[r#"
        exit 3
        --- stdout
        {"ok":true,"data":{"stdout":"out\n","stderr":"","exit_code":3,"timed_out":false,"stdout_truncated":false,"stderr_truncated":false,"stdout_total_bytes":4,"stderr_total_bytes":0}}
    "#]].assert_eq(&eyelet(&tree, ["bash", "--json", "echo out; exit 3"]));
    expect![[r#"
        exit 125
        --- stdout
        {"ok":false,"error":{"code":"invalid_input","message":"command must not be empty"}}
    "#]]
    .assert_eq(&eyelet(&tree, ["bash", "--json", ""]));
}

/// Runs a command that prints 108,894 bytes. Returns its abbreviated output, and the note with the saved
/// file as `FILE`.
fn long(arguments: &[&str]) -> (String, String) {
    let tree = TempTree::new("");
    let output = command(&tree).args(["bash", "seq 20000"]).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let mut note = String::from_utf8(output.stderr).unwrap();
    let rest = note.split_once("saved to ").map(|(_, rest)| rest);
    let file = rest.and_then(|rest| rest.split([':', ';', '\n']).next()).map(str::to_owned);
    if let Some(file) = file {
        let saved = fs::read_to_string(&file).unwrap();
        let whole: String = (1..=20000).map(|number| format!("{number}\n")).collect();
        assert!(whole.starts_with(&saved));
        note = note.replace(&file, &format!("FILE ({} bytes)", saved.len()));
    }
    let shown = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = shown.lines().collect();
    let framed: Vec<_> = lines.iter().filter(|line| line.starts_with('[')).copied().collect();
    let (first, last) = (lines.first().unwrap(), lines.last().unwrap());
    (format!("{first} … {} … {last}, {} bytes\n", framed.concat(), shown.len()), note)
}

#[test]
fn truncated_output_is_saved_to_a_file() {
    let mut results = String::new();
    let variants: [&[&str]; 4] = [
        &["--keep", "head"],
        &["--keep", "tail"],
        &["--keep", "both"],
        &["--keep", "head", "--spill-bytes", "60000"],
    ];
    for arguments in variants {
        let (shown, note) = long(arguments);
        results.push_str(&format!("{}\n{shown}{note}", arguments.join(" ")));
    }
    expect![[r#"
        --keep head
        1 …  … 10, 51200 bytes
        stdout: 108894 bytes in total, only the start is shown; saved to FILE (108894 bytes)
        --keep tail
        7 …  … 20000, 51200 bytes
        stdout: 108894 bytes in total, only the end is shown; saved to FILE (108894 bytes)
        --keep both
        1 … [middle truncated] … 20000, 51220 bytes
        stdout: 108894 bytes in total, only the start and the end are shown; saved to FILE (108894 bytes)
        --keep head --spill-bytes 60000
        1 …  … 10, 51200 bytes
        stdout: 108894 bytes in total, only the start is shown; partly saved to FILE (60000 bytes): only the first 60000 of 108894 bytes were saved
    "#]].assert_eq(&results);
}

#[test]
fn next_call_can_read_saved_output() {
    let tree = TempTree::new("");
    let json = r#"{"command":"seq 20000"}"#;
    let output = command(&tree).args(["call", "bash", json]).output().unwrap();
    let envelope: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let file = envelope["data"]["stdout_file"].as_str().unwrap();
    expect![[r#"
        exit 0
        --- stdout
        20000
    "#]]
    .assert_eq(&eyelet(&tree, ["--root", tree.str(), "read", file, "--offset", "20000"]));
}
