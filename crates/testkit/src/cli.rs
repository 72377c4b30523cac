//! Runs the `eyelet` binary for a test.

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::programs::eyelet_bin;
use crate::tree::TempTree;

/// The command `eyelet` in the tree, with an environment without terminal settings.
pub fn command(tree: &TempTree) -> Command {
    let mut command = Command::new(eyelet_bin());
    command
        .current_dir(tree.path())
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", tree.beside())
        .env("TMPDIR", tree.beside())
        .stdin(Stdio::null());
    command
}

/// Runs `eyelet` in the tree. Returns its exit code, stdout and stderr as one text.
pub fn eyelet<A: AsRef<OsStr>>(tree: &TempTree, arguments: impl IntoIterator<Item = A>) -> String {
    describe(tree, command(tree).args(arguments).output().unwrap())
}

/// Like [`eyelet`], with bytes on stdin.
pub fn eyelet_with_stdin(tree: &TempTree, arguments: &[&str], stdin: &[u8]) -> String {
    let mut child = command(tree)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may exit before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    describe(tree, child.wait_with_output().unwrap())
}

fn describe(tree: &TempTree, output: Output) -> String {
    let mut text = match output.status.code() {
        Some(code) => format!("exit {code}\n"),
        None => format!("{}\n", output.status),
    };
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            text.push_str(&format!("--- {name}\n{}", String::from_utf8_lossy(bytes)));
            if !text.ends_with('\n') {
                text.push_str("<no newline>\n");
            }
        }
    }
    tree.redact(&text).replace('\r', "<CR>")
}

/// The common value of all texts; fails if they differ.
pub fn same(texts: impl IntoIterator<Item = String>) -> String {
    let mut texts = texts.into_iter();
    let first = texts.next().unwrap();
    for other in texts {
        assert_eq!(first, other);
    }
    first
}
