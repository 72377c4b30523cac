//! Programs that the server runs outside the sandbox: which file it runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use expect_test::expect;
use serde_json::json;
use testkit::TempTree;
use testkit::cli::command;
use testkit::mcp_client::Server;

/// Writes an `rg` that leaves a mark in `tree` when it runs.
fn plant(tree: &TempTree, program: &Path) {
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    let mark = tree.beside().join("ran");
    let _ = fs::remove_file(program);
    fs::write(program, format!("#!/bin/sh\n: > '{}'\n", mark.display())).unwrap();
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
}

fn start(tree: &TempTree, path: &str, flags: &[&str]) -> Server {
    let mut command = command(tree);
    let path = format!("{path}:/usr/bin:/bin");
    command.env("PATH", path).args(["mcp", "--search-engine", "rg"]).args(flags);
    let mut server = Server::run(&mut command);
    server.initialize("test", &json!({}));
    server
}

#[test]
fn a_planted_rg_does_not_run_outside_the_sandbox() {
    let tree = TempTree::new("a = foo");
    let found_rg = Path::new("/usr/bin/rg").exists() || Path::new("/bin/rg").exists();
    for planted in [tree.path().join("bin/rg"), tree.beside().join("bin/rg")] {
        let folder = planted.parent().unwrap().to_str().unwrap().to_owned();
        for policy in ["off", "read-only", "workspace-write", "full"] {
            plant(&tree, &planted);
            let mut server = start(&tree, &folder, &["--sandbox", policy]);
            let answer = server.call("grep_files", json!({"pattern": "foo"})).to_string();
            let ran = fs::remove_file(tree.beside().join("ran")).is_ok();
            assert_eq!(ran, policy == "full", "{policy}: {answer}");
            let is_refused =
                answer.contains(&format!("found only in `{folder}`, which is in a root"));
            assert_eq!(is_refused, policy != "full" && !found_rg, "{policy}: {answer}");
        }
    }
}

#[test]
fn an_rg_found_only_in_a_root_is_an_error_that_names_the_directory() {
    let tree = TempTree::new("a = foo");
    plant(&tree, &tree.path().join("bin/rg"));
    let mut command = command(&tree);
    command.env("PATH", tree.at("bin")).args(["mcp", "--search-engine", "rg"]);
    let mut server = Server::run(&mut command);
    server.initialize("test", &json!({}));
    let text = server.error("grep_files", json!({"pattern": "foo"}));
    expect!["failed to launch rg: found only in `/repo/bin`, which is in a root or a temp directory: commands could replace programs there; install ripgrep in a directory on PATH, or restart with --search-engine embedded"].assert_eq(&tree.redact(&text));
}

#[test]
fn an_rg_planted_after_the_start_is_not_run() {
    let tree = TempTree::new("a = foo");
    let (early, late) = (tree.beside().join("early"), tree.beside().join("late"));
    fs::create_dir_all(&early).unwrap();
    fs::create_dir_all(&late).unwrap();
    std::os::unix::fs::symlink(testkit::rg(), late.join("rg")).unwrap();
    let path = format!("{}:{}", early.display(), late.display());
    let mut server = start(&tree, &path, &["--sandbox", "full"]);
    plant(&tree, &early.join("rg"));
    plant(&tree, &late.join("rg"));
    let found = server.text("grep_files", json!({"pattern": "foo"}));
    assert_eq!(tree.redact(&found), "/repo/a");
    assert!(!tree.beside().join("ran").exists());
}
