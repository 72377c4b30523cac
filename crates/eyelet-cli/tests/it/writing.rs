//! Output that cannot be written.

use std::fs::File;
use std::process::Stdio;

use expect_test::expect;
use testkit::TempTree;
use testkit::cli::{command, same};

#[test]
fn closed_pipe_is_not_an_error() {
    let tree = TempTree::new("");
    tree.file("long.txt", "line\n".repeat(2000));
    let listing: &[&str] = &["list-dir"];
    for arguments in [listing, &["read", "long.txt"], &["--help"], &["man"], &["tools"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(&tree).args(arguments).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn full_disk_is_an_error() {
    let tree = TempTree::new("a.txt = one");
    let listing: &[&str] = &["list-dir"];
    let call: &[&str] = &["call", "read", r#"{"path":"a.txt"}"#];
    let errors = [listing, call, &["read", "a.txt"], &["--help"], &["completions", "bash"]].map(
        |arguments| {
            let full = File::options().write(true).open("/dev/full").unwrap();
            let output = command(&tree).args(arguments).stdout(full).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{arguments:?}");
            String::from_utf8(output.stderr).unwrap()
        },
    );
    expect![[r#"
        eyelet: cannot write the output: No space left on device (os error 28)
    "#]]
    .assert_eq(&same(errors));
}

#[test]
fn unwritable_stderr_does_not_change_the_exit_code() {
    let tree = TempTree::new("");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let status =
        command(&tree).args(["read", "gone"]).stderr(full).stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(1));
}
