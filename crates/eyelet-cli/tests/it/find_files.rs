//! `eyelet find-files`.

use expect_test::expect;
use testkit::TempTree;
use testkit::cli::eyelet;

fn tree() -> TempTree {
    let tree = TempTree::new(
        "src/main.rs
        src/lib.rs
        .hidden.rs
        notes.txt",
    );
    tree.modified("src/main.rs", 2);
    tree.modified("src/lib.rs", 1);
    tree
}

#[test]
fn prints_matching_files_newest_first() {
    let tree = tree();
    expect![[r#"
        exit 0
        --- stdout
        /repo/src/main.rs
        --- stderr
        truncated; continue with --offset 2
    "#]]
    .assert_eq(&eyelet(&tree, ["find-files", "*.rs", "--limit", "1"]));
    expect![[r#"
        exit 0
        --- stdout
        /repo/src/lib.rs
    "#]]
    .assert_eq(&eyelet(&tree, ["find-files", "l*.rs", "src"]));
    expect![[r#"
        exit 0
        --- stdout
        {"ok":true,"data":{"content":"/repo/src/lib.rs","success":true,"files":1,"total":1}}
    "#]]
    .assert_eq(&eyelet(&tree, ["find-files", "--json", "src/lib.rs"]));
}

#[test]
fn no_match_exits_1_and_says_how_to_find_hidden_files() {
    let tree = tree();
    expect![[r#"
        exit 1
        --- stdout
        No matches found.
        --- stderr
        hidden or ignored files that match: 1; use --ignored show to list them
    "#]]
    .assert_eq(&eyelet(&tree, ["find-files", ".h*"]));
    expect![[r#"
        exit 0
        --- stdout
        /repo/.hidden.rs
    "#]]
    .assert_eq(&eyelet(&tree, ["find-files", ".h*", "--ignored", "show"]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: unable to access `/repo/notes.txt`: Not a directory (os error 20)
    "#]]
    .assert_eq(&eyelet(&tree, ["find-files", "*", "notes.txt"]));
}
