//! `eyelet setup --check`: does the entry exist, and does the server answer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use expect_test::expect;
use serde_json::json;
use testkit::TempTree;

use crate::clients::{CLIENTS, redact, setup};
use testkit::cli::command;
use testkit::eyelet_bin;

#[test]
fn check_reports_a_missing_entry() {
    let tree = TempTree::new("");
    let mut results = String::new();
    for client in CLIENTS {
        results.push_str(&setup(&tree, &[client.name, "--check"]));
    }
    expect![[r#"
        exit 1
        --- stderr
        eyelet: claude-code is not set up: no `eyelet` in /repo/.mcp.json or /home/.claude.json; run `eyelet setup claude-code --write`
        exit 1
        --- stderr
        eyelet: claude-desktop is not set up: no `eyelet` in /home/.config/Claude/claude_desktop_config.json; run `eyelet setup claude-desktop --write`
        exit 1
        --- stderr
        eyelet: codex is not set up: no `eyelet` in /repo/.codex/config.toml or /home/.codex/config.toml; run `eyelet setup codex --write`
        exit 1
        --- stderr
        eyelet: gemini-cli is not set up: no `eyelet` in /repo/.gemini/settings.json or /home/.gemini/settings.json; run `eyelet setup gemini-cli --write`
        exit 1
        --- stderr
        eyelet: cursor is not set up: no `eyelet` in /repo/.cursor/mcp.json or /home/.cursor/mcp.json; run `eyelet setup cursor --write`
        exit 1
        --- stderr
        eyelet: vscode is not set up: no `eyelet` in /repo/.vscode/mcp.json or /home/.config/Code/User/mcp.json; run `eyelet setup vscode --write`
        exit 1
        --- stderr
        eyelet: copilot-cli is not set up: no `eyelet` in /repo/.mcp.json or /home/.copilot/mcp-config.json; run `eyelet setup copilot-cli --write`
        exit 1
        --- stderr
        eyelet: opencode is not set up: no `eyelet` in /repo/opencode.json or /home/.config/opencode/opencode.json; run `eyelet setup opencode --write`
        exit 1
        --- stderr
        eyelet: zed is not set up: no `eyelet` in /repo/.zed/settings.json or /home/.config/zed/settings.json; run `eyelet setup zed --write`
        exit 1
        --- stderr
        eyelet: windsurf is not set up: no `eyelet` in /home/.codeium/windsurf/mcp_config.json; run `eyelet setup windsurf --write`
        exit 1
        --- stderr
        eyelet: goose is not set up: no `eyelet` in /home/.config/goose/config.yaml; run `eyelet setup goose` and add the printed entry by hand
    "#]].assert_eq(&results);
}

/// A program that reads one line, runs `answer`, and exits at the end of its input.
fn server(tree: &TempTree, answer: &str) -> PathBuf {
    let script = format!("#!/bin/sh\nread question\n{answer}\ncat > /dev/null\n");
    let path = tree.file("server", script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn check_finds_the_server_of_every_client() {
    for client in CLIENTS {
        let tree = TempTree::new("");
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"eyelet","version":"9"}}}"#;
        let server = server(&tree, &format!("echo '{answer}'"));
        let printed = command(&tree).args(["setup", client.name]).output().unwrap().stdout;
        let mut text = String::from_utf8(printed).unwrap();
        let (mut program, mut version) = ("/bin/eyelet", env!("CARGO_PKG_VERSION"));
        // In a project's file only this eyelet may be named.
        if !client.is_of_project() {
            text = text.replace(eyelet_bin().to_str().unwrap(), server.to_str().unwrap());
            (program, version) = ("/repo/server", "9");
        }
        let path = client.put(&tree, &text);
        let result = setup(&tree, &[client.name, "--check"]);
        let (name, place) = (client.name, redact(&tree, path.to_str().unwrap()));
        let set_up = format!("exit 0\n--- stdout\n{name} is set up in {place}\n`{program} ");
        assert!(result.starts_with(&set_up), "{result}");
        let answers = format!("` answers as eyelet {version}, protocol 2025-06-18\n");
        assert!(result.ends_with(&answers), "{result}");
    }
}

#[test]
fn check_never_runs_a_program_that_a_project_names() {
    let answer = r#"{"id":1,"result":{"protocolVersion":"1","serverInfo":{"name":"eyelet"}}}"#;
    let mut results = String::new();
    for (command, arguments) in [
        ("./server", json!([])),
        ("/bin/sh", json!(["-c", "touch ran"])),
        ("eyelet", json!(["mcp"])),
        ("/bin/eyelet", json!(["bash", "touch ran"])),
        ("/bin/eyelet", json!(["call", "bash", r#"{"command":"touch ran"}"#])),
        ("/bin/eyelet", json!(["__supervise"])),
        ("/bin/eyelet", json!(["mcp", "--http", "127.0.0.1:0"])),
    ] {
        let tree = TempTree::new("");
        let planted = server(&tree, &format!("touch ran; echo '{answer}'"));
        fs::rename(&planted, tree.path().join("eyelet")).unwrap();
        server(&tree, &format!("touch ran; echo '{answer}'"));
        let program = command.replace("/bin/eyelet", eyelet_bin().to_str().unwrap());
        let file = json!({"mcpServers": {"eyelet": {"command": program, "args": arguments}}});
        tree.file(".mcp.json", file.to_string());
        let path = format!("{}:/usr/bin:/bin", tree.str());
        let mut check = testkit::cli::command(&tree);
        let output = check.env("PATH", path).args(["setup", "claude-code", "--check"]).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(1), "{command} {arguments}");
        assert!(!tree.path().join("ran").exists(), "{command} {arguments}");
        results.push_str(&redact(&tree, &String::from_utf8(output.stderr).unwrap()));
    }
    expect![[r#"
        eyelet: /repo/.mcp.json: `./server` was not run: --check runs the command of a project's config file only if it is this eyelet executable; run `eyelet setup claude-code --write`
        eyelet: /repo/.mcp.json: `/bin/sh -c touch ran` was not run: --check runs the command of a project's config file only if it is this eyelet executable; run `eyelet setup claude-code --write`
        eyelet: /repo/.mcp.json: `eyelet mcp` was not run: --check runs the command of a project's config file only if it is this eyelet executable; run `eyelet setup claude-code --write`
        eyelet: /repo/.mcp.json: `/bin/eyelet bash touch ran` does not start the server on stdin and stdout; run `eyelet setup claude-code --write`
        eyelet: /repo/.mcp.json: `/bin/eyelet call bash {"command":"touch ran"}` does not start the server on stdin and stdout; run `eyelet setup claude-code --write`
        eyelet: /repo/.mcp.json: `/bin/eyelet __supervise` does not start the server on stdin and stdout; run `eyelet setup claude-code --write`
        eyelet: /repo/.mcp.json: `/bin/eyelet mcp --http 127.0.0.1:0` does not start the server on stdin and stdout; run `eyelet setup claude-code --write`
    "#]].assert_eq(&results);
}

#[test]
fn check_passes_on_no_variables_of_a_project() {
    let tree = TempTree::new("");
    let program = eyelet_bin();
    // With this variable the server would not start.
    let variables = json!({"EYELET_SANDBOX": "nonsense"});
    let entry = json!({"command": program, "args": ["mcp"], "env": variables});
    let file = json!({"mcpServers": {"eyelet": entry}}).to_string();
    tree.file(".mcp.json", &file);
    let project = setup(&tree, &["claude-code", "--check"]);
    fs::write(tree.beside().join(".claude.json"), &file).unwrap();
    let user = setup(&tree, &["claude-code", "--check", "--scope", "user"]);
    expect![[r#"
        exit 0
        --- stdout
        claude-code is set up in /repo/.mcp.json
        `/bin/eyelet mcp` answers as eyelet 0.2.0, protocol 2025-06-18
        checked without the environment variables EYELET_SANDBOX, which the project's config file sets; to remove them, run `eyelet setup claude-code --write`
        exit 1
        --- stderr
        eyelet: claude-code is set up, but `/bin/eyelet mcp` exits: eyelet: EYELET_SANDBOX: invalid value 'nonsense' for '--sandbox <POLICY>' [possible values: off, read-only, workspace-write, full]
    "#]].assert_eq(&format!("{project}{user}"));
}

#[test]
fn check_reads_yaml_of_any_style() {
    let mut results = String::new();
    for text in [
        "extensions: {eyelet: {cmd: ./server}}\n",
        "a: &x ./server\n\"extensions\":\n    eyelet: # here\n        cmd: *x\n        args: []\n",
        "extensions:\n  eyelet:\n    enabled: false\n    cmd: ./server\n",
        "extensions: [\n",
        "a: 1\n---\nb: 2\n",
    ] {
        let tree = TempTree::new("");
        let answer = r#"{"id":1,"result":{"protocolVersion":"1","serverInfo":{"name":"eyelet"}}}"#;
        server(&tree, &format!("echo '{answer}'"));
        let goose = CLIENTS.iter().find(|client| client.name == "goose").unwrap();
        goose.put(&tree, text);
        results.push_str(&setup(&tree, &["goose", "--check"]));
    }
    expect![[r#"
        exit 0
        --- stdout
        goose is set up in /home/.config/goose/config.yaml
        `./server` answers as eyelet (unknown version), protocol 1
        exit 0
        --- stdout
        goose is set up in /home/.config/goose/config.yaml
        `./server` answers as eyelet (unknown version), protocol 1
        exit 1
        --- stderr
        eyelet: /home/.config/goose/config.yaml: the entry `eyelet` is disabled; enable it in this file
        exit 1
        --- stderr
        eyelet: cannot read /home/.config/goose/config.yaml: invalid YAML: while parsing a node, did not find expected node content at byte 14 line 2 column 1
        exit 1
        --- stderr
        eyelet: cannot read /home/.config/goose/config.yaml: more than one YAML document
    "#]]
    .assert_eq(&results);
}

#[test]
fn check_reports_why_the_server_does_not_answer() {
    let mut results = String::new();
    for answer in [
        "exec sleep 60",
        "echo Hello",
        "echo 'no such flag' >&2; exit 2",
        r#"echo '{"id":1,"error":{}}'"#,
        r#"echo '{"id":1,"result":{"serverInfo":{"name":"other"}}}'"#,
    ] {
        let tree = TempTree::new("");
        server(&tree, answer);
        let file = r#"{"mcpServers":{"eyelet":{"command":"./server"}}}"#;
        fs::write(tree.beside().join(".claude.json"), file).unwrap();
        results.push_str(&setup(&tree, &["claude-code", "--check"]));
    }
    let tree = TempTree::new("");
    for entry in [r#"{"command":"/gone"}"#, r#"{"url":"x"}"#, r#"{"command":"x","disabled":true}"#]
    {
        tree.file(".mcp.json", format!(r#"{{"mcpServers":{{"eyelet":{entry}}}}}"#));
        results.push_str(&setup(&tree, &["claude-code", "--check"]));
    }
    expect![[r#"
        exit 1
        --- stderr
        eyelet: claude-code is set up, but `./server` does not answer within 5 seconds
        exit 1
        --- stderr
        eyelet: claude-code is set up, but `./server` does not work: the reply to `initialize` is not JSON
        exit 1
        --- stderr
        eyelet: claude-code is set up, but `./server` exits: no such flag
        exit 1
        --- stderr
        eyelet: claude-code is set up, but `./server` does not work: the reply to `initialize` gives no server name
        exit 1
        --- stderr
        eyelet: claude-code is set up, but `./server` is another server: `other`
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json: program `/gone` not found; run `eyelet setup claude-code --write`
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json: the entry `eyelet` has no command; run `eyelet setup claude-code --write`
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json: the entry `eyelet` is disabled; enable it in this file
    "#]]
    .assert_eq(&results);
}
