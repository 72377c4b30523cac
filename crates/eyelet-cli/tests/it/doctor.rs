//! `eyelet doctor`.

use testkit::TempTree;
use testkit::cli::command;

#[test]
fn doctor_tells_the_tier_and_what_it_leaves_open() {
    let tree = TempTree::new("");
    let output = command(&tree).arg("doctor").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "this machine can enforce nothing: {text}");
    let parts = ["kernel ", "namespaces ", "Landlock ", "seccomp ", "tier: ", "Not protected:"];
    for part in parts.into_iter().chain(["a repository that a command makes", "core.hooksPath"]) {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn doctor_tells_the_same_to_a_program() {
    let tree = TempTree::new("");
    let output = command(&tree).args(["doctor", "--json"]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["tier"], "namespaces", "the tests need namespaces: {told}");
    assert!(told["machine"]["landlock_abi"].as_i64().unwrap() >= 6, "{told}");
    assert!(told["gaps"].is_array() && told["always"].is_array() && told["advice"].is_array());
}

#[test]
fn doctor_leaves_nothing_behind() {
    let tree = TempTree::new("");
    let before = std::fs::read_dir(tree.beside()).unwrap().count();
    assert!(command(&tree).arg("doctor").status().unwrap().success());
    assert_eq!(std::fs::read_dir(tree.beside()).unwrap().count(), before);
}
