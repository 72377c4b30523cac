use std::fs;

use testkit::TempTree;

use super::*;

fn watch(tree: &TempTree, object: &str) -> Watch {
    let place = Place {
        path: tree.path().into(),
        root: tree.path().into(),
        objects: vec![object.into()],
        is_pinned: true,
    };
    let mut watch = Watch::new(&tree.path().join("mark"), None).unwrap();
    watch.add(&place).unwrap();
    watch
}

#[test]
fn names_that_differ_in_case_alone_are_reported() {
    let tree = TempTree::new("mark =");
    let mut watch = watch(&tree, ".mcp.json");
    fs::write(tree.path().join("other"), "").unwrap();
    assert!(watch.read().unwrap().unwrap().is_empty());
    // Some file systems take it for the same file.
    fs::write(tree.path().join(".MCP.json"), "").unwrap();
    let events = watch.read().unwrap().unwrap();
    assert!(events.iter().all(|event| event.path.ends_with(".MCP.json")) && !events.is_empty());
}

#[test]
fn a_limited_number_of_folders_is_watched() {
    let tree = TempTree::new("mark =\n.vscode/file =");
    for number in 0..MAX_FOLDERS * 2 {
        fs::create_dir(tree.path().join(format!(".vscode/{number}"))).unwrap();
    }
    let watch = watch(&tree, ".vscode");
    assert!(watch.is_incomplete && watch.folders.len() < MAX_FOLDERS + 10);
}

#[test]
fn endless_changes_end_a_look_at_them() {
    let tree = TempTree::new("mark =");
    let mut watch = watch(&tree, ".mcp.json");
    for number in 0..4 {
        fs::write(tree.path().join(number.to_string()), "").unwrap();
    }
    assert!(watch.read_at_most(4).unwrap().is_none());
    // The rest is still there.
    fs::write(tree.path().join(".mcp.json"), "").unwrap();
    assert!(!watch.read().unwrap().unwrap().is_empty());
}
