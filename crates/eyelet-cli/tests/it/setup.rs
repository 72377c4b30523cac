//! `eyelet setup`: what is printed, what is written into a client's file, what is checked.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use expect_test::expect;
use testkit::TempTree;

use crate::run::{binary, command, eyelet};

/// A client: its name, its file from the home or from the project, and a file that someone wrote
/// with comments and another server. `<ENTRY>` is where the entry is expected.
struct Client {
    name: &'static str,
    file: File,
    written: &'static str,
}

enum File {
    Home(&'static str),
    Project(&'static str),
}

const SERVERS_IN_JSON: &str = r#"// kept
{
    "theme": "dark",   // oddly spaced
    "KEY": {
        "other": {"command": "x",  "args": [ ]}<,>
<ENTRY>    }, /* and
    this */ "last": [1,2 , 3]
}
"#;

const CLIENTS: &[Client] = &[
    Client { name: "claude-code", file: File::Project(".mcp.json"), written: SERVERS_IN_JSON },
    Client {
        name: "claude-desktop",
        file: File::Home(".config/Claude/claude_desktop_config.json"),
        written: SERVERS_IN_JSON,
    },
    Client {
        name: "codex",
        file: File::Home(".codex/config.toml"),
        written: "# kept\nmodel   = \"x\" # oddly spaced\n\n[mcp_servers.other]\ncommand = 'y'\n<ENTRY>\n# of tui\n[tui]\na=1\n",
    },
    Client {
        name: "gemini-cli",
        file: File::Project(".gemini/settings.json"),
        written: SERVERS_IN_JSON,
    },
    Client { name: "cursor", file: File::Project(".cursor/mcp.json"), written: SERVERS_IN_JSON },
    Client { name: "vscode", file: File::Project(".vscode/mcp.json"), written: SERVERS_IN_JSON },
    Client {
        name: "copilot-cli",
        file: File::Home(".copilot/mcp-config.json"),
        written: SERVERS_IN_JSON,
    },
    Client { name: "opencode", file: File::Project("opencode.json"), written: SERVERS_IN_JSON },
    Client { name: "zed", file: File::Project(".zed/settings.json"), written: SERVERS_IN_JSON },
    Client {
        name: "windsurf",
        file: File::Home(".codeium/windsurf/mcp_config.json"),
        written: SERVERS_IN_JSON,
    },
    Client {
        name: "goose",
        file: File::Home(".config/goose/config.yaml"),
        written: "# kept\nGOOSE_MODEL:   x # oddly spaced\nextensions:\n  # of other\n  other:\n    cmd: y\n    args:\n    - a\n<ENTRY>\n# of last\nlast: |\n  eyelet:\n    text\n",
    },
];

impl Client {
    fn path(&self, tree: &TempTree) -> PathBuf {
        match self.file {
            File::Home(file) => tree.beside().join(file),
            File::Project(file) => tree.path().join(file),
        }
    }

    /// The key of the servers.
    fn key(&self) -> &'static str {
        match self.name {
            "vscode" => "servers",
            "opencode" => "mcp",
            "zed" => "context_servers",
            _ => "mcpServers",
        }
    }

    /// The file that someone wrote, without the entry and around it.
    fn parts(&self) -> (String, String, String) {
        let written = self.written.replace("KEY", self.key());
        let (before, after) = written.split_once("<ENTRY>").unwrap();
        let plain = format!("{before}{after}").replace("<,>", "");
        (plain, before.replace("<,>", ","), after.to_owned())
    }

    fn put(&self, tree: &TempTree, text: &str) -> PathBuf {
        let path = self.path(tree);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

/// What is told, with every path that differs from run to run replaced.
fn setup(tree: &TempTree, arguments: &[&str]) -> String {
    let told = eyelet(tree, [&["setup"], arguments].concat());
    redact(tree, &told)
}

fn redact(tree: &TempTree, text: &str) -> String {
    let text = text.replace(binary().to_str().unwrap(), "/bin/eyelet");
    tree.redact(&text).replace(tree.beside().to_str().unwrap(), "/home")
}

fn files_beside(path: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_printed_is_the_entry_of_each_client() {
    let tree = TempTree::new("");
    let mut told = String::new();
    for client in CLIENTS {
        told.push_str(&format!("== {}\n{}", client.name, setup(&tree, &[client.name])));
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
              "args": ["mcp"]
            }
          }
        }
        --- stderr
        This belongs into /repo/.mcp.json; `eyelet setup claude-code --write` puts it there.
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
        This belongs into /home/.config/Claude/claude_desktop_config.json; `eyelet setup claude-desktop --write` puts it there.
        == codex
        exit 0
        --- stdout
        [mcp_servers.eyelet]
        command = "/bin/eyelet"
        args = ["mcp"]
        --- stderr
        This belongs into /home/.codex/config.toml; `eyelet setup codex --write` puts it there.
        == gemini-cli
        exit 0
        --- stdout
        {
          "mcpServers": {
            "eyelet": {
              "command": "/bin/eyelet",
              "args": ["mcp"]
            }
          }
        }
        --- stderr
        This belongs into /repo/.gemini/settings.json; `eyelet setup gemini-cli --write` puts it there.
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
        This belongs into /repo/.cursor/mcp.json; `eyelet setup cursor --write` puts it there.
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
        This belongs into /repo/.vscode/mcp.json; `eyelet setup vscode --write` puts it there.
        == copilot-cli
        exit 0
        --- stdout
        {
          "mcpServers": {
            "eyelet": {
              "type": "local",
              "command": "/bin/eyelet",
              "args": ["mcp"],
              "tools": ["*"]
            }
          }
        }
        --- stderr
        This belongs into /home/.copilot/mcp-config.json; `eyelet setup copilot-cli --write` puts it there.
        == opencode
        exit 0
        --- stdout
        {
          "mcp": {
            "eyelet": {
              "type": "local",
              "command": ["/bin/eyelet", "mcp"],
              "enabled": true
            }
          }
        }
        --- stderr
        This belongs into /repo/opencode.json; `eyelet setup opencode --write` puts it there.
        == zed
        exit 0
        --- stdout
        {
          "context_servers": {
            "eyelet": {
              "command": "/bin/eyelet",
              "args": ["mcp"]
            }
          }
        }
        --- stderr
        This belongs into /repo/.zed/settings.json; `eyelet setup zed --write` puts it there.
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
        This belongs into /home/.codeium/windsurf/mcp_config.json; `eyelet setup windsurf --write` puts it there.
        == goose
        exit 0
        --- stdout
        extensions:
          eyelet:
            enabled: true
            type: stdio
            name: eyelet
            description: "Bounded tools: list_dir, grep_files, read, bash"
            cmd: "/bin/eyelet"
            args: ["mcp", "--root", "/repo"]
            timeout: 660
        --- stderr
        This belongs into /home/.config/goose/config.yaml; `eyelet setup goose --write` puts it there.
    "#]].assert_eq(&told);
}

#[test]
fn a_new_file_holds_what_is_printed() {
    for client in CLIENTS {
        let tree = TempTree::new("");
        let printed = command(&tree).args(["setup", client.name]).output().unwrap().stdout;
        let told = setup(&tree, &[client.name, "--write"]);
        assert!(told.contains(" is written\n"), "{told}");
        let path = client.path(&tree);
        assert_eq!(fs::read(&path).unwrap(), printed, "{}", client.name);
        assert_eq!(files_beside(&path).len(), 1, "{}", client.name);
    }
}

#[test]
fn an_entry_is_merged_into_a_file_and_the_rest_stays_byte_for_byte() {
    let mut told = String::new();
    for client in CLIENTS {
        let tree = TempTree::new("");
        let (plain, before, after) = client.parts();
        let path = client.put(&tree, &plain);
        setup(&tree, &[client.name, "--write"]);
        let merged = fs::read_to_string(&path).unwrap();
        let rest = merged.strip_prefix(&before).unwrap_or_else(|| panic!("{merged}"));
        let entry = rest.strip_suffix(&after).unwrap_or_else(|| panic!("{merged}"));
        told.push_str(&format!("== {}\n{}", client.name, redact(&tree, entry)));
        let backup = PathBuf::from(format!("{}.eyelet-backup", path.display()));
        assert_eq!(fs::read_to_string(backup).unwrap(), plain);
        assert_eq!(files_beside(&path).len(), 2, "{}", client.name);
    }
    expect![[r#"
        == claude-code
                "eyelet": {
                    "type": "stdio",
                    "command": "/bin/eyelet",
                    "args": ["mcp"]
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
        == gemini-cli
                "eyelet": {
                    "command": "/bin/eyelet",
                    "args": ["mcp"]
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
                    "tools": ["*"]
                }
        == opencode
                "eyelet": {
                    "type": "local",
                    "command": ["/bin/eyelet", "mcp"],
                    "enabled": true
                }
        == zed
                "eyelet": {
                    "command": "/bin/eyelet",
                    "args": ["mcp"]
                }
        == windsurf
                "eyelet": {
                    "command": "/bin/eyelet",
                    "args": ["mcp", "--root", "/repo"]
                }
        == goose
          eyelet:
            enabled: true
            type: stdio
            name: eyelet
            description: "Bounded tools: list_dir, grep_files, read, bash"
            cmd: "/bin/eyelet"
            args: ["mcp", "--root", "/repo"]
            timeout: 660
    "#]].assert_eq(&told);
}

#[test]
fn a_second_time_nothing_changes() {
    for client in CLIENTS {
        let tree = TempTree::new("");
        let path = client.put(&tree, &client.parts().0);
        setup(&tree, &[client.name, "--write"]);
        let (text, files) = (fs::read(&path).unwrap(), files_beside(&path));
        let again = setup(&tree, &[client.name, "--write"]);
        assert!(
            again.starts_with("exit 0\n") && again.contains(" has the entry already"),
            "{again}"
        );
        assert_eq!(fs::read(&path).unwrap(), text);
        assert_eq!(files_beside(&path), files);
    }
}

#[test]
fn an_entry_that_leads_elsewhere_is_corrected_and_what_a_person_added_stays() {
    let old = [
        (
            "claude-code",
            "{\"mcpServers\": {\"eyelet\": { /* mine */ \"command\": \"/old\", \"env\": {\"A\": \"1\"} }}}",
        ),
        (
            "codex",
            "[mcp_servers.eyelet] # mine\ncommand = \"/old\" # this one\nstartup_timeout_sec = 5\n",
        ),
        (
            "goose",
            "extensions:\n  eyelet:\n    # mine\n    enabled: false\n    cmd: /old\n    args:\n      - mcp\n      - --root\n    timeout: 5\n  other: {}\n",
        ),
        (
            "opencode",
            "{\"mcp\":{\"eyelet\":{\"enabled\":false,\"type\":\"local\",\"command\":[\"/old\"]}}}",
        ),
    ];
    let mut told = String::new();
    for (name, text) in old {
        let tree = TempTree::new("");
        let client = CLIENTS.iter().find(|client| client.name == name).unwrap();
        let path = client.put(&tree, text);
        setup(&tree, &[name, "--write"]);
        let text = fs::read_to_string(&path).unwrap();
        told.push_str(&format!("== {name}\n{}\n", redact(&tree, &text)));
    }
    expect![[r#"
        == claude-code
        {"mcpServers": {"eyelet": {
              /* mine */ "command": "/bin/eyelet",
              "env": {"A": "1"},
              "type": "stdio",
              "args": ["mcp"]
            }}}
        == codex
        [mcp_servers.eyelet] # mine
        command = "/bin/eyelet" # this one
        startup_timeout_sec = 5
        args = ["mcp"]

        == goose
        extensions:
          eyelet:
            # mine
            enabled: false
            cmd: "/bin/eyelet"
            args: ["mcp", "--root", "/repo"]
            timeout: 5
            type: stdio
            name: eyelet
            description: "Bounded tools: list_dir, grep_files, read, bash"
          other: {}

        == opencode
        {"mcp":{"eyelet":{"enabled":false,"type":"local","command":["/bin/eyelet", "mcp"]}}}
    "#]].assert_eq(&told);
}

#[test]
fn what_cannot_be_merged_is_refused_in_one_line_and_left_as_it_is() {
    let broken = [
        ("claude-code", "{\"mcpServers\": "),
        ("claude-code", "[]"),
        ("claude-code", "{\"mcpServers\": []}"),
        ("claude-code", "{\"mcpServers\": {\"eyelet\": 1}}"),
        ("claude-code", "{\"mcpServers\": {}, \"mcpServers\": {\"a\": {}}}"),
        ("codex", "[mcp_servers"),
        ("codex", "mcp_servers = 1"),
        ("goose", "extensions: [\n"),
        ("goose", "extensions:\n- a\n"),
        ("goose", "extensions: {other: {cmd: y}}\n"),
        ("goose", "a: 1\n---\nb: 2\n"),
    ];
    let mut told = String::new();
    for (name, text) in broken {
        let tree = TempTree::new("");
        let client = CLIENTS.iter().find(|client| client.name == name).unwrap();
        let path = client.put(&tree, text);
        told.push_str(&setup(&tree, &[name, "--write"]));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(files_beside(&path).len(), 1);
    }
    for client in CLIENTS {
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
        eyelet: /repo/.mcp.json is left as it is: it is not JSON: Expected value after colon in object property on line 1 column 16
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json is left as it is: its top level is not a table of keys
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json is left as it is: its `mcpServers` is not a table of keys
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json is left as it is: its `mcpServers.eyelet` is not a table of keys
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json is left as it is: it is written in a way that cannot be added to without changing the rest
        exit 1
        --- stderr
        eyelet: /home/.codex/config.toml is left as it is: it is not TOML: unclosed table, expected `]`
        exit 1
        --- stderr
        eyelet: /home/.codex/config.toml is left as it is: its `mcp_servers` is not a table of keys
        exit 1
        --- stderr
        eyelet: /home/.config/goose/config.yaml is left as it is: it is not YAML: while parsing a node, did not find expected node content at byte 14 line 2 column 1
        exit 1
        --- stderr
        eyelet: /home/.config/goose/config.yaml is left as it is: its `extensions` is not a table of keys
        exit 1
        --- stderr
        eyelet: /home/.config/goose/config.yaml is left as it is: it is written in a way that cannot be added to without changing the rest
        exit 1
        --- stderr
        eyelet: /home/.config/goose/config.yaml is left as it is: it holds several YAML documents
    "#]].assert_eq(&told);
}

#[test]
fn what_is_no_text_file_is_refused() {
    let tree = TempTree::new(".mcp.json/");
    let mut told = setup(&tree, &["claude-code", "--write"]);
    let tree = TempTree::new(".mcp.json -> gone");
    told.push_str(&setup(&tree, &["claude-code", "--write"]));
    let tree = TempTree::new("");
    tree.file(".mcp.json", b"{\"\xff\": 1}");
    told.push_str(&setup(&tree, &["claude-code", "--write"]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json cannot be read: it is not a file
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json cannot be read: it is a link to nothing
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json cannot be read: it is not UTF-8
    "#]].assert_eq(&told);
}

#[test]
fn permissions_and_links_stay_and_no_backup_is_overwritten() {
    let tree = TempTree::new("real/mcp.json = {}");
    let real = tree.path().join("real/mcp.json");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    tree.file("real/mcp.json.eyelet-backup", "precious");
    symlink("real/mcp.json", tree.path().join(".mcp.json")).unwrap();
    expect![[r#"
        exit 0
        --- stdout
        /repo/.mcp.json is written; the old one is /repo/real/mcp.json.eyelet-backup-2
        --- stderr
        Claude Code asks once before it starts a project's server.
    "#]].assert_eq(&setup(&tree, &["claude-code", "--write"]));
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

#[test]
fn a_scope_chooses_the_file_and_one_that_a_client_lacks_is_refused() {
    let tree = TempTree::new("");
    let mut told = setup(&tree, &["claude-code", "--scope", "user", "--write"]);
    told.push_str(&setup(&tree, &["codex", "--scope", "project", "--write"]));
    told.push_str(&setup(&tree, &["goose", "--scope", "project", "--write"]));
    expect![[r#"
        exit 0
        --- stdout
        /home/.claude.json is written
        --- stderr
        Claude Code asks once before it starts a project's server.
        exit 0
        --- stdout
        /repo/.codex/config.toml is written
        --- stderr
        Codex reads a project's file only where the project is trusted.
        exit 2
        --- stderr
        eyelet: goose has no project file; leave out --scope project
    "#]].assert_eq(&told);
}

#[test]
fn the_list_names_every_client_and_its_files() {
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
    "#]].assert_eq(&setup(&TempTree::new(""), &["--list"]));
}

#[test]
fn variables_move_the_files() {
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
    "#]].assert_eq(&redact(&tree, &String::from_utf8(output.stdout).unwrap()));
}

#[test]
fn eyelet_on_the_path_is_named_as_such_where_the_client_has_that_path() {
    let tree = TempTree::new("bin/");
    symlink(binary(), tree.path().join("bin/eyelet")).unwrap();
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
fn more_arguments_of_the_server_stand_at_the_end() {
    let tree = TempTree::new("");
    let told = setup(&tree, &["codex", "--", "--deny", "*.pem"]);
    assert!(told.contains("args = [\"mcp\", \"--deny\", \"*.pem\"]"), "{told}");
    let told = eyelet(&tree, ["--deny", "*.pem", "setup", "codex"]);
    expect![[r#"
        exit 2
        --- stderr
        eyelet: --deny is for the server: say it at the end, after `--`
    "#]].assert_eq(&told);
}

#[test]
fn a_client_that_is_not_set_up_is_told() {
    let tree = TempTree::new("");
    let mut told = String::new();
    for client in CLIENTS {
        told.push_str(&setup(&tree, &[client.name, "--check"]));
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
    "#]].assert_eq(&told);
}

/// A program that answers the first line of the protocol with this and then waits for its end.
fn server(tree: &TempTree, answer: &str) -> PathBuf {
    let script = format!("#!/bin/sh\nread question\n{answer}\ncat > /dev/null\n");
    let path = tree.file("server", script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_server_that_answers_is_found_for_every_client() {
    for client in CLIENTS {
        let tree = TempTree::new("");
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"eyelet","version":"9"}}}"#;
        let server = server(&tree, &format!("echo '{answer}'"));
        setup(&tree, &[client.name, "--write"]);
        let path = client.path(&tree);
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace(binary().to_str().unwrap(), server.to_str().unwrap());
        fs::write(&path, text).unwrap();
        let told = setup(&tree, &[client.name, "--check"]);
        let place = redact(&tree, path.to_str().unwrap());
        let set_up =
            format!("exit 0\n--- stdout\n{} is set up in {place}\n`/repo/server", client.name);
        assert!(told.starts_with(&set_up), "{told}");
        assert!(told.ends_with("` answers as eyelet 9, protocol 2025-06-18\n"), "{told}");
    }
}

#[test]
fn a_server_that_is_not_there_or_does_not_answer_well_is_told() {
    let mut told = String::new();
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
        told.push_str(&setup(&tree, &["claude-code", "--check"]));
    }
    let tree = TempTree::new("");
    for entry in [r#"{"command":"/gone"}"#, r#"{"url":"x"}"#, r#"{"command":"x","disabled":true}"#]
    {
        tree.file(".mcp.json", format!(r#"{{"mcpServers":{{"eyelet":{entry}}}}}"#));
        told.push_str(&setup(&tree, &["claude-code", "--check"]));
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
        eyelet: /repo/.mcp.json names no command
        exit 1
        --- stderr
        eyelet: /repo/.mcp.json has `eyelet` switched off for claude-code
    "#]].assert_eq(&told);
}
