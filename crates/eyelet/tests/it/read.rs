//! The rules of `read`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use eyelet::{AttachmentMode, CancelFlag, Envelope, ToolInvocation, ToolRouter};
use serde_json::{Value, json};
use testkit::TempTree;

use crate::ask::{content, data, envelope, text, turn};

/// Reads `file` of a tree that has it, with `more` arguments.
fn page(file: impl AsRef<[u8]>, more: Value) -> Value {
    let tree = TempTree::new("");
    tree.file("file.txt", file);
    let mut arguments = json!({ "path": "file.txt" });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    data(&turn(tree.path()), "read", &arguments)
}

fn check(file: impl AsRef<[u8]>, more: Value, expected: Expect) {
    expected.assert_eq(&page(file, more).to_string());
}

fn numbered(lines: u64) -> String {
    (1..=lines).map(|number| format!("line {number}\n")).collect()
}

#[test]
fn data_is_path_content_offset_lines_shown_total_lines_truncated() {
    check(
        "one\ntwo\n",
        json!({}),
        expect![[
            r#"{"path":"file.txt","content":"one\ntwo\n","offset":1,"lines_shown":2,"total_lines":2,"truncated":false}"#
        ]],
    );
}

#[test]
fn seed_demo_a_file_of_3000_lines_shows_2000() {
    let page = page(numbered(3000), json!({}));
    assert_eq!(page["content"], numbered(2000));
    assert_eq!(page["lines_shown"], 2000);
    assert_eq!(page["total_lines"], 3000);
    assert_eq!(page["truncated"], true);
}

#[test]
fn seed_demo_a_line_of_1000_characters_shows_500_and_is_not_truncated() {
    let page = page("x".repeat(1000), json!({}));
    assert_eq!(page["content"], "x".repeat(500));
    assert_eq!(page["truncated"], false);
    assert_eq!(page["total_lines"], 1);
}

#[test]
fn seed_demo_offset_1000_limit_500_shows_lines_1000_to_1499() {
    let page = page(numbered(3000), json!({"offset": 1000, "limit": 500}));
    let content = page["content"].as_str().unwrap();
    assert!(content.starts_with("line 1000\n") && content.ends_with("line 1499\n"));
    assert_eq!(page["offset"], 1000);
    assert_eq!(page["lines_shown"], 500);
    assert_eq!(page["truncated"], true);
}

#[test]
fn a_page_past_the_end_has_no_lines_but_the_total() {
    check(
        "a\nb\n",
        json!({"offset": 9}),
        expect![[
            r#"{"path":"file.txt","content":"","offset":9,"lines_shown":0,"total_lines":2,"truncated":false}"#
        ]],
    );
}

#[test]
fn an_empty_file_has_no_lines() {
    check(
        "",
        json!({}),
        expect![[
            r#"{"path":"file.txt","content":"","offset":1,"lines_shown":0,"total_lines":0,"truncated":false}"#
        ]],
    );
}

#[test]
fn the_last_page_is_not_truncated() {
    check(
        "a\nb\nc",
        json!({"offset": 2, "limit": 2}),
        expect![[
            r#"{"path":"file.txt","content":"b\nc","offset":2,"lines_shown":2,"total_lines":3,"truncated":false}"#
        ]],
    );
}

#[test]
fn offset_0_is_1_and_a_limit_above_2000_is_2000() {
    let page = page(numbered(2001), json!({"offset": 0, "limit": 5000, "column": 0}));
    assert_eq!((&page["offset"], &page["lines_shown"]), (&json!(1), &json!(2000)));
}

#[test]
fn limit_0_is_refused() {
    let tree = TempTree::new("f");
    expect!["error invalid_input: limit must be greater than zero"].assert_eq(&content(
        &turn(tree.path()),
        "read",
        &json!({"path": "f", "limit": 0}),
    ));
}

#[test]
fn line_endings_are_unchanged() {
    check(
        "a\r\nb\rc\n\r\n\n\r",
        json!({}),
        expect![[
            r#"{"path":"file.txt","content":"a\r\nb\rc\n\r\n\n\r","offset":1,"lines_shown":5,"total_lines":5,"truncated":false}"#
        ]],
    );
}

