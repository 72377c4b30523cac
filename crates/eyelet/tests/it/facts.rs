//! The numbers of a result.

use eyelet::{Facts, SandboxPolicy, ToolInvocation, ToolRouter, TurnContext};
use serde_json::{Value, json};
use testkit::{TempTree, png};

#[test]
fn facts_are_the_numbers_of_the_page() {
    let tree = TempTree::new(
        r"a.txt = one\ntwo\nthree\n
        b.txt = one\n
        c.txt = other\n
        binary = \0",
    );
    tree.file("image.png", png(30, 20));
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Full).unwrap();
    let facts = |tool: &str, arguments: Value| -> Facts {
        let call = ToolInvocation::new(tool, arguments.to_string(), &turn);
        ToolRouter::new().call(&call).unwrap().facts()
    };
    let page = |first: u64, last: u64| Some((first, last));
    let read = facts("read", json!({"path": "a.txt", "offset": 2, "limit": 5}));
    assert_eq!(read, Facts::page(2, 2));
    assert_eq!(read.range, page(2, 3));
    assert_eq!(facts("read", json!({"path": "a.txt", "offset": 9})).range, None);
    assert_eq!(facts("read", json!({"path": "image.png"})).pixels, Some(600));
    let listing = facts("list_dir", json!({"dir_path": tree.str(), "offset": 2, "limit": 2}));
    assert_eq!((listing.range, listing.found), (page(2, 3), None));
    let found = facts("find_files", json!({"pattern": "*.txt", "limit": 2, "offset": 2}));
    assert_eq!((found.range, found.found), (page(2, 3), Some(2)));
    for (show, matches) in [("files", 2), ("count", 2), ("lines", 3)] {
        let found = facts("grep_files", json!({"pattern": "one|two", "show": show}));
        assert_eq!((found.range, found.found), (page(1, matches), Some(matches)), "{show}");
    }
    let nothing = facts("grep_files", json!({"pattern": "nowhere"}));
    assert_eq!((nothing.range, nothing.found), (None, Some(0)));
    assert_eq!(facts("bash", json!({"command": "exit 3"})).exit_code, Some(3));
}

#[test]
fn bytes_withheld_by_read_are_bytes_of_the_file() {
    let tree = TempTree::new(r"text = one\ntwo\nthree\n");
    tree.file("invalid", b"\xff\xff\n");
    tree.file("utf16", b"\xff\xfea\0b\0\n\0");
    tree.file("binary", [0; 4096]);
    tree.file("small binary", [0; 100]);
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Full).unwrap();
    for (arguments, withheld) in [
        (json!({"path": "text"}), 0),
        (json!({"path": "text", "offset": 2, "limit": 1}), 10),
        (json!({"path": "text", "column": 2}), 3),
        (json!({"path": "text", "tail": 1}), 8),
        (json!({"path": "text", "tail": 9}), 0),
        (json!({"path": "invalid"}), 0),
        (json!({"path": "utf16"}), 0),
        (json!({"path": "binary"}), 4096 - 512),
        (json!({"path": "small binary"}), 0),
    ] {
        let call = ToolInvocation::new("read", arguments.to_string(), &turn);
        let output = ToolRouter::new().call(&call).unwrap();
        assert_eq!(output.withheld_bytes(), withheld, "{arguments}");
    }
}
