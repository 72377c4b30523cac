//! `--writable`: further directories that commands can write to.

use std::fs;
use std::process::Command;

use serde_json::json;
use testkit::workspace::{TIERS, Workspace, envelope};

/// A workspace, and the path of a directory outside with a repository in it.
fn workspace() -> (Workspace, String) {
    let workspace = Workspace::new("");
    let folder = workspace.outside().join("extra");
    fs::create_dir(&folder).unwrap();
    let mut git = Command::new("git");
    assert!(git.args(["init", "-q"]).arg(&folder).status().unwrap().success());
    (workspace, folder.to_str().unwrap().to_owned())
}

#[test]
fn commands_can_write_to_a_writable_directory() {
    for tier in TIERS {
        let (workspace, folder) = workspace();
        let write = format!("echo x > {folder}/new");
        assert!(workspace.fails(tier, &write), "{tier:?}");
        let flags = [tier, &["--writable", &folder]].concat();
        workspace.stdout(&flags, &write);
        assert_eq!(fs::read_to_string(format!("{folder}/new")).unwrap(), "x\n", "{tier:?}");
        assert!(workspace.fails(&flags, "echo x > $OUT/x"), "{tier:?}");
        let read_only = flags.iter().map(|flag| flag.replace("workspace-write", "read-only"));
        let read_only: Vec<_> = read_only.collect();
        let read_only: Vec<_> = read_only.iter().map(String::as_str).collect();
        assert!(workspace.fails(&read_only, &write), "{tier:?}");
    }
}

#[test]
fn a_writable_directory_is_protected_like_a_root() {
    for tier in TIERS {
        let (workspace, folder) = workspace();
        let flags = [tier, &["--writable", &folder]].concat();
        let before = fs::read(format!("{folder}/.git/config")).unwrap();
        workspace.data(&flags, &format!("echo x >> {folder}/.git/config; mkdir {folder}/.vscode"));
        assert_eq!(fs::read(format!("{folder}/.git/config")).unwrap(), before, "{tier:?}");
        assert!(!fs::exists(format!("{folder}/.vscode")).unwrap(), "{tier:?}");
    }
}

#[test]
fn the_path_tools_do_not_access_a_writable_directory() {
    let (workspace, folder) = workspace();
    fs::write(format!("{folder}/file"), "x").unwrap();
    for (tool, arguments) in [
        ("read", json!({ "path": format!("{folder}/file") })),
        ("list_dir", json!({ "dir_path": folder })),
    ] {
        let mut eyelet = workspace.eyelet(&["--writable", &folder]);
        let output = eyelet.args(["call", tool, &arguments.to_string()]).output().unwrap();
        assert_eq!(envelope(&output)["error"]["code"], "outside_root", "{tool}");
    }
}

#[test]
fn a_writable_directory_must_exist() {
    let (workspace, _) = workspace();
    let missing = workspace.outside().join("missing");
    let mut eyelet = workspace.eyelet(&["--writable", missing.to_str().unwrap()]);
    let output = eyelet.args(["bash", "true"]).output().unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("--writable: cannot open the directory"), "{text}");
}
