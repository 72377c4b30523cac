//! `eyelet call`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use expect_test::expect;
use eyelet::limits::MAX_ARGUMENT_BYTES;
use testkit::TempTree;
use testkit::cli::{eyelet, eyelet_with_stdin, same};

#[test]
fn result_is_one_line_of_json() {
    let tree = TempTree::new("a.txt = one\\ntwo\\n");
    expect![[r#"
        exit 0
        --- stdout
        {"ok":true,"data":{"path":"a.txt","content":"one\ntwo\n","offset":1,"lines_shown":2,"total_lines":2,"truncated":false}}
    "#]]
    .assert_eq(&eyelet(&tree, ["call", "read", r#"{"path":"a.txt"}"#]));
}

#[test]
fn error_is_one_line_of_json() {
    let tree = TempTree::new("");
    expect![[r#"
        exit 1
        --- stdout
        {"ok":false,"error":{"code":"invalid_input","message":"dir_path must be an absolute path","details":"the working directory is `/repo`"}}
    "#]]
    .assert_eq(&tree.redact(&eyelet(&tree, ["call", "list_dir", r#"{"dir_path":"."}"#])));
}

#[test]
fn unknown_tool_is_an_error_that_lists_the_tools() {
    let tree = TempTree::new("");
    expect![[r#"
        exit 1
        --- stdout
        {"ok":false,"error":{"code":"unknown_tool","message":"unknown tool `list-dir`, expected one of list_dir, find_files, grep_files, read, bash, jobs"}}
    "#]].assert_eq(&eyelet(&tree, ["call", "list-dir", "{}"]));
}

#[test]
fn dash_reads_the_arguments_from_stdin() {
    let tree = TempTree::new("a.txt = one");
    expect![[r#"
        exit 0
        --- stdout
        {"ok":true,"data":{"path":"a.txt","content":"one","offset":1,"lines_shown":1,"total_lines":1,"truncated":false}}
    "#]].assert_eq(&eyelet_with_stdin(
        &tree,
        &["call", "read", "-"],
        b"{\"path\":\n\"a.txt\"}\n",
    ));
}

#[test]
fn empty_stdin_is_an_error() {
    let tree = TempTree::new("");
    expect![[r#"
        exit 1
        --- stdout
        {"ok":false,"error":{"code":"invalid_input","message":"failed to parse function arguments: EOF while parsing a value at line 1 column 0"}}
    "#]].assert_eq(&eyelet_with_stdin(&tree, &["call", "read", "-"], b""));
}

#[test]
fn invalid_utf8_in_the_arguments_is_an_error() {
    let tree = TempTree::new("");
    let bytes = b"{\"path\":\"\xff\"}";
    let expected = expect![[r#"
        exit 1
        --- stdout
        {"ok":false,"error":{"code":"invalid_input","message":"failed to parse function arguments: invalid utf-8 sequence of 1 bytes from index 9"}}
    "#]];
    let words = [OsStr::new("call"), OsStr::new("read"), OsStr::from_bytes(bytes)];
    expected.assert_eq(&same([
        eyelet_with_stdin(&tree, &["call", "read", "-"], bytes),
        eyelet(&tree, words),
    ]));
}

#[test]
fn too_many_bytes_on_stdin_are_an_error() {
    let tree = TempTree::new("");
    let mut json = b"{\"path\":\"".to_vec();
    json.resize(MAX_ARGUMENT_BYTES + 1, b'a');
    expect![[r#"
        exit 1
        --- stdout
        {"ok":false,"error":{"code":"too_large","message":"arguments on stdin exceed 8388608 bytes"}}
    "#]].assert_eq(&eyelet_with_stdin(&tree, &["call", "read", "-"], &json));
}

#[test]
fn text_prints_the_reply_for_a_model() {
    let tree = TempTree::new("a.txt = one\\ntwo\\n\nd/b.txt");
    let arguments = r#"{"path":"a.txt","limit":1}"#;
    expect![[r#"
        exit 0
        --- stdout
        [lines 1-1 of 2; next offset 2]
        one
    "#]]
    .assert_eq(&eyelet(&tree, ["call", "--text", "read", arguments]));
    let arguments = format!(r#"{{"dir_path":"{}"}}"#, tree.str());
    expect![[r#"
        exit 0
        --- stdout
        Absolute path: /repo
        a.txt
        d/
          b.txt
    "#]]
    .assert_eq(&eyelet(&tree, ["call", "list_dir", &arguments, "--text"]));
    expect![[r#"
        exit 0
        --- stdout
        No matches found.
        [searched 2 files]
    "#]]
    .assert_eq(&eyelet(&tree, ["call", "grep_files", r#"{"pattern":"x"}"#, "--text"]));
}

#[test]
fn text_prints_errors_to_stderr() {
    let tree = TempTree::new("");
    expect![[r#"
        exit 1
        --- stderr
        eyelet: path `gone` cannot be read: No such file or directory (os error 2)
    "#]]
    .assert_eq(&eyelet(&tree, ["call", "--text", "read", r#"{"path":"gone"}"#]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: failed to parse function arguments: expected a JSON object
    "#]]
    .assert_eq(&eyelet(&tree, ["call", "--text", "read", "[]"]));
}

#[test]
fn image_has_its_bytes_as_base64() {
    let tree = TempTree::new("");
    tree.file("dot.png", testkit::png(1, 1));
    expect![[r#"
        exit 0
        --- stdout
        {"ok":true,"data":{"path":"dot.png","type":"image","mime_type":"image/png","bytes":70,"base64":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADUlEQVR4AQECAP3/AAAAAgABfgUN0gAAAABJRU5ErkJggg=="}}
    "#]].assert_eq(&eyelet(&tree, ["call", "read", r#"{"path":"dot.png"}"#]));
}

#[test]
fn background_job_is_refused() {
    let tree = TempTree::new("");
    let refused = [r#""background":true"#, r#""on_timeout":"background""#].map(|argument| {
        let arguments = format!(r#"{{"command":"touch made",{argument}}}"#);
        eyelet(&tree, ["call", "bash", &arguments])
    });
    expect![[r#"
        exit 1
        --- stdout
        {"ok":false,"error":{"code":"invalid_input","message":"background jobs are not available: a job belongs to a session, and this call has no session"}}
    "#]]
    .assert_eq(&same(refused));
    assert!(!tree.path().join("made").exists());
}
