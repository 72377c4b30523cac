//! `grep_files`: its arguments, its page, its errors.

use expect_test::expect;
use eyelet::tools::{GrepFiles, GrepFilesArgs, SkippedFiles};
use eyelet::{AttachmentMode, Envelope, SearchEngine, Tool as _, ToolInvocation, ToolRouter};
use testkit::TempTree;

use crate::searching::{answer, check, check_in, turn, turn_with};

fn numbered(count: u64) -> TempTree {
    let tree = TempTree::new("");
    for number in 0..count {
        let name = format!("f{number:04}.rs");
        tree.file(&name, "foo TODO alpha\n");
        tree.modified(&name, number);
    }
    tree
}

#[test]
fn seed_match_with_default_limit() {
    let tree = numbered(101);
    let text = answer(&tree, &turn(&tree), r#"{"pattern":"TODO","path":"/repo"}"#);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 101);
    assert_eq!(lines[0], "/repo/f0100.rs");
    assert_eq!(lines[99], "/repo/f0001.rs");
    assert_eq!(lines[100], "success: Some(true)");
}

#[test]
fn seed_no_matches() {
    let tree = TempTree::new("a.rs = alpha");
    check(
        &tree,
        r#"{"pattern":"ZZZ_NOT_FOUND","path":"/repo"}"#,
        expect![[r#"
            No matches found.
            success: Some(false)"#]],
    );
}

#[test]
fn seed_glob_filtered() {
    let tree = numbered(7);
    tree.file("a.txt", "alpha");
    check(
        &tree,
        r#"{"pattern":"alpha","path":"/repo","include":"*.rs","limit":5}"#,
        expect![[r#"
            /repo/f0006.rs
            /repo/f0005.rs
            /repo/f0004.rs
            /repo/f0003.rs
            /repo/f0002.rs
            success: Some(true)"#]],
    );
}

#[test]
fn seed_limit_capped() {
    let tree = numbered(2001);
    for engine in [SearchEngine::Embedded, SearchEngine::Rg] {
        let turn = turn(&tree).with_search_engine(engine);
        let text = answer(&tree, &turn, r#"{"pattern":"foo","limit":5000}"#);
        assert_eq!(text.lines().count(), 2001);
        assert!(text.ends_with("\n/repo/f0001.rs\nsuccess: Some(true)"));
        let rest = answer(&tree, &turn, r#"{"pattern":"foo","limit":5000,"offset":2001}"#);
        assert_eq!(rest, "/repo/f0000.rs\nsuccess: Some(true)");
    }
}

#[test]
fn seed_path_missing() {
    check(
        &TempTree::new(""),
        r#"{"pattern":"foo","path":"/missing"}"#,
        expect![[r#"
            unable to access `/missing`: No such file or directory (os error 2)
            error: not_found"#]],
    );
}

#[test]
fn seed_empty_pattern() {
    check(
        &TempTree::new(""),
        r#"{"pattern":"   "}"#,
        expect![[r#"
            pattern must not be empty
            error: invalid_input"#]],
    );
}

#[test]
fn seed_rg_timeout() {
    let tree = TempTree::new("a = foo");
    let turn = turn(&tree).with_deadline(std::time::Instant::now());
    check_in(
        &tree,
        &turn,
        r#"{"pattern":"foo"}"#,
        expect![[r#"
            rg timed out after 0 seconds
            error: timed_out"#]],
    );
}

#[test]
fn the_envelope_holds_content_and_success() {
    let tree = TempTree::new("a = foo");
    let turn = turn(&tree);
    let call = |arguments: &str| {
        let outcome = ToolRouter::new().call(&ToolInvocation::new("grep_files", arguments, &turn));
        tree.redact(&Envelope::new(&outcome, AttachmentMode::Omit).to_json())
    };
    expect![[r#"{"ok":true,"data":{"content":"/repo/a","success":true}}"#]]
        .assert_eq(&call(r#"{"pattern":"foo"}"#));
    expect![[r#"{"ok":true,"data":{"content":"No matches found.","success":false}}"#]]
        .assert_eq(&call(r#"{"pattern":"bar"}"#));
    expect![[
        r#"{"ok":false,"error":{"code":"invalid_input","message":"pattern must not be empty"}}"#
    ]]
    .assert_eq(&call(r#"{"pattern":""}"#));
}

#[test]
fn matches_are_sorted_newest_first_then_by_path() {
    let tree = TempTree::new("b = x\n a/z = x\n a-b = x\n new = x\n old = x");
    for name in ["b", "a/z", "a-b"] {
        tree.modified(name, 50);
    }
    tree.modified("new", 51);
    tree.modified("old", 49);
    check(
        &tree,
        r#"{"pattern":"x"}"#,
        expect![[r#"
            /repo/new
            /repo/a-b
            /repo/a/z
            /repo/b
            /repo/old
            success: Some(true)"#]],
    );
}

#[test]
fn joined_pages_are_the_complete_result() {
    let tree = numbered(10);
    let turn = turn(&tree);
    let mut files = Vec::new();
    let mut offset = Some(1);
    while offset.is_some() {
        let args = GrepFilesArgs { limit: Some(3), offset, ..GrepFilesArgs::new("foo") };
        let report = GrepFiles.run(args, &turn).unwrap();
        assert_eq!(Some(report.offset), offset);
        files.extend(report.files);
        offset = report.next_offset;
    }
    let whole = GrepFiles.run(GrepFilesArgs::new("foo"), &turn).unwrap();
    assert_eq!(files, whole.files);
    assert_eq!(whole.next_offset, None);
    assert_eq!(whole.searched, Some(10));
    assert_eq!(whole.skipped, SkippedFiles::default());
}

#[test]
fn a_page_does_not_depend_on_the_order_of_searching() {
    let tree = TempTree::new("");
    let mut expected = Vec::new();
    for number in 0..900_u64 {
        let path = format!("{}/{}{}", number % 31, number % 2, number);
        let matches = number % 3 > 0;
        tree.file(&path, if matches { "foo" } else { "bar" });
        let seconds = 1000 + number * 7 % 10;
        tree.modified(&path, seconds);
        if matches {
            expected.push((std::cmp::Reverse(seconds), tree.at(&path)));
        }
    }
    expected.sort();
    let expected: Vec<_> = expected.into_iter().map(|(_, path)| path).collect();
    let turn = turn(&tree);
    for (offset, limit) in [(1, 1), (1, 7), (5, 100), (1, 599), (1, 600), (300, 299), (590, 2000)] {
        let (offset, limit) = (Some(offset), Some(limit));
        let args = GrepFilesArgs { offset, limit, ..GrepFilesArgs::new("foo") };
        let report = GrepFiles.run(args, &turn).unwrap();
        let (first, count) = (offset.unwrap() as usize - 1, limit.unwrap() as usize);
        let last = expected.len().min(first + count);
        assert_eq!(report.files, expected[first..last], "{offset:?} {limit:?}");
        let next = (last < expected.len()).then_some(last as u64 + 1);
        assert_eq!(report.next_offset, next, "{offset:?} {limit:?}");
        if count < 100 {
            assert!(report.searched.unwrap() < 300, "{:?}", report.searched);
        }
    }
}

#[test]
fn an_offset_past_the_matches_is_an_error_unless_there_are_none() {
    let tree = TempTree::new("a = foo");
    check(
        &tree,
        r#"{"pattern":"foo","offset":2}"#,
        expect![[r#"
            offset exceeds match count
            error: invalid_input"#]],
    );
    check(
        &tree,
        r#"{"pattern":"bar","offset":18446744073709551615}"#,
        expect![[r#"
            No matches found.
            success: Some(false)"#]],
    );
}

#[test]
fn numbers_are_checked_in_order() {
    let tree = TempTree::new("a = foo");
    let all = [
        r#"{"pattern":" ","limit":0,"offset":0}"#,
        r#"{"pattern":"(","limit":0,"offset":0,"path":"/missing"}"#,
        r#"{"pattern":"(","limit":"1","offset":0,"path":"/missing"}"#,
        r#"{"pattern":"(","limit":1.0,"include":"[","path":"/missing"}"#,
        r#"{"pattern":"(","include":"["}"#,
        r#"{"pattern":"foo","limit":-1}"#,
        r#"{"pattern":"foo","limitt":1}"#,
        r#"{}"#,
    ];
    let turn = turn(&tree);
    let text: Vec<_> = all.iter().map(|arguments| answer(&tree, &turn, arguments)).collect();
    expect![[r#"
        pattern must not be empty
        error: invalid_input
        limit must be greater than zero
        error: invalid_input
        offset must be a 1-indexed match number
        error: invalid_input
        unable to access `/missing`: No such file or directory (os error 2)
        error: not_found
        rg failed: error parsing glob '[': unclosed character class; missing ']'
        error: invalid_input
        failed to parse function arguments: `limit`: invalid value: integer `-1`, expected a whole number from 0 to 18446744073709551615 at line 1 column 27
        error: invalid_input
        failed to parse function arguments: unknown field `limitt`, expected one of `pattern`, `include`, `path`, `limit`, `offset`, `show`, `context` at line 1 column 25
        error: invalid_input
        failed to parse function arguments: missing field `pattern` at line 1 column 2
        error: invalid_input"#]]
    .assert_eq(&text.join("\n"));
}

#[test]
fn the_pattern_is_trimmed_and_a_blank_include_is_none() {
    let tree = TempTree::new("a = foo\n b = x foo y");
    for name in ["a", "b"] {
        tree.modified(name, 1);
    }
    check(
        &tree,
        r#"{"pattern":"  foo\t","include":"  ","path":""}"#,
        expect![[r#"
            /repo/a
            /repo/b
            success: Some(true)"#]],
    );
}

#[test]
fn a_bad_pattern_is_reported_in_ripgreps_words() {
    let tree = TempTree::new("a = foo");
    check(
        &tree,
        r#"{"pattern":"(foo"}"#,
        expect![[r#"
            rg failed: regex parse error:
                (?:(foo)
                ^
            error: unclosed group
            error: invalid_input"#]],
    );
    check(
        &tree,
        r#"{"pattern":"foo\\nbar"}"#,
        expect![[r#"
            rg failed: the literal "\n" is not allowed in a regex

            Consider enabling multiline mode with the --multiline flag (or -U for short).
            When multiline mode is enabled, new line characters can be matched.
            error: invalid_input"#]],
    );
    check(
        &tree,
        r#"{"pattern":"\\x00"}"#,
        expect![[r#"
            rg failed: pattern contains "\0" but it is impossible to match

            Consider enabling text mode with the --text flag (or -a for short). Otherwise,
            binary detection is enabled and matching a NUL byte is impossible.
            error: invalid_input"#]],
    );
}

#[test]
fn a_relative_path_starts_at_the_working_directory() {
    let tree = TempTree::new("sub/a = foo\n b = foo");
    check(
        &tree,
        r#"{"pattern":"foo","path":"sub/../sub/."}"#,
        expect![[r#"
            /repo/sub/../sub/a
            success: Some(true)"#]],
    );
}

#[test]
fn a_missing_rg_is_reported_with_a_hint() {
    let tree = TempTree::new("a = foo");
    let turn = turn_with(&tree, [("PATH", "relative:/nowhere:".into())]);
    let text = answer(&tree, &turn.with_search_engine(SearchEngine::Rg), r#"{"pattern":"foo"}"#);
    expect![[r#"
        failed to launch rg: not found on PATH; install ripgrep in a directory on PATH, or use the embedded search engine
        error: search_failed"#]]
    .assert_eq(&text);
}

#[test]
fn the_schema_names_the_arguments_in_order() {
    let definition = GrepFiles.definition();
    let properties = definition.input_schema["properties"].as_object().unwrap();
    let names: Vec<_> = properties.keys().map(String::as_str).collect();
    assert_eq!(names, ["pattern", "include", "path", "limit", "offset", "show", "context"]);
    assert!(definition.description.contains("100 results per page"));
    assert!(definition.description.contains("maximum 2000"));
}
