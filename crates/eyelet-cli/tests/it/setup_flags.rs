//! `eyelet setup --write`: which flags of an existing entry it keeps, and the diff that it prints.

use std::fs;

use expect_test::expect;
use serde_json::json;
use testkit::{TempTree, eyelet_bin};

use crate::clients::{CLIENTS, redact, setup, writable};

/// The entry of claude-code with these arguments.
fn file(arguments: &[&str]) -> String {
    let entry =
        json!({"type": "stdio", "command": eyelet_bin(), "args": arguments, "timeout": 900_000});
    format!("{:#}\n", json!({"mcpServers": {"other": {"env": {"KEY": "secret"}}, "eyelet": entry}}))
}

const WIDE: [&str; 7] = ["mcp", "--deny", "*.pem", "--sandbox", "full", "--network", "--strict"];

#[test]
fn second_write_keeps_the_flags_of_the_first() {
    for client in writable() {
        let tree = TempTree::new("");
        let path = client.path(&tree);
        setup(&tree, &[client.name, "--write", "--", "--deny", "*.pem", "--strict"]);
        let first = fs::read_to_string(&path).unwrap();
        assert!(first.contains("*.pem"), "{first}");
        let again = setup(&tree, &[client.name, "--write"]);
        assert!(again.contains("already has the entry"), "{again}");
        let more = setup(&tree, &[client.name, "--write", "--", "--deny", "x", "--deny", "*.pem"]);
        assert!(more.contains("changed the entry in"), "{more}");
        let second = fs::read_to_string(&path).unwrap();
        assert!(second.contains(r#""--deny", "*.pem", "--strict", "--deny", "x"]"#), "{second}");
    }
}

#[test]
fn all_flags_of_a_users_file_are_kept() {
    let tree = TempTree::new("");
    let path = tree.beside().join(".claude.json");
    fs::write(&path, file(&WIDE)).unwrap();
    let result = setup(&tree, &["claude-code", "--scope", "user", "--write"]);
    assert!(result.contains("already has the entry"), "{result}");
    let result = setup(&tree, &["claude-code", "--scope", "user"]);
    assert!(result.contains(r#""full", "--network", "--strict"]"#), "{result}");
}

#[test]
fn only_narrowing_flags_of_a_projects_file_are_kept() {
    let tree = TempTree::new("");
    tree.file(".mcp.json", file(&WIDE));
    let mut results = setup(&tree, &["claude-code", "--write"]);
    tree.file(".mcp.json", file(&WIDE));
    results.push_str(&setup(&tree, &["claude-code", "--write", "--", "--network"]));
    expect![[r#"
        exit 0
        --- stdout
        @@ -11,9 +11 @@
        -      "args": [
        -        "mcp",
        -        "--deny",
        -        "*.pem",
        -        "--sandbox",
        -        "full",
        -        "--network",
        -        "--strict"
        -      ],
        +      "args": ["mcp", "--deny", "*.pem", "--strict"],
        changed the entry in /repo/.mcp.json; the old file is saved to /repo/.mcp.json.eyelet-backup
        --- stderr
        Removed these arguments of the old entry: --sandbox full, --network. To keep one, repeat it after `--`.
        Claude Code asks for your approval once before it starts a server that a project configures.
        exit 0
        --- stdout
        @@ -11,9 +11 @@
        -      "args": [
        -        "mcp",
        -        "--deny",
        -        "*.pem",
        -        "--sandbox",
        -        "full",
        -        "--network",
        -        "--strict"
        -      ],
        +      "args": ["mcp", "--deny", "*.pem", "--network", "--strict"],
        changed the entry in /repo/.mcp.json; the old file is saved to /repo/.mcp.json.eyelet-backup-2
        --- stderr
        Removed these arguments of the old entry: --sandbox full. To keep one, repeat it after `--`.
        Claude Code asks for your approval once before it starts a server that a project configures.
    "#]].assert_eq(&results);
}

#[test]
fn diff_shows_the_entry_if_the_file_is_on_one_line() {
    let tree = TempTree::new("");
    let old =
        json!({"mcpServers": {"other": {"env": {"KEY": "secret"}}, "eyelet": {"command": "/old"}}});
    tree.file(".mcp.json", old.to_string());
    expect![[r#"
        exit 0
        --- stdout
        @@ -2 +2,6 @@
        -  "command": "/old"
        +  "command": "/bin/eyelet",
        +  "type": "stdio",
        +  "args": [
        +    "mcp"
        +  ],
        +  "timeout": 660000
        changed the entry in /repo/.mcp.json; the old file is saved to /repo/.mcp.json.eyelet-backup
        --- stderr
        Claude Code asks for your approval once before it starts a server that a project configures.
    "#]]
    .assert_eq(&setup(&tree, &["claude-code", "--write"]));
}

#[test]
fn diff_shows_added_lines_if_the_one_line_of_the_file_stays() {
    let tree = TempTree::new("");
    CLIENTS.iter().find(|client| client.name == "codex").unwrap().put(&tree, "model = \"x\"\n");
    expect![[r#"
        exit 0
        --- stdout
        @@ -1,0 +2,5 @@
        +
        +[mcp_servers.eyelet]
        +command = "/bin/eyelet"
        +args = ["mcp"]
        +tool_timeout_sec = 660
        added the entry to /home/.codex/config.toml; the old file is saved to /home/.codex/config.toml.eyelet-backup
    "#]]
    .assert_eq(&setup(&tree, &["codex", "--write"]));
}

#[test]
fn diff_shows_only_changed_lines() {
    for client in writable() {
        let tree = TempTree::new("");
        let path = client.put(&tree, &client.parts().0);
        let old = fs::read_to_string(&path).unwrap();
        let result = setup(&tree, &[client.name, "--write"]);
        let new = redact(&tree, &fs::read_to_string(&path).unwrap());
        for line in result.lines() {
            if let Some(line) = line.strip_prefix('+') {
                assert!(new.lines().any(|new| new == line), "{line}: {new}");
            } else if let Some(line) = line.strip_prefix('-').filter(|_| !line.starts_with("--- "))
            {
                assert!(old.lines().any(|old| old == line), "{line}: {old}");
            }
            assert!(!line.contains("oddly spaced"), "{result}");
        }
    }
}

#[test]
fn short_timeouts_are_raised_and_long_ones_kept() {
    let codex = CLIENTS.iter().find(|client| client.name == "codex").unwrap();
    for (old, new) in [("300", "660"), ("300.5", "660"), ("900", "900"), ("\"x\"", "\"x\"")] {
        let tree = TempTree::new("");
        let path = codex.put(&tree, &format!("[mcp_servers.eyelet]\ntool_timeout_sec = {old}\n"));
        setup(&tree, &["codex", "--write"]);
        let written = fs::read_to_string(path).unwrap();
        assert!(written.contains(&format!("tool_timeout_sec = {new}\n")), "{written}");
    }
}
