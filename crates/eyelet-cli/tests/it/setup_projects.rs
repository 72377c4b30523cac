//! `eyelet setup` with several projects in one file: `--write`, `--remove` and `--check`.

use std::fs;
use std::os::unix::fs::symlink;

use expect_test::expect;
use testkit::{TempTree, eyelet_bin};

use crate::clients::{CLIENTS, Client, files_beside, redact, setup, writable};
use testkit::cli::eyelet;

/// Runs `eyelet setup` in a project below the tree.
fn setup_in(tree: &TempTree, project: &str, arguments: &[&str]) -> String {
    let project = tree.at(project);
    let words = [&["--cwd", project.as_str(), "setup"], arguments].concat();
    redact(tree, &eyelet(tree, words))
}

fn client(name: &str) -> &'static Client {
    CLIENTS.iter().find(|client| client.name == name).unwrap()
}

#[test]
fn second_project_is_added() {
    let tree = TempTree::new("a/\nb/\nx/b/");
    for project in ["a", "b", "x/b", "a"] {
        setup_in(&tree, project, &["claude-desktop", "--write"]);
    }
    let path = client("claude-desktop").path(&tree);
    let all = redact(&tree, &fs::read_to_string(&path).unwrap());
    expect![[r#"
        {
          "mcpServers": {
            "eyelet": {
              "command": "/bin/eyelet",
              "args": ["mcp", "--root", "/repo/a"]
            },
            "eyelet-b": {
              "command": "/bin/eyelet",
              "args": ["mcp", "--root", "/repo/b"]
            },
            "eyelet-b-2": {
              "command": "/bin/eyelet",
              "args": ["mcp", "--root", "/repo/x/b"]
            }
          }
        }
    "#]]
    .assert_eq(&all);
    let mut checks = String::new();
    for project in ["a", "b", "x/b", "x"] {
        checks.push_str(&setup_in(&tree, project, &["claude-desktop", "--check"]));
    }
    expect![[r#"
        exit 0
        --- stdout
        claude-desktop is set up in /home/.config/Claude/claude_desktop_config.json
        `/bin/eyelet mcp --root /repo/a` answers as eyelet 0.2.0, protocol 2025-06-18
        exit 0
        --- stdout
        claude-desktop is set up in /home/.config/Claude/claude_desktop_config.json
        `/bin/eyelet mcp --root /repo/b` answers as eyelet 0.2.0, protocol 2025-06-18
        exit 0
        --- stdout
        claude-desktop is set up in /home/.config/Claude/claude_desktop_config.json
        `/bin/eyelet mcp --root /repo/x/b` answers as eyelet 0.2.0, protocol 2025-06-18
        exit 1
        --- stderr
        eyelet: claude-desktop is not set up for /repo/x: no `eyelet` for /repo/x in /home/.config/Claude/claude_desktop_config.json; run `eyelet setup claude-desktop --write`
    "#]].assert_eq(&checks);
}

#[test]
fn remove_takes_out_only_the_entry_of_this_project() {
    for name in ["claude-desktop", "windsurf"] {
        let tree = TempTree::new("a/\nb/");
        let path = client(name).put(&tree, &client(name).parts().0);
        setup_in(&tree, "a", &[name, "--write"]);
        let only_a = fs::read_to_string(&path).unwrap();
        setup_in(&tree, "b", &[name, "--write", "--", "--strict"]);
        let result = setup_in(&tree, "b", &[name, "--remove"]);
        assert!(result.contains("removed the entry from"), "{result}");
        assert!(
            result.contains("\n-            \"args\": [\"mcp\", \"--root\", \"/repo/b\""),
            "{result}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), only_a);
        let files = files_beside(&path);
        let again = setup_in(&tree, "b", &[name, "--remove"]);
        assert!(again.contains(" has no entry for /repo/b\n"), "{again}");
        assert_eq!(files_beside(&path), files);
        setup_in(&tree, "a", &[name, "--remove"]);
        let rest = fs::read_to_string(&path).unwrap();
        assert!(!rest.contains("eyelet") && rest.contains("oddly spaced"), "{rest}");
    }
}

#[test]
fn remove_undoes_write_for_every_client() {
    for client in writable() {
        let tree = TempTree::new("");
        let path = client.put(&tree, &client.parts().0);
        let before = fs::read_to_string(&path).unwrap();
        setup(&tree, &[client.name, "--write"]);
        setup(&tree, &[client.name, "--remove"]);
        // JSON keeps the comma that the entry needed.
        let after = fs::read_to_string(&path).unwrap();
        assert_eq!(after.replace("]},\n", "]}\n"), before, "{}", client.name);
    }
    let tree = TempTree::new("");
    expect![[r#"
        exit 0
        --- stdout
        /home/.config/goose/config.yaml has no entry for /repo
    "#]]
    .assert_eq(&setup(&tree, &["goose", "--remove"]));
}

#[test]
fn remove_takes_out_an_entry_that_is_alone_in_its_file() {
    for client in writable() {
        for before in ["", "# mine\n"].into_iter().take(1 + usize::from(client.name == "codex")) {
            let tree = TempTree::new("");
            let path = client.put(&tree, before);
            setup(&tree, &[client.name, "--write"]);
            let removed = setup(&tree, &[client.name, "--remove"]);
            assert!(removed.starts_with("exit 0\n"), "{}: {removed}", client.name);
            let after = fs::read_to_string(&path).unwrap();
            let rest = format!("{{\n  \"{}\": {{}}\n}}\n", client.key());
            let expected = if client.name == "codex" { before } else { &rest };
            assert_eq!(after, expected, "{}", client.name);
        }
    }
}

#[test]
fn remove_keeps_the_other_roots_of_an_entry() {
    let tree = TempTree::new("a/\nb/");
    symlink(tree.at("b"), tree.at("link")).unwrap();
    let (a, link) = (tree.at("a"), tree.at("link"));
    let file = format!(
        "{{\n  \"mcpServers\": {{\n    \"eyelet\": {{\n      \"command\": \"/mine\",\n      \"args\": [\"mcp\", \"--root\", \"{a}\", \"--root={link}\"]\n    }}\n  }}\n}}\n"
    );
    client("claude-desktop").put(&tree, &file);
    expect![[r#"
        exit 0
        --- stdout
        @@ -5 +5 @@
        -      "args": ["mcp", "--root", "/repo/a", "--root=/repo/link"]
        +      "args": ["mcp", "--root", "/repo/a"]
        removed this project's root from the entry in /home/.config/Claude/claude_desktop_config.json; the old file is saved to /home/.config/Claude/claude_desktop_config.json.eyelet-backup
    "#]].assert_eq(&setup_in(&tree, "b", &["claude-desktop", "--remove"]));
}

#[test]
fn entry_of_another_project_in_a_users_file_is_not_changed() {
    let tree = TempTree::new("a/\nb/");
    let arguments = ["codex", "--write", "--", "--root", &tree.at("a")];
    setup_in(&tree, "a", &arguments);
    let check = setup_in(&tree, "b", &["codex", "--check"]);
    assert!(
        check.starts_with("exit 1\n") && check.contains("is not set up for /repo/b"),
        "{check}"
    );
    setup_in(&tree, "b", &["codex", "--write"]);
    let all = fs::read_to_string(client("codex").path(&tree)).unwrap();
    expect![[r#"
        [mcp_servers.eyelet]
        command = "/bin/eyelet"
        args = ["mcp", "--root", "/repo/a"]
        tool_timeout_sec = 660

        [mcp_servers.eyelet-b]
        command = "/bin/eyelet"
        args = ["mcp", "--root", "/repo/b"]
        tool_timeout_sec = 660
    "#]]
    .assert_eq(&redact(&tree, &all));
}

#[test]
fn check_fails_if_the_server_has_no_root() {
    let tree = TempTree::new("");
    let program = eyelet_bin();
    let file = format!(r#"{{"mcpServers":{{"eyelet":{{"command":{program:?},"args":["mcp"]}}}}}}"#);
    let path = client("windsurf").put(&tree, &file);
    let mut results = setup(&tree, &["windsurf", "--check"]);
    results.push_str(&setup(&tree, &["windsurf", "--remove"]));
    assert_eq!(fs::read_to_string(&path).unwrap(), file);
    setup(&tree, &["windsurf", "--write"]);
    results.push_str(&setup(&tree, &["windsurf", "--check"]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: windsurf is set up, but `/bin/eyelet mcp` cannot access any files: it has no --root
        exit 0
        --- stdout
        /home/.codeium/windsurf/mcp_config.json has no entry for /repo
        exit 0
        --- stdout
        windsurf is set up in /home/.codeium/windsurf/mcp_config.json
        `/bin/eyelet mcp --root /repo` answers as eyelet 0.2.0, protocol 2025-06-18
    "#]]
    .assert_eq(&results);
}