#[test]
fn a_long_line_shows_500_characters_and_then_its_own_ending() {
    for ending in ["\n", "\r\n", ""] {
        let page = page("é".repeat(501) + ending, json!({}));
        assert_eq!(page["content"], "é".repeat(500) + ending);
    }
    // The line ending does not count as a character of the line.
    let page = page("x".repeat(500) + "\r\n", json!({}));
    assert_eq!(page["content"], "x".repeat(500) + "\r\n");
}

#[test]
fn characters_of_4_bytes_are_never_split() {
    for before in 0..4 {
        let line = "x".repeat(before) + &"😀".repeat(600);
        let page = page(&line, json!({}));
        let expected: String = line.chars().take(500).collect();
        assert_eq!(page["content"], expected);
    }
}

#[test]
fn invalid_utf8_becomes_the_replacement_character() {
    check(
        b"ok\n\xff\xfe\n\xe2\x82\n\xf0\x9f\x98\x80\n\xff\xfea\0\n\0",
        json!({}),
        expect![[
            r#"{"path":"file.txt","content":"ok\n��\n�\n😀\n��a\u0000\n\u0000","offset":1,"lines_shown":6,"total_lines":6,"truncated":false,"binary":true}"#
        ]],
    );
}

#[test]
fn column_starts_each_line_at_that_character() {
    check(
        "héllo\nab\n\nxyz\r\nlast",
        json!({"column": 3}),
        expect![[
            r#"{"path":"file.txt","content":"llo\n\n\nz\r\nst","offset":1,"lines_shown":5,"total_lines":5,"truncated":false}"#
        ]],
    );
    check(
        "ab\r\n",
        json!({"column": u64::MAX}),
        expect![[
            r#"{"path":"file.txt","content":"\r\n","offset":1,"lines_shown":1,"total_lines":1,"truncated":false}"#
        ]],
    );
}

#[test]
fn windows_of_a_long_line_join_to_the_line() {
    let line: String = ('a'..='z').cycle().take(1733).chain("é€😀".chars()).collect();
    let mut joined = String::new();
    for column in (1..2000).step_by(500) {
        joined += page(&line, json!({ "column": column }))["content"].as_str().unwrap();
    }
    assert_eq!(joined, line);
}

