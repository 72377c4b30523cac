//! The examples run, and do what their descriptions say.

use std::process::Command;

use expect_test::{Expect, expect};
use testkit::TempTree;

fn prints(name: &str, expected: &Expect) {
    expected.assert_eq(&output(name));
}

/// Runs an example in a directory with a package.
fn output(name: &str) -> String {
    let tree = TempTree::new("");
    tree.file("Cargo.toml", "[package]\nname = \"eyelet\"\nversion = \"0.2.0\"\n");
    let output = Command::new(testkit::example(name)).current_dir(tree.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    tree.redact(&String::from_utf8(output.stdout).unwrap())
}

#[test]
fn embed_reads_a_file_in_both_ways() {
    prints(
        "embed",
        &expect![[r#"
        [package]
        name = "eyelet"
        version = "0.2.0"

        {"ok":true,"data":{"path":"Cargo.toml","content":"[package]\nname = \"eyelet\"\nversion = \"0.2.0\"\n","offset":1,"lines_shown":3,"total_lines":3,"truncated":false}}
    "#]],
    );
}

#[test]
fn own_tool_counts_words_inside_the_roots_only() {
    prints(
        "own_tool",
        &expect![[r#"
            2 =

            error: path `/etc/passwd` is outside the roots (/repo); add a root that contains the path, or allow reading outside the roots
        "#]],
    );
}

#[test]
fn chat_api_runs_calls_until_the_model_answers() {
    prints(
        "chat_api",
        &expect![[r#"
            "read" -> error: path `no-such-file` cannot be read: No such file or directory (os error 2)
            "write" -> error: unknown tool `write`, expected one of list_dir, find_files, grep_files, read, bash, jobs
            "read" -> [lines 1-3 of 3]
            [package]
            name = "eyelet"
            version = "0.2.0"

            It is the package `eyelet`.
        "#]],
    );
}

#[test]
fn small_host_has_at_most_60_lines() {
    let lines = include_str!("../../examples/small_host.rs").lines().count();
    assert!(lines <= 60, "{lines} lines");
    let output = output("small_host");
    assert!(output.contains("\"content\": \"/repo/Cargo.toml\""), "{output}");
    assert!(output.contains("error: path `../../etc/passwd` is outside the roots"), "{output}");
    assert!(output.contains("name = \\\"eyelet\\\""), "{output}");
}

#[test]
fn tokio_host_kills_the_command_of_a_dropped_call() {
    prints(
        "tokio_host",
        &expect![[r#"
        [exit 0; stdout 1 line; stderr empty]
        hello

        stopped waiting after 200 ms
        the command was killed: true
    "#]],
    );
}

#[cfg(feature = "sandbox")]
#[test]
fn sandboxed_commands_write_to_the_root_only() {
    let output = output("sandboxed_commands");
    assert!(output.starts_with("[exit 0; stdout 1 line; stderr empty]\ntext\n"), "{output}");
    // The two tiers refuse the second command with different errors. If the user could write there without a sandbox, the
    // header also says what was blocked.
    assert!(output.contains("\n[exit 1; stdout empty; stderr 1 line"), "{output}");
}
