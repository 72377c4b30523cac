//! The suggestion of `read` for a file that does not exist.

use expect_test::expect;
use eyelet::{DenyList, Root};
use serde_json::json;
use testkit::TempTree;

use crate::ask::{content, envelope, turn};

#[test]
fn a_missing_file_suggests_a_similar_name_in_its_directory() {
    let tree = TempTree::new("src/main.rs = x\nsrc/lib.rs = y\nsrc/mian/\nREADME.md = z");
    let turn = turn(tree.path());
    let ask = |path: &str| content(&turn, "read", &json!({ "path": path }));
    expect!["error not_found: path `src/mian.rs` cannot be read: No such file or directory (os error 2); did you mean `src/main.rs`?"]
        .assert_eq(&ask("src/mian.rs"));
    expect!["error not_found: path `readme` cannot be read: No such file or directory (os error 2); did you mean `README.md`?"]
        .assert_eq(&ask("readme"));
    for path in ["src/other.rs", "srk/main.rs", "src/mian.rs/", "nothing"] {
        let answer = ask(path);
        assert!(answer.starts_with("error not_") && !answer.contains("did you mean"), "{answer}");
    }
    expect![[r#"{"ok":false,"error":{"code":"not_found","message":"path `src/mian.rs` cannot be read: No such file or directory (os error 2)","details":"did you mean `src/main.rs`?"}}"#]]
        .assert_eq(&envelope(&turn, "read", &json!({"path": "src/mian.rs"})));
}

#[test]
fn nothing_denied_or_outside_the_roots_is_suggested() {
    let tree = TempTree::new(
        "root/secret.key = x\nroot/plain.txt = y\noutside.txt = z\nroot/link.txt -> ../outside.txt",
    );
    let root = tree.path().join("root");
    let deny = DenyList::empty().with_glob("*.key", &[&root]).unwrap();
    let turn = turn(&root).with_root(Root::open(&root).unwrap()).with_deny_list(deny);
    let ask = |path: &str| content(&turn, "read", &json!({ "path": path }));
    assert!(ask("plain.tx").ends_with("; did you mean `plain.txt`?"));
    for path in ["secret.ke", "secret", "lnk.txt", "../outsid.txt", "nowhere/plain.txt"] {
        assert!(!ask(path).contains("did you mean"), "{}", ask(path));
    }
}

#[test]
fn the_search_for_a_similar_name_is_bounded() {
    let tree = TempTree::new("");
    for number in 0..6000 {
        tree.file(format!("{number:04}{}", "x".repeat(240)), "");
    }
    let turn = turn(tree.path());
    let missing = "x".repeat(250);
    let answer = content(&turn, "read", &json!({ "path": missing }));
    assert!(answer.starts_with("error not_found") && !answer.contains("did you mean"), "{answer}");
}
