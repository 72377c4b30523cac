//! `eyelet doctor`.

use testkit::TempTree;
use testkit::cli::command;

#[test]
fn doctor_reports_the_tier_and_ends_with_what_to_do() {
    let tree = TempTree::new("");
    let output = command(&tree).arg("doctor").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "this machine can enforce nothing: {text}");
    let parts = ["kernel ", "namespaces ", "Landlock ", "seccomp ", " tier of the sandbox: "];
    for part in parts.into_iter().chain(["Limits on every machine:", "core.hooksPath"]) {
        assert!(text.contains(part), "{text}");
    }
    let last = text.split("\n\n").last().unwrap();
    assert!(last == "Nothing to do.\n" || last.starts_with("What to do:\n- "), "{text}");
}

#[test]
fn doctor_reports_the_same_as_json() {
    let tree = TempTree::new("");
    let output = command(&tree).args(["doctor", "--json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["tier"], "namespaces", "the tests require namespaces: {report}");
    assert!(report["machine"]["landlock_abi"].as_i64().unwrap() >= 6, "{report}");
    for list in ["gaps", "always", "advice"] {
        assert!(report[list].is_array(), "{report}");
    }
}

#[test]
fn doctor_leaves_nothing_behind() {
    let tree = TempTree::new("");
    let before = std::fs::read_dir(tree.beside()).unwrap().count();
    assert!(command(&tree).arg("doctor").status().unwrap().success());
    assert_eq!(std::fs::read_dir(tree.beside()).unwrap().count(), before);
}
