//! `eyelet setup --check`: does the entry exist, and does the server answer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use expect_test::expect;
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
        eyelet: claude-code is not set up: no `eyelet` in /repo/.mcp.json and /home/.claude.json; `eyelet setup claude-code --write` sets it up
        exit 1
        --- stderr
        eyelet: claude-desktop is not set up: no `eyelet` in /home/.config/Claude/claude_desktop_config.json; `eyelet setup claude-desktop --write` sets it up
        exit 1
        --- stderr
        eyelet: codex is not set up: no `eyelet` in /repo/.codex/config.toml and /home/.codex/config.toml; `eyelet setup codex --write` sets it up
        exit 1
        --- stderr
        eyelet: gemini-cli is not set up: no `eyelet` in /repo/.gemini/settings.json and /home/.gemini/settings.json; `eyelet setup gemini-cli --write` sets it up
        exit 1
        --- stderr
        eyelet: cursor is not set up: no `eyelet` in /repo/.cursor/mcp.json and /home/.cursor/mcp.json; `eyelet setup cursor --write` sets it up
        exit 1
        --- stderr
        eyelet: vscode is not set up: no `eyelet` in /repo/.vscode/mcp.json and /home/.config/Code/User/mcp.json; `eyelet setup vscode --write` sets it up
        exit 1
        --- stderr
        eyelet: copilot-cli is not set up: no `eyelet` in /repo/.mcp.json and /home/.copilot/mcp-config.json; `eyelet setup copilot-cli --write` sets it up
        exit 1
        --- stderr
        eyelet: opencode is not set up: no `eyelet` in /repo/opencode.json and /home/.config/opencode/opencode.json; `eyelet setup opencode --write` sets it up
        exit 1
        --- stderr
        eyelet: zed is not set up: no `eyelet` in /repo/.zed/settings.json and /home/.config/zed/settings.json; `eyelet setup zed --write` sets it up
        exit 1
        --- stderr
        eyelet: windsurf is not set up: no `eyelet` in /home/.codeium/windsurf/mcp_config.json; `eyelet setup windsurf --write` sets it up
        exit 1
        --- stderr
        eyelet: goose is not set up: no `eyelet` in /home/.config/goose/config.yaml; `eyelet setup goose --write` sets it up
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
        let text = String::from_utf8(printed).unwrap();
        let text = text.replace(eyelet_bin().to_str().unwrap(), server.to_str().unwrap());
        let path = client.put(&tree, &text);
        let result = setup(&tree, &[client.name, "--check"]);
        let place = redact(&tree, path.to_str().unwrap());
        let set_up =
            format!("exit 0\n--- stdout\n{} is set up in {place}\n`/repo/server", client.name);
        assert!(result.starts_with(&set_up), "{result}");
        assert!(result.ends_with("` answers as eyelet 9, protocol 2025-06-18\n"), "{result}");
    }
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
        tree.file(".mcp.json", r#"{"mcpServers":{"eyelet":{"command":"./server"}}}"#);
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
        eyelet: claude-code is set up, but `./server` answers something that is not of the protocol
        exit 1
        --- stderr
        eyelet: claude-code is set up, but `./server` ends at once: no such flag
        exit 1
        --- stderr
        eyelet: claude-code is set up, but `./server` answers, but not as a server does
        exit 1
        --- stderr
        eyelet: claude-code is set up, but `./server` answers as `other`, which is not eyelet
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json starts `/gone`, which is not there; `eyelet setup claude-code --write` names the one that runs now
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json names no command for `eyelet`
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json has `eyelet` switched off for claude-code
    "#]].assert_eq(&results);
}
