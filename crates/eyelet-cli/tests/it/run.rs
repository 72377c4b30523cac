//! One way for every test to run the binary.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use testkit::TempTree;

pub(crate) fn binary() -> PathBuf {
    testkit::eyelet_bin()
}

/// `eyelet` in the tree, with an environment that says nothing of terminals or colours.
pub(crate) fn command(tree: &TempTree) -> Command {
    let mut command = Command::new(binary());
    command
        .current_dir(tree.path())
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", tree.beside())
        .env("TMPDIR", tree.beside())
        .stdin(Stdio::null());
    command
}

/// Runs `eyelet` in the tree and tells everything that can be seen of it.
pub(crate) fn eyelet<A: AsRef<OsStr>>(
    tree: &TempTree,
    arguments: impl IntoIterator<Item = A>,
) -> String {
    told(tree, command(tree).args(arguments).output().unwrap())
}

/// The same with bytes on stdin.
pub(crate) fn eyelet_with_stdin(tree: &TempTree, arguments: &[&str], stdin: &[u8]) -> String {
    let mut child = command(tree)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It need not read all of it.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    told(tree, child.wait_with_output().unwrap())
}

fn told(tree: &TempTree, output: Output) -> String {
    let mut told = match output.status.code() {
        Some(code) => format!("exit {code}\n"),
        None => format!("{}\n", output.status),
    };
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            told.push_str(&format!("--- {name}\n{}", String::from_utf8_lossy(bytes)));
            if !told.ends_with('\n') {
                told.push_str("<no newline>\n");
            }
        }
    }
    tree.redact(&told).replace('\r', "<CR>")
}

/// What all of these say.
pub(crate) fn same(told: impl IntoIterator<Item = String>) -> String {
    let mut told = told.into_iter();
    let first = told.next().unwrap();
    for other in told {
        assert_eq!(first, other);
    }
    first
}
