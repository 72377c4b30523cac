//! `eyelet setup --write`: how it changes a client's config file.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use expect_test::expect;
use testkit::TempTree;

use crate::clients::{CLIENTS, files_beside, redact, setup, writable};
use testkit::cli::{command, same};

#[test]
fn new_file_has_the_printed_entry() {
    for client in writable() {
        let tree = TempTree::new("");
        let printed = command(&tree).args(["setup", client.name]).output().unwrap().stdout;
        let result = setup(&tree, &[client.name, "--write"]);
        assert!(result.contains("added the entry to "), "{result}");
        let path = client.path(&tree);
        assert_eq!(fs::read(&path).unwrap(), printed, "{}", client.name);
        assert_eq!(files_beside(&path).len(), 1, "{}", client.name);
    }
}

#[test]
fn write_keeps_the_rest_of_the_file() {
    let mut entries = String::new();
    for client in writable() {
        let tree = TempTree::new("");
        let (plain, before, after) = client.parts();
        let path = client.put(&tree, &plain);
        setup(&tree, &[client.name, "--write"]);
        let merged = fs::read_to_string(&path).unwrap();
        let rest = merged.strip_prefix(&before).unwrap_or_else(|| panic!("{merged}"));
        let entry = rest.strip_suffix(&after).unwrap_or_else(|| panic!("{merged}"));
        entries.push_str(&format!("== {}\n{}", client.name, redact(&tree, entry)));
        let backup = PathBuf::from(format!("{}.eyelet-backup", path.display()));
        assert_eq!(fs::read_to_string(backup).unwrap(), plain);
        assert_eq!(files_beside(&path).len(), 2, "{}", client.name);
    }
    expect![[r#"
        == claude-code
                "eyelet": {
                    "type": "stdio",
                    "command": "/bin/eyelet",
                    "args": ["mcp"],
                    "timeout": 660000
                }
        == claude-desktop
                "eyelet": {
                    "command": "/bin/eyelet",
                    "args": ["mcp", "--root", "/repo"]
                }
        == codex

        [mcp_servers.eyelet]
        command = "/bin/eyelet"
        args = ["mcp"]
        tool_timeout_sec = 660
        == gemini-cli
                "eyelet": {
                    "command": "/bin/eyelet",
                    "args": ["mcp"],
                    "timeout": 660000
                }
        == cursor
                "eyelet": {
                    "command": "/bin/eyelet",
                    "args": ["mcp", "--root", "${workspaceFolder}"]
                }
        == vscode
                "eyelet": {
                    "type": "stdio",
                    "command": "/bin/eyelet",
                    "args": ["mcp", "--root", "${workspaceFolder}"]
                }
        == copilot-cli
                "eyelet": {
                    "type": "local",
                    "command": "/bin/eyelet",
                    "args": ["mcp"],
                    "tools": ["*"],
                    "timeout": 660000
                }
        == opencode
                "eyelet": {
                    "type": "local",
                    "command": ["/bin/eyelet", "mcp"],
                    "enabled": true,
                    "timeout": 660000
                }
        == zed
                "eyelet": {
                    "command": "/bin/eyelet",
                    "args": ["mcp"],
                    "timeout": 660
                }
        == windsurf
                "eyelet": {
                    "command": "/bin/eyelet",
                    "args": ["mcp", "--root", "/repo"]
                }
    "#]]
    .assert_eq(&entries);
}

#[test]
fn second_write_changes_nothing() {
    for client in writable() {
        let tree = TempTree::new("");
        let path = client.put(&tree, &client.parts().0);
        setup(&tree, &[client.name, "--write"]);
        let (text, files) = (fs::read(&path).unwrap(), files_beside(&path));
        let again = setup(&tree, &[client.name, "--write"]);
        assert!(
            again.starts_with("exit 0\n") && again.contains(" already has the entry"),
            "{again}"
        );
        assert_eq!(fs::read(&path).unwrap(), text);
        assert_eq!(files_beside(&path), files);
    }
}

#[test]
fn write_corrects_an_old_entry_and_keeps_added_fields() {
    let old = [
        (
            "claude-code",
            "{\"mcpServers\": {\"eyelet\": { /* mine */ \"command\": \"/old\", \"timeout\": 5 }}}",
        ),
        (
            "codex",
            "[mcp_servers.eyelet] # mine\ncommand = \"/old\" # this one\nstartup_timeout_sec = 5\n",
        ),
        (
            "opencode",
            "{\"mcp\":{\"eyelet\":{\"enabled\":false,\"type\":\"local\",\"command\":[\"/old\"]}}}",
        ),
    ];
    let mut result = String::new();
    for (name, text) in old {
        let tree = TempTree::new("");
        let client = CLIENTS.iter().find(|client| client.name == name).unwrap();
        let path = client.put(&tree, text);
        setup(&tree, &[name, "--write"]);
        let text = fs::read_to_string(&path).unwrap();
        result.push_str(&format!("== {name}\n{}\n", redact(&tree, &text)));
    }
    expect![[r#"
        == claude-code
        {"mcpServers": {"eyelet": { /* mine */ "command": "/bin/eyelet", "timeout": 660000, "type": "stdio", "args": ["mcp"] }}}
        == codex
        [mcp_servers.eyelet] # mine
        command = "/bin/eyelet" # this one
        startup_timeout_sec = 5
        args = ["mcp"]
        tool_timeout_sec = 660

        == opencode
        {"mcp":{"eyelet":{"enabled":false,"type":"local","command":["/bin/eyelet", "mcp"], "timeout": 660000}}}
    "#]]
    .assert_eq(&result);
}

#[test]
fn write_removes_variables_from_a_projects_entry_and_prints_them() {
    let old = [
        (
            "claude-code",
            ".mcp.json",
            "{\"mcpServers\": {\"eyelet\": {\"env\": {\"LD_PRELOAD\": \"./x.so\", \"PATH\": \".\"}, \"command\": \"/old\"}}}",
        ),
        (
            "vscode",
            ".vscode/mcp.json",
            "{\n  \"servers\": {\n    \"eyelet\": {\n      \"envFile\": \".env\", // here\n      \"env\": {\n        \"EYELET_SANDBOX\": \"full\"\n      }\n    },\n    \"other\": { \"env\": { \"A\": \"1\" } }\n  }\n}\n",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.eyelet]\ncommand = \"/old\"\n\n[mcp_servers.eyelet.env]\nXDG_CONFIG_HOME = \".\"\n\n[mcp_servers.other.env]\nA = \"1\"\n",
        ),
        (
            "opencode",
            "opencode.json",
            "{\"mcp\":{\"eyelet\":{\"type\":\"local\",\"environment\":{\"HOME\":\".\\n\"},\"command\":[]}}}",
        ),
    ];
    let mut result = String::new();
    for (name, file, text) in old {
        let tree = TempTree::new("");
        let path = tree.file(file, text);
        result.push_str(&format!("== {name}\n"));
        result.push_str(&setup(&tree, &[name, "--write", "--scope", "project"]));
        result.push_str(&redact(&tree, &fs::read_to_string(&path).unwrap()));
        let again = setup(&tree, &[name, "--write", "--scope", "project"]);
        assert!(again.contains("already has the entry"), "{again}");
    }
    expect![[r#"
        == claude-code
        exit 0
        --- stdout
        @@ -2,5 +2,6 @@
        -  "env": {
        -    "LD_PRELOAD": "./x.so",
        -    "PATH": "."
        -  },
        -  "command": "/old"
        +  "command": "/bin/eyelet",
        +  "type": "stdio",
        +  "args": [
        +    "mcp"
        +  ],
        +  "timeout": 660000
        changed the entry in /repo/.mcp.json; the old file is saved to /repo/.mcp.json.eyelet-backup
        --- stderr
        Removed the environment variables of the project's entry: LD_PRELOAD, PATH
        Claude Code asks for your approval once before it starts a server that a project configures.
        {"mcpServers": {"eyelet": { "command": "/bin/eyelet", "type": "stdio", "args": ["mcp"], "timeout": 660000}}}== vscode
        exit 0
        --- stdout
        @@ -4,4 +4,3 @@
        -      "envFile": ".env", // here
        -      "env": {
        -        "EYELET_SANDBOX": "full"
        -      }
        +      "type": "stdio",
        +      "command": "/bin/eyelet",
        +      "args": ["mcp", "--root", "${workspaceFolder}"]
        added the entry to /repo/.vscode/mcp.json; the old file is saved to /repo/.vscode/mcp.json.eyelet-backup
        --- stderr
        Removed the environment variables of the project's entry: EYELET_SANDBOX, envFile ".env"
        VS Code asks once whether to trust the server.
        {
          "servers": {
            "eyelet": {
              "type": "stdio",
              "command": "/bin/eyelet",
              "args": ["mcp", "--root", "${workspaceFolder}"]
            },
            "other": { "env": { "A": "1" } }
          }
        }
        == codex
        exit 0
        --- stdout
        @@ -2,4 +2,3 @@
        -command = "/old"
        -
        -[mcp_servers.eyelet.env]
        -XDG_CONFIG_HOME = "."
        +command = "/bin/eyelet"
        +args = ["mcp"]
        +tool_timeout_sec = 660
        changed the entry in /repo/.codex/config.toml; the old file is saved to /repo/.codex/config.toml.eyelet-backup
        --- stderr
        Removed the environment variables of the project's entry: XDG_CONFIG_HOME
        Trust the project in Codex; otherwise, Codex does not read this file.
        [mcp_servers.eyelet]
        command = "/bin/eyelet"
        args = ["mcp"]
        tool_timeout_sec = 660

        [mcp_servers.other.env]
        A = "1"
        == opencode
        exit 0
        --- stdout
        @@ -3,4 +3,6 @@
        -  "environment": {
        -    "HOME": ".\n"
        -  },
        -  "command": []
        +  "command": [
        +    "/bin/eyelet",
        +    "mcp"
        +  ],
        +  "enabled": true,
        +  "timeout": 660000
        added the entry to /repo/opencode.json; the old file is saved to /repo/opencode.json.eyelet-backup
        --- stderr
        Removed the environment variables of the project's entry: HOME
        {"mcp":{"eyelet":{"type":"local","command":["/bin/eyelet", "mcp"], "enabled": true, "timeout": 660000}}}"#]].assert_eq(&result);
}

#[test]
fn write_keeps_the_variables_in_a_users_file() {
    for (name, file, text) in [
        (
            "claude-code",
            ".claude.json",
            "{\"mcpServers\": {\"eyelet\": {\"env\": {\"PATH\": \"/x\", \"EYELET_DENY\": \"a\"}}}}",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.eyelet.env]\nPATH = \"/x\"\nEYELET_DENY = \"a\"\n",
        ),
    ] {
        let tree = TempTree::new("");
        let path = tree.beside().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let result = setup(&tree, &[name, "--write", "--scope", "user"]);
        assert!(result.contains("added the entry") && !result.contains("PATH"), "{result}");
        let written = fs::read_to_string(&path).unwrap();
        assert!(written.contains("PATH") && written.contains("EYELET_DENY"), "{written}");
    }
}

#[test]
fn write_refuses_a_file_that_it_cannot_merge() {
    let broken = [
        ("claude-code", "{\"mcpServers\": "),
        ("claude-code", "[]"),
        ("claude-code", "{\"mcpServers\": []}"),
        ("claude-code", "{\"mcpServers\": {\"eyelet\": 1}}"),
        ("claude-code", "{\"mcpServers\": {}, \"mcpServers\": {\"a\": {}}}"),
        ("codex", "[mcp_servers"),
        ("codex", "mcp_servers = 1"),
    ];
    let mut result = String::new();
    for (name, text) in broken {
        let tree = TempTree::new("");
        let client = CLIENTS.iter().find(|client| client.name == name).unwrap();
        let path = client.put(&tree, text);
        result.push_str(&setup(&tree, &[name, "--write"]));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(files_beside(&path).len(), 1);
    }
    for client in writable() {
        let tree = TempTree::new("");
        let path = client.put(&tree, "{ \"a\": [ = \u{0}");
        let refused = setup(&tree, &[client.name, "--write"]);
        assert!(refused.starts_with("exit 1\n--- stderr\neyelet: "), "{refused}");
        assert_eq!(refused.lines().count(), 3, "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{ \"a\": [ = \u{0}");
    }
    expect![[r#"
        exit 1
        --- stderr
        eyelet: cannot add the entry to /repo/.mcp.json: invalid JSON: Expected value after colon in object property on line 1 column 16; run `eyelet setup claude-code` and add the printed entry by hand
        exit 1
        --- stderr
        eyelet: cannot add the entry to /repo/.mcp.json: the top level is not an object; run `eyelet setup claude-code` and add the printed entry by hand
        exit 1
        --- stderr
        eyelet: cannot add the entry to /repo/.mcp.json: `mcpServers` is not an object; run `eyelet setup claude-code` and add the printed entry by hand
        exit 1
        --- stderr
        eyelet: cannot add the entry to /repo/.mcp.json: `mcpServers.eyelet` is not an object; run `eyelet setup claude-code` and add the printed entry by hand
        exit 1
        --- stderr
        eyelet: cannot add the entry to /repo/.mcp.json: other content of the file would change; run `eyelet setup claude-code` and add the printed entry by hand
        exit 1
        --- stderr
        eyelet: cannot add the entry to /home/.codex/config.toml: invalid TOML: unclosed table, expected `]`; run `eyelet setup codex` and add the printed entry by hand
        exit 1
        --- stderr
        eyelet: cannot add the entry to /home/.codex/config.toml: `mcp_servers` is not an object; run `eyelet setup codex` and add the printed entry by hand
    "#]].assert_eq(&result);
}

#[test]
fn write_does_not_edit_yaml() {
    let results = [None, Some("extensions: {}\n"), Some("GOOSE_MODEL: x\n")].map(|text| {
        let tree = TempTree::new("");
        let goose = CLIENTS.iter().find(|client| client.name == "goose").unwrap();
        text.map(|text| goose.put(&tree, text));
        let result = setup(&tree, &["goose", "--write"]);
        assert_eq!(fs::read_to_string(goose.path(&tree)).ok().as_deref(), text);
        result
    });
    expect![[r#"
        exit 1
        --- stderr
        eyelet: cannot add the entry to /home/.config/goose/config.yaml: eyelet does not edit YAML files; run `eyelet setup goose` and add the printed entry by hand
    "#]]
    .assert_eq(&same(results));
}

#[test]
fn write_refuses_a_file_that_is_not_text() {
    let tree = TempTree::new(".mcp.json/");
    let mut result = setup(&tree, &["claude-code", "--write"]);
    let tree = TempTree::new(".mcp.json -> gone");
    result.push_str(&setup(&tree, &["claude-code", "--write"]));
    let tree = TempTree::new("");
    tree.file(".mcp.json", b"{\"\xff\": 1}");
    result.push_str(&setup(&tree, &["claude-code", "--write"]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: cannot read /repo/.mcp.json: not a regular file
        exit 1
        --- stderr
        eyelet: cannot read /repo/.mcp.json: dangling symlink
        exit 1
        --- stderr
        eyelet: cannot read /repo/.mcp.json: not valid UTF-8
    "#]]
    .assert_eq(&result);
}

#[test]
fn write_keeps_permissions_symlinks_and_older_backups() {
    let tree = TempTree::new("real/mcp.json = {}");
    let real = tree.path().join("real/mcp.json");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    tree.file("real/mcp.json.eyelet-backup", "precious");
    symlink("real/mcp.json", tree.path().join(".mcp.json")).unwrap();
    expect![[r#"
        exit 0
        --- stdout
        @@ -0,0 +1,8 @@
        +{
        +  "type": "stdio",
        +  "command": "/bin/eyelet",
        +  "args": [
        +    "mcp"
        +  ],
        +  "timeout": 660000
        +}
        added the entry to /repo/.mcp.json; the old file is saved to /repo/real/mcp.json.eyelet-backup-2
        --- stderr
        Claude Code asks for your approval once before it starts a server that a project configures.
    "#]]
    .assert_eq(&setup(&tree, &["claude-code", "--write"]));
    assert!(tree.path().join(".mcp.json").is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("eyelet"));
    let mode =
        |file: &str| fs::metadata(tree.path().join(file)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("real/mcp.json"), 0o640);
    assert_eq!(mode("real/mcp.json.eyelet-backup-2"), 0o640);
    let old = fs::read_to_string(tree.path().join("real/mcp.json.eyelet-backup")).unwrap();
    assert_eq!(old, "precious");
    assert_eq!(
        files_beside(&real),
        ["mcp.json", "mcp.json.eyelet-backup", "mcp.json.eyelet-backup-2"]
    );
}