#[test]
fn file_path_is_an_alias_of_path_but_not_both() {
    let tree = TempTree::new("f = x");
    let turn = turn(tree.path());
    expect![[r#"{"ok":true,"data":{"path":"f","content":"x","offset":1,"lines_shown":1,"total_lines":1,"truncated":false}}"#]]
        .assert_eq(&envelope(&turn, "read", &json!({"file_path": "f"})));
    expect!["error invalid_input: failed to parse function arguments: `path` and `file_path` are aliases; use only one"]
        .assert_eq(&content(&turn, "read", &json!({"file_path": "f", "path": "f"})));
    expect!["error invalid_input: failed to parse function arguments: missing field `path`"]
        .assert_eq(&content(&turn, "read", &json!({"offset": 1})));
    expect![[r#"error invalid_input: failed to parse function arguments: unknown field `file`, expected one of `path`, `file_path`, `offset`, `limit`, `column`, `tail`, `numbers`, `encoding`, `region` at line 1 column 7"#]]
        .assert_eq(&text(&turn, "read", r#"{"file":"f"}"#));
}

#[test]
fn a_relative_path_starts_at_the_working_directory() {
    let tree = TempTree::new("sub/f = x\ng = y");
    let turn = turn(&tree.path().join("sub"));
    for (path, content) in [("f", "x"), ("./f", "x"), ("../g", "y"), ("../sub/../g", "y")] {
        let page = data(&turn, "read", &json!({ "path": path }));
        assert_eq!((&page["path"], &page["content"]), (&json!(path), &json!(content)));
    }
}

#[test]
fn the_text_form_is_a_header_line_then_the_content() {
    let tree = TempTree::new("two = a\\nb\nempty\nbroken = a\\nb");
    tree.file("long", "x".repeat(501) + "\n" + &"y".repeat(1200) + "\nz\n");
    let turn = turn(tree.path());
    let ask = |arguments| content(&turn, "read", &arguments);
    expect!["[lines 1-2 of 2]\na\nb"].assert_eq(&ask(json!({"path": "two"})));
    expect!["[lines 1-1 of 2; next offset 2]\na\n"]
        .assert_eq(&ask(json!({"path": "two", "limit": 1})));
    expect!["[lines 2-2 of 2]\nb"].assert_eq(&ask(json!({"path": "two", "offset": 2})));
    expect!["[no lines at offset 500; 2 lines in total]"]
        .assert_eq(&ask(json!({"path": "two", "offset": 500})));
    expect!["[no lines at offset 1; 0 lines in total]"].assert_eq(&ask(json!({"path": "empty"})));
    let header = |arguments| ask(arguments).lines().next().unwrap().to_owned();
    expect!["[lines 1-3 of 3; 2 lines truncated, continue with column 501]"]
        .assert_eq(&header(json!({"path": "long"})));
    expect!["[lines 1-2 of 3; next offset 3; 1 line truncated, continue with column 1001]"]
        .assert_eq(&header(json!({"path": "long", "column": 501, "limit": 2})));
}

#[test]
fn unreadable_files_are_reported_with_the_reason() {
    let tree = TempTree::new("dir/\nfile\nshut = x\nloop -> loop\ndangling -> nowhere");
    let turn = turn(tree.path());
    let ask = |path: &str| content(&turn, "read", &json!({ "path": path }));
    expect![
        "error not_found: path `missing` cannot be read: No such file or directory (os error 2)"
    ]
    .assert_eq(&ask("missing"));
    expect![
        "error not_found: path `dangling` cannot be read: No such file or directory (os error 2)"
    ]
    .assert_eq(&ask("dangling"));
    expect!["error not_a_directory: path `file/x` cannot be read: Not a directory (os error 20)"]
        .assert_eq(&ask("file/x"));
    expect!["error io_error: path `loop` cannot be read: Too many levels of symbolic links (os error 40)"]
        .assert_eq(&ask("loop"));
    expect!["error not_a_file: path `dir` is not a regular file; use list_dir to list a directory"]
        .assert_eq(&ask("dir"));
    expect!["error invalid_input: path must not be empty"].assert_eq(&ask(""));
    expect!["error invalid_input: path must not contain a NUL character"].assert_eq(&ask("a\0b"));
    std::fs::set_permissions(tree.path().join("shut"), Permissions::from_mode(0o000)).unwrap();
    if testkit::is_root() {
        expect!["[lines 1-1 of 1]\nx"].assert_eq(&ask("shut"));
    } else {
        expect![
            "error permission_denied: path `shut` cannot be read: Permission denied (os error 13)"
        ]
        .assert_eq(&ask("shut"));
    }
}

#[test]
fn tildes_and_variables_in_paths_are_not_expanded() {
    let tree = TempTree::new("");
    let turn = turn(tree.path());
    for path in ["~", "$HOME/x", "%2e%2e/x", "..\\x", "file:///etc/passwd", "-", "*", " "] {
        let answer = content(&turn, "read", &json!({ "path": path }));
        assert!(answer.starts_with("error not_found: path `"), "{path}: {answer}");
        tree.file(path, "here");
        let answer = content(&turn, "read", &json!({ "path": path }));
        assert_eq!(answer, "[lines 1-1 of 1]\nhere");
    }
}

#[test]
fn a_fifo_a_socket_and_a_device_are_refused_at_once() {
    let tree = TempTree::new("");
    let _socket = UnixListener::bind(tree.path().join("socket")).unwrap();
    tree.fifos(["fifo"]);
    let turn = turn(tree.path());
    for path in ["fifo", "socket", "/dev/null", "/dev/zero", "/dev/urandom"] {
        let answer = content(&turn, "read", &json!({ "path": path }));
        assert!(answer.starts_with("error not_a_file: "), "{path}: {answer}");
    }
}

#[test]
fn kernel_pseudo_files_are_read_to_the_end() {
    let tree = TempTree::new("");
    let page = data(&turn(tree.path()), "read", &json!({"path": "/proc/self/status"}));
    assert!(page["content"].as_str().unwrap().starts_with("Name:\t"), "{page}");
    assert!(page["total_lines"].as_u64().unwrap() > 10);
}

#[test]
fn a_read_that_would_block_is_an_error() {
    let answer = content(&turn("/".as_ref()), "read", &json!({"path": "/proc/kmsg"}));
    // Root may open it and gets the available lines or an error. Other users may not open it.
    let expected = if testkit::is_root() {
        ["error io_error: ", "[lines 1-"]
    } else {
        ["error permission_denied: "; 2]
    };
    assert!(expected.iter().any(|start| answer.starts_with(start)), "{answer}");
}

#[test]
fn an_image_is_in_the_envelope_only_on_request() {
    let tree = TempTree::new("");
    let png = testkit::png(3, 2);
    tree.file("picture.txt", &png);
    let turn = turn(tree.path());
    let arguments = r#"{"path":"picture.txt"}"#;
    let outcome = ToolRouter::new().call(&ToolInvocation::new("read", arguments, &turn));
    assert_eq!(outcome.as_ref().unwrap().attachment().unwrap().bytes, png);
    let inline = Envelope::new(&outcome, AttachmentMode::Inline).to_json();
    let base64 = testkit::base64(&png);
    assert!(inline.ends_with(&format!(",\"base64\":\"{base64}\"}}}}")), "{inline}");
}

#[test]
fn image_bytes_after_the_start_are_text() {
    for file in [&b"GIF88a"[..], b"RIFF1234WEBX", b"\x89PNG", b" GIF89a"] {
        assert_eq!(page(file, json!({}))["total_lines"], 1);
    }
}

#[test]
fn a_cancel_stops_the_read() {
    let tree = TempTree::new("f = x");
    let flag = CancelFlag::default();
    flag.cancel();
    expect!["error cancelled: read was cancelled"].assert_eq(&content(
        &turn(tree.path()).with_cancel(flag),
        "read",
        &json!({"path": "f"}),
    ));
}

#[test]
fn a_timeout_returns_the_lines_read_and_an_inexact_total() {
    let tree = TempTree::new("");
    tree.file("f", numbered(100_000));
    let late = turn(tree.path()).with_deadline(Instant::now() - Duration::from_secs(1));
    let page = data(&late, "read", &json!({"path": "f", "limit": 2}));
    assert_eq!(page["content"], "line 1\nline 2\n");
    assert_eq!((&page["total_lines_exact"], &page["truncated"]), (&json!(false), &json!(true)));
    let total = page["total_lines"].as_u64().unwrap();
    assert!((2..100_000).contains(&total), "{total}");
    let header = content(&late, "read", &json!({"path": "f", "limit": 2}));
    assert!(header.starts_with(&format!("[lines 1-2 of at least {total}; next offset 3]")));
    // If the page was not reached, there is nothing to show.
    expect!["error timed_out: read timed out after 0 seconds"].assert_eq(&content(
        &late,
        "read",
        &json!({"path": "f", "offset": 99_999}),
    ));
}

#[test]
fn memory_does_not_grow_with_a_line_of_a_gibibyte() {
    testkit::in_own_process("read::memory_does_not_grow_with_a_line_of_a_gibibyte", || {
        let tree = TempTree::new("");
        let file = std::fs::File::create(tree.path().join("f")).unwrap();
        file.set_len(1 << 30).unwrap();
        let before = testkit::peak_memory();
        let page = data(&turn(tree.path()), "read", &json!({"path": "f"}));
        assert_eq!(page["total_lines"], 1);
        assert_eq!(page["content"], "\0".repeat(500));
        let grown = testkit::peak_memory() - before;
        assert!(grown < 16 << 20, "grew by {grown} bytes");
    });
}
