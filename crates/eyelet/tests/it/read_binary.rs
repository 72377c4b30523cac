//! How `read` shows binary files.

use std::os::unix::fs::PermissionsExt as _;

use expect_test::expect;
use eyelet::{Environment, ReplyBudget, SandboxPolicy, ToolInvocation, ToolRouter, TurnContext};
use serde_json::json;
use testkit::TempTree;

use crate::ask::{content, data, turn};

#[test]
fn a_binary_file_is_shown_as_hex_and_marked_in_the_envelope() {
    let tree = TempTree::new("");
    tree.file("program", [b"\x7fELF\x02\x01\x01\0\n".as_slice(), &[0xff; 19]].concat());
    let turn = turn(tree.path());
    expect![[r#"
        [binary: ELF 64-bit, 28 bytes; all 28 bytes as hex]
        00000000  7f 45 4c 46 02 01 01 00  0a ff ff ff ff ff ff ff  |.ELF............|
        00000010  ff ff ff ff ff ff ff ff  ff ff ff ff              |............|
    "#]]
    .assert_eq(&content(&turn, "read", &json!({"path": "program"})));
    let arguments = json!({"path": "program", "offset": 2, "limit": 1, "column": 19});
    expect![[r#"{"path":"program","content":"�","offset":2,"lines_shown":1,"total_lines":2,"truncated":false,"binary":true}"#]]
        .assert_eq(&data(&turn, "read", &arguments).to_string());
}

#[test]
fn the_text_form_of_a_binary_file_is_not_paged() {
    let tree = TempTree::new("");
    tree.file("data", [b"a\n".repeat(40_000).as_slice(), b"\0"].concat());
    tree.file("early", [b"a\n".repeat(4095).as_slice(), b"\0"].concat().repeat(151));
    let turn = turn(tree.path()).with_reply_budget(ReplyBudget::new(4096));
    let ask = |arguments| content(&turn, "read", &arguments);
    let shown = ask(json!({"path": "early"}));
    let header = "[binary: data, 1.2 MB; first 512 bytes as hex]\n00000000  61 0a 61";
    assert!(shown.starts_with(header), "{shown}");
    assert_eq!(shown.lines().count(), 33);
    for more in [json!({"offset": 9, "limit": 3, "column": 4}), json!({"tail": 3, "numbers": true})]
    {
        let mut arguments = more;
        arguments["path"] = json!("early");
        assert_eq!(ask(arguments), shown);
    }
    let call = ToolInvocation::new("read", r#"{"path":"early","limit":3}"#, &turn);
    let output = ToolRouter::new().call(&call).unwrap();
    assert_eq!((output.reply().unwrap(), output.next_offset()), (shown, None));
    // The NUL is after the first 8 KiB.
    assert!(ask(json!({"path": "data"})).starts_with("[lines 1-"));
}

#[test]
fn an_encoding_shows_a_binary_file_as_text() {
    let tree = TempTree::new("");
    tree.file("f", b"%PDF-1.7\none\0\ntwo\n");
    let turn = turn(tree.path());
    let arguments = json!({"path": "f", "encoding": "utf-8", "offset": 2, "limit": 1});
    assert_eq!(content(&turn, "read", &arguments), "[lines 2-2 of 3; next offset 3]\none\0\n");
    assert!(data(&turn, "read", &arguments).get("binary").is_none());
    let utf16: Vec<u8> = "ab\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    tree.file("f", &utf16);
    assert!(content(&turn, "read", &json!({"path": "f"})).starts_with("[binary: data, 6 bytes;"));
    let arguments = json!({"path": "f", "encoding": "utf-16le"});
    assert_eq!(content(&turn, "read", &arguments), "[lines 1-1 of 1]\nab\n");
}

#[test]
fn the_header_names_a_command_that_is_installed() {
    let tree = TempTree::new("bin/");
    tree.file("a.pdf", "%PDF-1.7\n");
    tree.file("a.tgz", b"\x1f\x8b\x08\0");
    let path = tree.path().join("bin");
    let ask = |policy: SandboxPolicy, file: &str| {
        let environment: Environment =
            [("PATH", path.as_os_str().to_owned())].into_iter().collect();
        let turn = TurnContext::new(tree.path(), policy).unwrap().with_environment(environment);
        content(&turn, "read", &json!({ "path": file })).lines().next().unwrap().to_owned()
    };
    assert_eq!(ask(SandboxPolicy::Full, "a.pdf"), "[binary: PDF, 9 bytes; all 9 bytes as hex]");
    for program in ["pdftotext", "tar"] {
        let file = tree.file(format!("bin/{program}"), "#!/bin/sh\n");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    assert_eq!(
        ask(SandboxPolicy::Full, "a.pdf"),
        "[binary: PDF, 9 bytes; all 9 bytes as hex; try `pdftotext FILE -`]"
    );
    assert_eq!(
        ask(SandboxPolicy::WorkspaceWrite, "a.tgz"),
        "[binary: gzip data, 4 bytes; all 4 bytes as hex; try `tar -tf FILE`]"
    );
    // No command can run.
    assert_eq!(ask(SandboxPolicy::Off, "a.pdf"), "[binary: PDF, 9 bytes; all 9 bytes as hex]");
}

#[test]
fn a_pseudo_file_with_nuls_is_binary_without_a_known_size() {
    let shown = content(&turn("/".as_ref()), "read", &json!({"path": "/proc/self/cmdline"}));
    assert!(shown.starts_with("[binary: data"), "{shown}");
    assert!(shown.contains(" as hex]\n00000000  "), "{shown}");
}
