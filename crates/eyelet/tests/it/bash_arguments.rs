//! `bash`: arguments, working directory, and refused calls.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use expect_test::expect;
use eyelet::tools::{Bash, BashArgs};
use eyelet::{Environment, ErrorCode, PathScope, Root, SandboxPolicy, Tool as _, TurnContext};
use serde_json::json;
use testkit::{TempTree, is_root};

use crate::bash::{envelope, run, text, turn};

fn failure(turn: &TurnContext, args: BashArgs) -> (ErrorCode, String) {
    let error = Bash.run(args, turn).expect_err("it does not run");
    (error.code, error.message)
}

#[test]
fn invalid_arguments_return_errors_that_say_what_to_do() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let calls = [
        json!({ "command": " \n\t" }),
        json!({ "command": "" }),
        json!({ "command": "a\0b" }),
        json!({ "command": "true", "timeout_secs": 0 }),
        json!({ "command": "true", "timeout_secs": -1 }),
        json!({ "command": "true", "keep": "middle" }),
        json!({ "command": "true", "timeout": 5 }),
        json!({ "cmd": "true" }),
        json!({ "command": 5 }),
        json!({ "command": format!(": {}", "x".repeat(131_070)) }),
    ];
    let answers = calls.map(|call| envelope(&tree, &turn, &call));
    expect![[r#"
        {"ok":false,"error":{"code":"invalid_input","message":"command must not be empty"}}
        {"ok":false,"error":{"code":"invalid_input","message":"command must not be empty"}}
        {"ok":false,"error":{"code":"invalid_input","message":"command must not contain a NUL character"}}
        {"ok":false,"error":{"code":"invalid_input","message":"timeout_secs must be greater than zero"}}
        {"ok":false,"error":{"code":"invalid_input","message":"failed to parse function arguments: `timeout_secs`: invalid value: integer `-1`, expected a whole number from 0 to 18446744073709551615 at line 1 column 35"}}
        {"ok":false,"error":{"code":"invalid_input","message":"failed to parse function arguments: `keep`: unknown variant `middle`, expected one of `head`, `tail`, `both` at line 1 column 33"}}
        {"ok":false,"error":{"code":"invalid_input","message":"failed to parse function arguments: unknown field `timeout` (use timeout_secs, in seconds) at line 1 column 27"}}
        {"ok":false,"error":{"code":"invalid_input","message":"failed to parse function arguments: unknown field `cmd`, expected one of `command`, `timeout_secs`, `cwd`, `keep`, `background`, `on_timeout` at line 1 column 6"}}
        {"ok":false,"error":{"code":"invalid_input","message":"failed to parse function arguments: `command`: invalid type: integer `5`, expected a string at line 1 column 12"}}
        {"ok":false,"error":{"code":"too_large","message":"command is too long: 131072 bytes, the limit is 131071; write it to a file in parts and run the file"}}"#]].assert_eq(&answers.join("\n"));
}

#[test]
fn a_command_of_maximum_length_runs() {
    let tree = TempTree::new("");
    let report = run(&turn(&tree), &format!("echo {} | wc -c", "x".repeat(131_071 - 13)));
    assert_eq!(report.stdout.text().trim(), "131059");
}

#[test]
fn null_and_lenient_arguments_are_accepted() {
    let tree = TempTree::new("sub/");
    let turn = turn(&tree);
    let calls = [
        json!({ "command": "pwd", "cwd": null, "timeout_secs": null, "keep": null }),
        json!({ "command": "pwd", "cwd": "", "timeout_secs": "25" }),
        json!({ "command": "pwd", "cwd": " ", "timeout_secs": "", "keep": "", "description": {"a": 1} }),
        json!({ "command": "pwd", "cwd": "sub", "timeout_secs": 25.0 }),
        json!({ "command": "pwd", "cwd": "sub/..", "timeout_secs": 1_000_000 }),
    ];
    let answers = calls.map(|call| text(&tree, &turn, &call));
    expect![[r#"
        [exit 0; stdout 1 line; stderr empty]
        /repo
        [exit 0; stdout 1 line; stderr empty]
        /repo
        [exit 0; stdout 1 line; stderr empty]
        /repo
        [exit 0; stdout 1 line; stderr empty]
        /repo/sub
        [exit 0; stdout 1 line; stderr empty]
        /repo
    "#]]
    .assert_eq(&answers.join(""));
}

#[test]
fn a_timeout_above_the_maximum_is_reduced() {
    let tree = TempTree::new("");
    let args = BashArgs { timeout_secs: Some(601), ..BashArgs::new("true") };
    assert_eq!(Bash.run(args, &turn(&tree)).expect("it runs").timeout_secs, 600);
}

#[test]
fn cwd_must_be_a_directory_inside_the_roots() {
    let tree = TempTree::new("sub/\nfile\ninward -> sub\noutward -> /");
    let free = turn(&tree);
    let confined = turn(&tree).with_root(Root::open(tree.path()).expect("it is there"));
    let calls = ["inward", "file", "missing", "outward", "..", "/", "a\0b"];
    let answers = calls.map(|cwd| text(&tree, &confined, &json!({ "command": "pwd", "cwd": cwd })));
    expect![[r#"
        [exit 0; stdout 1 line; stderr empty]
        /repo/inward

        cannot use cwd `/repo/file`: Not a directory (os error 20)
        cannot use cwd `/repo/missing`: No such file or directory (os error 2)
        cwd `outward` is outside the roots (/repo); add a root that contains the path
        cwd `..` is outside the roots (/repo); add a root that contains the path
        cwd `/` is outside the roots (/repo); add a root that contains the path
        cwd must not contain a NUL character"#]]
    .assert_eq(&answers.join("\n"));

    let codes = ["file", "missing"].map(|cwd| {
        failure(&free, BashArgs { cwd: Some(cwd.to_owned()), ..BashArgs::new("pwd") }).0
    });
    assert_eq!(codes, [ErrorCode::NotADirectory, ErrorCode::NotFound]);
    let outside = TurnContext::new("/", SandboxPolicy::Full)
        .expect("absolute")
        .with_root(Root::open(tree.path()).expect("it is there"));
    assert_eq!(failure(&outside, BashArgs::new("pwd")).0, ErrorCode::OutsideRoot);
    // The scope of the other tools does not apply to commands, and the error does not suggest it.
    let lifted = confined.with_path_scope(PathScope::Everything);
    let reported = text(&tree, &lifted, &json!({ "command": "pwd", "cwd": "/" }));
    expect!["cwd `/` is outside the roots (/repo); add a root that contains the path"]
        .assert_eq(&reported);
    let rootless = free.with_path_scope(PathScope::Roots);
    let reported = text(&tree, &rootless, &json!({ "command": "pwd" }));
    expect![
        "cwd `/repo` is not accessible: no roots are configured; add a root that contains the path"
    ]
    .assert_eq(&reported);
}

/// The replies under the policies that need a supervisor, and under `off`.
fn replies_without_supervisor() -> String {
    let tree = TempTree::new("");
    let replies = [SandboxPolicy::Off, SandboxPolicy::ReadOnly, SandboxPolicy::WorkspaceWrite].map(
        |policy| {
            let turn = TurnContext::new(tree.path(), policy).expect("absolute");
            envelope(&tree, &turn, &json!({ "command": "touch made" }))
        },
    );
    assert!(!tree.path().join("made").exists());
    replies.join("\n")
}

#[cfg(feature = "sandbox")]
#[test]
fn commands_are_refused_if_the_policy_cannot_be_enforced() {
    expect![[r#"
        {"ok":false,"error":{"code":"sandbox_unavailable","message":"bash is disabled by the sandbox policy `off`","hint":"use the policy `full` to run commands unsandboxed"}}
        {"ok":false,"error":{"code":"sandbox_unavailable","message":"sandbox policy `read-only` cannot be enforced here: the host did not call TurnContext::with_sandbox_settings","hint":"use the policy `full` to run commands unsandboxed"}}
        {"ok":false,"error":{"code":"sandbox_unavailable","message":"sandbox policy `workspace-write` cannot be enforced here: the host did not call TurnContext::with_sandbox_settings","hint":"use the policy `full` to run commands unsandboxed"}}"#]].assert_eq(&replies_without_supervisor());
}

#[cfg(not(feature = "sandbox"))]
#[test]
fn without_the_feature_sandbox_only_the_policy_full_runs_commands() {
    expect![[r#"
        {"ok":false,"error":{"code":"sandbox_unavailable","message":"bash is disabled by the sandbox policy `off`","hint":"use the policy `full` to run commands unsandboxed"}}
        {"ok":false,"error":{"code":"sandbox_unavailable","message":"sandbox policy `read-only` cannot be enforced here: eyelet was built without the cargo feature `sandbox`","hint":"use the policy `full` to run commands unsandboxed"}}
        {"ok":false,"error":{"code":"sandbox_unavailable","message":"sandbox policy `workspace-write` cannot be enforced here: eyelet was built without the cargo feature `sandbox`","hint":"use the policy `full` to run commands unsandboxed"}}"#]].assert_eq(&replies_without_supervisor());
    let tree = TempTree::new("");
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Full).expect("absolute");
    let reply = envelope(&tree, &turn, &json!({ "command": "echo ran" }));
    assert!(reply.starts_with(r#"{"ok":true,"data":{"stdout":"ran\n""#), "{reply}");
}

#[test]
fn a_renamed_working_directory_stays_the_commands_own() {
    let tree = TempTree::new("sub/marker");
    let turn = turn(&tree);
    // The command renames its own directory; `.` still refers to it.
    let command = "mv ../sub ../moved; mkdir ../sub; ls";
    let args = BashArgs { cwd: Some("sub".to_owned()), ..BashArgs::new(command) };
    assert_eq!(Bash.run(args, &turn).expect("it runs").stdout.text(), "marker\n");
}

#[test]
fn a_command_that_cannot_start_returns_an_error_code() {
    let tree = TempTree::new("bin/bash = no program\nclosed/");
    let set_mode = |path: &str, mode| {
        fs::set_permissions(tree.at(path), fs::Permissions::from_mode(mode)).expect("ours");
    };
    set_mode("bin/bash", 0o755);
    let environment: Environment = [("PATH", tree.at("bin"))].into_iter().collect();
    let broken = turn(&tree).with_environment(environment);
    expect![[r#"{"ok":false,"error":{"code":"io_error","message":"cannot run the command: Exec format error (os error 8)"}}"#]].assert_eq(&envelope(&tree, &broken, &json!({ "command": "true" })));

    if !is_root() {
        set_mode("closed", 0o600);
        let args = BashArgs { cwd: Some("closed".to_owned()), ..BashArgs::new("true") };
        assert_eq!(failure(&turn(&tree), args).0, ErrorCode::PermissionDenied);
    }
}
