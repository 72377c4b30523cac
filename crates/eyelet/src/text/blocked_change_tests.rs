use super::{find, names_git};

const PROTECTED: &[&str] = &[".vscode", ".mcp.json"];

#[test]
fn the_file_that_git_could_not_change_is_found() {
    for (stderr, expected) in [
        (
            "error: unable to unlink old '.vscode/settings.json': Read-only file system\nSwitched",
            Some(".vscode/settings.json"),
        ),
        ("error: unable to unlink old '.mcp.json': Device or resource busy", Some(".mcp.json")),
        ("error: unable to create file .vscode/x: Read-only file system", Some(".vscode/x")),
        ("error: unable to unlink old '.vscode/x': Permission denied", None),
        ("error: unable to unlink old 'src/.vscode/x': Read-only file system", None),
        ("error: unable to unlink old '.vscodes': Read-only file system", None),
        ("Switched to branch 'main'", None),
        ("", None),
    ] {
        assert_eq!(find(stderr, PROTECTED), expected, "{stderr}");
    }
}

#[test]
fn a_path_of_git_does_not_name_the_program() {
    for command in
        ["git checkout x", "cd a&&git switch b", "(/usr/bin/git pull)", "sh -c 'git pull'"]
    {
        assert!(names_git(command), "{command}");
    }
    for command in ["echo x >> .git/config", "cp -r a/.git b", "rm .gitignore", "./digit", ""] {
        assert!(!names_git(command), "{command}");
    }
}
