//! `eyelet setup`: the entry that it prints for each client.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use expect_test::expect;
use testkit::TempTree;

use crate::clients::{CLIENTS, redact, setup};
use testkit::cli::{command, eyelet};
use testkit::eyelet_bin;

#[test]
fn setup_prints_the_entry_of_each_client() {
    let tree = TempTree::new("");
    let mut result = String::new();
    for client in CLIENTS {
        result.push_str(&format!("== {}\n{}", client.name, setup(&tree, &[client.name])));
        assert!(!client.path(&tree).exists(), "{}", client.name);
    }
    expect![[r#"
        == claude-code
        exit 0
        --- stdout
        {
          "mcpServers": {
            "eyelet": {
              "type": "stdio",
              "command": "/bin/eyelet",
              "args": ["mcp"],
              "timeout": 660000
            }
          }
        }
        --- stderr
        Add this entry to /repo/.mcp.json, or run `eyelet setup claude-code --write`.
        == claude-desktop
        exit 0
        --- stdout
        {
          "mcpServers": {
            "eyelet": {
              "command": "/bin/eyelet",
              "args": ["mcp", "--root", "/repo"]
            }
          }
        }
        --- stderr
        Add this entry to /home/.config/Claude/claude_desktop_config.json, or run `eyelet setup claude-desktop --write`.
        == codex
        exit 0
        --- stdout
        [mcp_servers.eyelet]
        command = "/bin/eyelet"
        args = ["mcp"]
        tool_timeout_sec = 660
        --- stderr
        Add this entry to /home/.codex/config.toml, or run `eyelet setup codex --write`.
        == gemini-cli
        exit 0
        --- stdout
        {
          "mcpServers": {
            "eyelet": {
              "command": "/bin/eyelet",
              "args": ["mcp"],
              "timeout": 660000
            }
          }
        }
        --- stderr
        Add this entry to /repo/.gemini/settings.json, or run `eyelet setup gemini-cli --write`.
        == cursor
        exit 0
        --- stdout
        {
          "mcpServers": {
            "eyelet": {
              "command": "/bin/eyelet",
              "args": ["mcp", "--root", "${workspaceFolder}"]
            }
          }
        }
        --- stderr
        Add this entry to /repo/.cursor/mcp.json, or run `eyelet setup cursor --write`.
        == vscode
        exit 0
        --- stdout
        {
          "servers": {
            "eyelet": {
              "type": "stdio",
              "command": "/bin/eyelet",
              "args": ["mcp", "--root", "${workspaceFolder}"]
            }
          }
        }
        --- stderr
        Add this entry to /repo/.vscode/mcp.json, or run `eyelet setup vscode --write`.
        == copilot-cli
        exit 0
        --- stdout
        {
          "mcpServers": {
            "eyelet": {
              "type": "local",
              "command": "/bin/eyelet",
              "args": ["mcp"],
              "tools": ["*"],
              "timeout": 660000
            }
          }
        }
        --- stderr
        Add this entry to /home/.copilot/mcp-config.json, or run `eyelet setup copilot-cli --write`.
        == opencode
        exit 0
        --- stdout
        {
          "mcp": {
            "eyelet": {
              "type": "local",
              "command": ["/bin/eyelet", "mcp"],
              "enabled": true,
              "timeout": 660000
            }
          }
        }
        --- stderr
        Add this entry to /repo/opencode.json, or run `eyelet setup opencode --write`.
        == zed
        exit 0
        --- stdout
        {
          "context_servers": {
            "eyelet": {
              "command": "/bin/eyelet",
              "args": ["mcp"],
              "timeout": 660
            }
          }
        }
        --- stderr
        Add this entry to /repo/.zed/settings.json, or run `eyelet setup zed --write`.
        == windsurf
        exit 0
        --- stdout
        {
          "mcpServers": {
            "eyelet": {
              "command": "/bin/eyelet",
              "args": ["mcp", "--root", "/repo"]
            }
          }
        }
        --- stderr
        Add this entry to /home/.codeium/windsurf/mcp_config.json, or run `eyelet setup windsurf --write`.
        == goose
        exit 0
        --- stdout
        extensions:
          eyelet:
            enabled: true
            type: "stdio"
            name: "eyelet"
            description: "Tools with bounded output: list_dir, find_files, grep_files, read, bash, jobs"
            cmd: "/bin/eyelet"
            args: ["mcp","--root","/repo"]
            timeout: 660
        --- stderr
        Add this entry to /home/.config/goose/config.yaml; if the file already has the line `extensions:`, add the other lines below this line.
    "#]].assert_eq(&result);
}

#[test]
fn scope_selects_the_file() {
    let tree = TempTree::new("");
    let mut result = setup(&tree, &["claude-code", "--scope", "user", "--write"]);
    result.push_str(&setup(&tree, &["codex", "--scope", "project", "--write"]));
    result.push_str(&setup(&tree, &["goose", "--scope", "project", "--write"]));
    expect![[r#"
        exit 0
        --- stdout
        @@ -0,0 +1,10 @@
        +{
        +  "mcpServers": {
        +    "eyelet": {
        +      "type": "stdio",
        +      "command": "/bin/eyelet",
        +      "args": ["mcp"],
        +      "timeout": 660000
        +    }
        +  }
        +}
        added the entry to /home/.claude.json
        exit 0
        --- stdout
        @@ -0,0 +1,4 @@
        +[mcp_servers.eyelet]
        +command = "/bin/eyelet"
        +args = ["mcp"]
        +tool_timeout_sec = 660
        added the entry to /repo/.codex/config.toml
        --- stderr
        Trust the project in Codex; otherwise, Codex does not read this file.
        exit 2
        --- stderr
        eyelet: goose has no project config file; omit --scope project
    "#]]
    .assert_eq(&result);
}

#[test]
fn list_shows_every_client_and_its_files() {
    expect![[r#"
        exit 0
        --- stdout
        claude-code    *project  /repo/.mcp.json
        claude-code     user     /home/.claude.json
        claude-desktop *user     /home/.config/Claude/claude_desktop_config.json
        codex           project  /repo/.codex/config.toml
        codex          *user     /home/.codex/config.toml
        gemini-cli     *project  /repo/.gemini/settings.json
        gemini-cli      user     /home/.gemini/settings.json
        cursor         *project  /repo/.cursor/mcp.json
        cursor          user     /home/.cursor/mcp.json
        vscode         *project  /repo/.vscode/mcp.json
        vscode          user     /home/.config/Code/User/mcp.json
        copilot-cli     project  /repo/.mcp.json
        copilot-cli    *user     /home/.copilot/mcp-config.json
        opencode       *project  /repo/opencode.json
        opencode        user     /home/.config/opencode/opencode.json
        zed            *project  /repo/.zed/settings.json
        zed             user     /home/.config/zed/settings.json
        windsurf       *user     /home/.codeium/windsurf/mcp_config.json
        goose          *user     /home/.config/goose/config.yaml
    "#]]
    .assert_eq(&setup(&TempTree::new(""), &["--list"]));
}

#[test]
fn variables_change_the_directories() {
    let tree = TempTree::new("opencode.jsonc = {}");
    let moved = |name: &str| tree.beside().join(name);
    let output = command(&tree)
        .env("XDG_CONFIG_HOME", moved("xdg"))
        .env("CLAUDE_CONFIG_DIR", moved("claude"))
        .env("CODEX_HOME", moved("codex"))
        .env("COPILOT_HOME", moved("copilot"))
        .env("GEMINI_CLI_HOME", moved("gemini"))
        .args(["setup", "--list"])
        .output()
        .unwrap();
    expect![[r#"
        claude-code    *project  /repo/.mcp.json
        claude-code     user     /home/claude/.claude.json
        claude-desktop *user     /home/xdg/Claude/claude_desktop_config.json
        codex           project  /repo/.codex/config.toml
        codex          *user     /home/codex/config.toml
        gemini-cli     *project  /repo/.gemini/settings.json
        gemini-cli      user     /home/gemini/.gemini/settings.json
        cursor         *project  /repo/.cursor/mcp.json
        cursor          user     /home/.cursor/mcp.json
        vscode         *project  /repo/.vscode/mcp.json
        vscode          user     /home/xdg/Code/User/mcp.json
        copilot-cli     project  /repo/.mcp.json
        copilot-cli    *user     /home/copilot/mcp-config.json
        opencode       *project  /repo/opencode.jsonc
        opencode        user     /home/xdg/opencode/opencode.json
        zed            *project  /repo/.zed/settings.json
        zed             user     /home/xdg/zed/settings.json
        windsurf       *user     /home/.codeium/windsurf/mcp_config.json
        goose          *user     /home/xdg/goose/config.yaml
    "#]]
    .assert_eq(&redact(&tree, &String::from_utf8(output.stdout).unwrap()));
}

#[test]
fn config_files_of_every_client_are_denied_as_secrets() {
    let tree = TempTree::new("");
    let moved = |name: &str| tree.beside().join(name);
    let variables = ["XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"];
    for set in [&variables[..], &[]] {
        let eyelet = || {
            let mut eyelet = command(&tree);
            eyelet.envs(set.iter().map(|name| (name, moved(name))));
            eyelet
        };
        let list = eyelet().args(["setup", "--list"]).output().unwrap();
        let list = String::from_utf8(list.stdout).unwrap();
        let files = list.lines().filter(|line| line.contains("user "));
        let files: Vec<_> = files.map(|line| line.rsplit("  ").next().unwrap().trim()).collect();
        assert_eq!(files.len(), 11, "{list}");
        for file in files {
            std::fs::create_dir_all(std::path::Path::new(file).parent().unwrap()).unwrap();
            let arguments = serde_json::json!({ "path": file }).to_string();
            let output =
                eyelet().args(["--read-anywhere", "call", "read", &arguments]).output().unwrap();
            let answer = String::from_utf8(output.stdout).unwrap();
            assert!(answer.contains("permission_denied"), "{file}: {answer}");
        }
    }
}

#[test]
fn entry_uses_the_short_name_if_the_path_has_it() {
    let tree = TempTree::new("bin/");
    symlink(eyelet_bin(), tree.path().join("bin/eyelet")).unwrap();
    let printed = |name: &str| {
        let output = command(&tree).env("PATH", tree.at("bin")).args(["setup", name]).output();
        redact(&tree, &String::from_utf8(output.unwrap().stdout).unwrap())
    };
    assert!(printed("claude-code").contains("\"command\": \"eyelet\""));
    assert!(printed("windsurf").contains("\"command\": \"/repo/bin/eyelet\""));
    fs::remove_file(tree.path().join("bin/eyelet")).unwrap();
    tree.file("bin/eyelet", "#!/bin/sh\n");
    fs::set_permissions(tree.path().join("bin/eyelet"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(printed("claude-code").contains("\"command\": \"/bin/eyelet\""));
}

#[test]
fn server_flags_follow_two_dashes() {
    let tree = TempTree::new("");
    let result = setup(&tree, &["codex", "--", "--deny", "*.pem"]);
    assert!(result.contains("args = [\"mcp\", \"--deny\", \"*.pem\"]"), "{result}");
    let result = eyelet(&tree, ["--deny", "*.pem", "setup", "codex"]);
    expect![[r#"
        exit 2
        --- stderr
        eyelet: --deny is a server flag; put it at the end, after `--`
    "#]]
    .assert_eq(&result);
}
