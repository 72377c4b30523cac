//! `eyelet list-dir`.

use expect_test::expect;
use testkit::TempTree;
use testkit::cli::{eyelet, same};

fn tree() -> TempTree {
    TempTree::new(
        "src/main.rs = fn main() {}
        notes.txt
        link -> notes.txt",
    )
}

#[test]
fn default_directory_is_the_working_directory() {
    expect![[r#"
        exit 0
        --- stdout
        Absolute path: /repo
        link@
        notes.txt
        src/
          main.rs
    "#]]
    .assert_eq(&eyelet(&tree(), ["list-dir"]));
}

#[test]
fn relative_directory_is_made_absolute() {
    let tree = tree();
    let expected = expect![[r#"
        exit 0
        --- stdout
        Absolute path: /repo/src
        main.rs
    "#]];
    expected.assert_eq(&same([
        eyelet(&tree, ["list-dir", "src"]),
        eyelet(&tree, ["list-dir", "./src/."]),
        eyelet(&tree, ["list-dir", "--cwd", "src"]),
        eyelet(&tree, ["list-dir", &tree.at("src")]),
    ]));
}

#[test]
fn truncated_listing_says_how_to_continue() {
    let tree = tree();
    expect![[r#"
        exit 0
        --- stdout
        Absolute path: /repo
        link@
        notes.txt
        More than 2 entries found
        --- stderr
        truncated; continue with --offset 3
    "#]]
    .assert_eq(&eyelet(&tree, ["list-dir", "--limit", "2", "--depth", "1"]));
    let next = ["list-dir", "--offset", "3", "--limit", "2", "--depth", "1"];
    expect![[r#"
        exit 0
        --- stdout
        Absolute path: /repo
        src/
    "#]]
    .assert_eq(&eyelet(&tree, next));
}

#[test]
fn json_prints_the_envelope() {
    let tree = tree();
    expect![[r#"
        exit 0
        --- stdout
        {"ok":true,"data":{"content":"Absolute path: /repo/src\nmain.rs","success":true}}
    "#]]
    .assert_eq(&eyelet(&tree, ["list-dir", "--json", "src"]));
    expect![[r#"
        exit 1
        --- stdout
        {"ok":false,"error":{"code":"not_found","message":"failed to read directory: No such file or directory (os error 2)","hint":"the path is `/repo/gone`"}}
    "#]].assert_eq(&eyelet(&tree, ["list-dir", "--json", "gone"]));
}

#[test]
fn error_is_one_line_on_stderr() {
    let tree = tree();
    expect![[r#"
        exit 1
        --- stderr
        eyelet: failed to read directory: No such file or directory (os error 2); the path is `/repo/gone`
    "#]]
    .assert_eq(&eyelet(&tree, ["list-dir", "gone"]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: failed to read directory: Not a directory (os error 20); the path is `/repo/notes.txt`
    "#]]
    .assert_eq(&eyelet(&tree, ["list-dir", "notes.txt"]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: limit must be greater than zero
    "#]]
    .assert_eq(&eyelet(&tree, ["list-dir", "--limit", "0"]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: failed to read directory: No such file or directory (os error 2); the path is `/repo/a\nb\u{1b}[31m\u{202e}`
    "#]]
    .assert_eq(&eyelet(&tree, ["list-dir", "a\nb\u{1b}[31m\u{202e}"]));
}
