//! Which paths a turn that is confined to roots may open.

use std::path::Path;

use expect_test::expect;
use eyelet::{Root, TurnContext};
use serde_json::json;
use testkit::TempTree;

use crate::ask::{content, turn};

fn confined(root: &Path) -> TurnContext {
    turn(root).with_root(Root::open(root).unwrap())
}

fn read(turn: &TurnContext, path: &str) -> String {
    content(turn, "read", &json!({ "path": path }))
}

fn is_outside(answer: &str) -> bool {
    answer.starts_with("error outside_root: ")
}

#[test]
fn the_outside_error_lists_the_roots_and_how_to_add_one() {
    let tree = TempTree::new("f = x");
    expect!["error outside_root: path `/etc/passwd` is outside the roots (/repo); add a root that contains the path, or allow reading outside the roots"]
        .assert_eq(&tree.redact(&read(&confined(tree.path()), "/etc/passwd")));
}

#[test]
fn the_outside_error_does_not_reveal_whether_a_path_exists() {
    let tree = TempTree::new("THERE -> /etc/passwd\nABSENT -> /etc/ABSENT");
    let turn = confined(tree.path());
    let there = read(&turn, "/etc/passwd").replace("passwd", "X");
    assert!(is_outside(&there), "{there}");
    assert_eq!(there, read(&turn, "/etc/ABSENT").replace("ABSENT", "X"));
    let there = read(&turn, "THERE").replace("THERE", "X");
    assert!(is_outside(&there), "{there}");
    assert_eq!(there, read(&turn, "ABSENT").replace("ABSENT", "X"));
}

#[test]
fn dots_symlinks_and_similar_names_do_not_leave_the_root() {
    let tree = TempTree::new("sub/in = x");
    let beside = tree.beside();
    std::fs::write(beside.join("secret"), "CANARY").unwrap();
    let secret = beside.join("secret");
    tree.link("file", &secret);
    tree.link("dir", &beside);
    tree.link("up", "..");
    tree.link("relative", "../beside/secret");
    tree.link("first", "second");
    tree.link("second", "sub/third");
    tree.link("sub/third", &secret);
    let lookalike = tree.path().with_file_name("w-old");
    std::fs::create_dir(&lookalike).unwrap();
    std::fs::write(lookalike.join("f"), "CANARY").unwrap();
    let turn = confined(tree.path());
    for path in [
        "../beside/secret",
        "sub/../../beside/secret",
        "file",
        "dir/secret",
        "up/beside/secret",
        "relative",
        "first",
        "sub/third",
        "../w-old/f",
        "/..",
        "//etc/passwd",
        "/proc/self/root/etc/passwd",
        secret.to_str().unwrap(),
        lookalike.join("f").to_str().unwrap(),
    ] {
        let answer = read(&turn, path);
        assert!(is_outside(&answer), "{path}: {answer}");
    }
    for directory in ["dir", "up", "/"] {
        let path = tree.path().join(directory);
        let answer = content(&turn, "list_dir", &json!({ "dir_path": path }));
        assert!(is_outside(&answer), "{directory}: {answer}");
    }
}

#[test]
fn symlinks_and_dots_inside_the_root_work() {
    let tree =
        TempTree::new("sub/in = x\nrelative -> sub/in\nsub/up -> ../sub/in\nchain -> relative");
    tree.link("absolute", tree.path().join("sub/in"));
    tree.link("dir", tree.path().join("sub"));
    tree.link("sub/around", tree.path().join("dir/up"));
    let turn = confined(tree.path());
    for path in [
        "sub/in",
        "relative",
        "sub/up",
        "chain",
        "absolute",
        "dir/in",
        "dir/up",
        "sub/around",
        "sub/../sub/in",
        "../w/sub/in",
    ] {
        assert_eq!(read(&turn, path), "[lines 1-1 of 1]\nx", "{path}");
    }
    let listing = content(&turn, "list_dir", &json!({"dir_path": tree.at("dir")}));
    assert_eq!(tree.redact(&listing), "Absolute path: /repo/dir\naround@\nin\nup@");
}

#[test]
fn a_symlink_loop_is_an_error() {
    let tree = TempTree::new("a -> b\nb -> a");
    tree.link("c", tree.path().join("d"));
    tree.link("d", tree.path().join("c"));
    let turn = confined(tree.path());
    for path in ["a", "c"] {
        let answer = read(&turn, path);
        assert!(
            answer.starts_with("error io_error: ") && answer.contains("symbolic links"),
            "{answer}"
        );
    }
}

#[test]
fn a_root_opened_through_a_symlink_has_both_spellings() {
    let tree = TempTree::new("real/f = x\nalias -> real");
    let alias = tree.path().join("alias");
    let turn = turn(&alias).with_root(Root::open(&alias).unwrap());
    for path in ["f".to_owned(), tree.at("alias/f"), tree.at("real/f")] {
        assert_eq!(read(&turn, &path), "[lines 1-1 of 1]\nx", "{path}");
    }
}

#[test]
fn symlinks_may_lead_into_another_root() {
    let tree = TempTree::new(
        "a/f\nb/g = x\na/absolute\na/relative -> ../b/g\nc/h = CANARY\na/out -> ../c/h",
    );
    std::fs::remove_file(tree.path().join("a/absolute")).unwrap();
    tree.link("a/absolute", tree.path().join("b/g"));
    let turn =
        confined(&tree.path().join("a")).with_root(Root::open(tree.path().join("b")).unwrap());
    assert_eq!(read(&turn, "absolute"), "[lines 1-1 of 1]\nx");
    assert_eq!(read(&turn, "relative"), "[lines 1-1 of 1]\nx");
    assert_eq!(read(&turn, "../b/g"), "[lines 1-1 of 1]\nx");
    assert!(is_outside(&read(&turn, "out")));
}

#[test]
fn a_root_replaced_by_a_symlink_still_serves_its_directory() {
    let tree = TempTree::new("root/f = inside");
    let beside = tree.beside();
    std::fs::write(beside.join("f"), "CANARY").unwrap();
    let root = tree.path().join("root");
    let turn = confined(&root);
    std::fs::rename(&root, tree.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(&beside, &root).unwrap();
    assert_eq!(read(&turn, "f"), "[lines 1-1 of 1]\ninside");
}

#[test]
fn a_root_that_was_removed_is_not_found() {
    let tree = TempTree::new("root/f = inside");
    let root = tree.path().join("root");
    let turn = confined(&root);
    std::fs::remove_dir_all(&root).unwrap();
    assert!(read(&turn, "f").starts_with("error not_found: "));
    let answer = content(&turn, "list_dir", &json!({ "dir_path": root }));
    assert!(answer.starts_with("error not_found: "), "{answer}");
    let answer = content(&turn, "grep_files", &json!({ "pattern": "x", "path": root }));
    assert!(answer.starts_with("error not_found: "), "{answer}");
}

#[test]
fn a_hard_link_in_the_root_is_the_file_itself() {
    let tree = TempTree::new("");
    let outside = tree.beside().join("f");
    std::fs::write(&outside, "x").unwrap();
    std::fs::hard_link(&outside, tree.path().join("hard")).unwrap();
    assert_eq!(read(&confined(tree.path()), "hard"), "[lines 1-1 of 1]\nx");
}

#[test]
fn a_root_must_be_a_directory_and_absolute() {
    let tree = TempTree::new("f");
    assert!(Root::open(tree.path().join("f")).is_err());
    assert!(Root::open(tree.path().join("missing")).is_err());
    assert!(Root::open("relative").is_err());
}
