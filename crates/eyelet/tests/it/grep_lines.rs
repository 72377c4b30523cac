//! `grep_files` with `show`: the text, the envelope, and what an empty result says.

use std::os::unix::ffi::OsStrExt as _;

use expect_test::{Expect, expect};
use eyelet::{
    AttachmentMode, Envelope, FunctionCallError, ReplyBudget, SearchEngine, ToolInvocation,
    ToolRouter, TurnContext,
};
use serde_json::{Value, json};
use testkit::{TempTree, each_seed};

use crate::searching::{answer, turn};

/// The text reply to a model.
fn reply(tree: &TempTree, turn: &TurnContext, arguments: &str) -> String {
    let arguments = arguments.replace("/repo", tree.str());
    let call = ToolInvocation::new("grep_files", arguments, turn);
    match ToolRouter::new().call(&call).and_then(|output| output.reply()) {
        Ok(reply) => tree.redact(&reply),
        Err(FunctionCallError::RespondToModel(error)) => {
            tree.redact(&format!("error {}: {error}", error.code))
        }
        Err(fatal @ FunctionCallError::Fatal(_)) => panic!("{fatal}"),
    }
}

/// Checks the reply of both engines, and that the function form has the same content.
fn check(tree: &TempTree, arguments: &str, expected: Expect) {
    let turn = turn(tree);
    let embedded = reply(tree, &turn, arguments);
    let content = answer(tree, &turn, arguments);
    if let Some((content, _)) = content.rsplit_once("\nsuccess: ") {
        assert_eq!(content, embedded);
    }
    let rg = reply(tree, &turn.with_search_engine(SearchEngine::Rg), arguments);
    assert_eq!(embedded, rg, "the engines differ");
    expected.assert_eq(&embedded);
}

fn envelope(tree: &TempTree, turn: &TurnContext, arguments: &str) -> String {
    let arguments = arguments.replace("/repo", tree.str());
    let outcome = ToolRouter::new().call(&ToolInvocation::new("grep_files", arguments, turn));
    tree.redact(&Envelope::new(&outcome, AttachmentMode::Omit).to_json())
}

fn three_files() -> TempTree {
    let tree = TempTree::new(
        r"src/a.rs = one\ntwo foo\nthree\nfour\nfive\nsix foo\nseven foo\neight
        src/deep/b.rs = foo\r\nend
        c.txt = no",
    );
    tree.modified("src/a.rs", 1);
    tree.modified("src/deep/b.rs", 2);
    tree
}

#[test]
fn lines_are_grouped_by_file_newest_first() {
    check(
        &three_files(),
        r#"{"pattern":"foo","show":"lines"}"#,
        expect![[r#"
            [matches 1-4 of 4 in 2 files under /repo]
            src/deep/b.rs
            1:foo

            src/a.rs
            2:two foo
            6:six foo
            7:seven foo"#]],
    );
}

#[test]
fn context_is_shown_once_and_groups_are_separated() {
    check(
        &three_files(),
        r#"{"pattern":"foo","show":"lines","context":1}"#,
        expect![[r#"
            [matches 1-4 of 4 in 2 files under /repo]
            src/deep/b.rs
            1:foo
            2-end

            src/a.rs
            1-one
            2:two foo
            3-three
            --
            5-five
            6:six foo
            7:seven foo
            8-eight"#]],
    );
}

#[test]
fn a_match_on_another_page_is_context_here() {
    let tree = three_files();
    check(
        &tree,
        r#"{"pattern":"foo","show":"lines","context":1,"offset":2,"limit":2}"#,
        expect![[r#"
            [matches 2-3 in 1 file under /repo; more follow, next offset 4]
            src/a.rs
            1-one
            2:two foo
            3-three
            --
            5-five
            6:six foo
            7-seven foo"#]],
    );
    check(
        &tree,
        r#"{"pattern":"foo","show":"lines","context":2,"offset":4}"#,
        expect![[r#"
            [matches 4-4 of 4 in 1 file under /repo]
            src/a.rs
            5-five
            6-six foo
            7:seven foo
            8-eight"#]],
    );
    check(
        &tree,
        r#"{"pattern":"foo","show":"lines","offset":5}"#,
        expect!["error invalid_input: offset exceeds match count"],
    );
}

#[test]
fn a_file_shows_its_first_20_matches_unless_it_is_the_path() {
    let tree = TempTree::new("b = x");
    tree.file("a", "x\n".repeat(1234));
    tree.modified("b", 1);
    tree.modified("a", 2);
    let text = reply(&tree, &turn(&tree), r#"{"pattern":"x","show":"lines","offset":19}"#);
    expect![[r#"
        [matches 19-21 of 21 in 2 files under /repo]
        a
        19:x
        20:x
        … 1,214 more matches in this file; to see them, set path to it

        b
        1:x"#]]
    .assert_eq(&text);
    // The note is on the page that shows the 20th match, and only there.
    let text = reply(&tree, &turn(&tree), r#"{"pattern":"x","show":"lines","limit":19}"#);
    assert!(!text.contains('…'), "{text}");
    check(
        &tree,
        r#"{"pattern":"x","show":"lines","path":"a","offset":21,"limit":2}"#,
        expect![[r#"
            [matches 21-22 in /repo/a; more follow, next offset 23]
            21:x
            22:x"#]],
    );
    check(
        &tree,
        r#"{"pattern":"x","show":"lines","path":"/repo/a","offset":1234}"#,
        expect![[r#"
            [matches 1234-1234 of 1234 in /repo/a]
            1234:x"#]],
    );
}

#[test]
fn a_long_line_shows_the_part_around_its_first_match() {
    let tree = TempTree::new("");
    let long = |start: usize, end: usize| format!("{}NEEDLE{}", "é".repeat(start), "z".repeat(end));
    let lines = [long(300, 300), long(0, 300), long(300, 0), long(97, 97), "y".repeat(201)];
    tree.file("a", lines.join("\n"));
    let data = |arguments: &str| -> Value {
        serde_json::from_str(&envelope(&tree, &turn(&tree), arguments)).unwrap()
    };
    let text = reply(&tree, &turn(&tree), r#"{"pattern":"NEEDLE","show":"lines","context":1}"#);
    let shown: Vec<_> = text.lines().skip(2).collect();
    let part = |start: usize, end: usize| format!("{}NEEDLE{}", "é".repeat(start), "z".repeat(end));
    assert_eq!(shown[0], format!("1:301:…{}…", part(97, 97)));
    assert_eq!(shown[1], format!("2:1:{}…", part(0, 194)));
    assert_eq!(shown[2], format!("3:301:…{}", part(194, 0)));
    assert_eq!(shown[3], format!("4:{}", part(97, 97)));
    assert_eq!(shown[4], format!("5-{}…", "y".repeat(200)));
    let data = data(r#"{"pattern":"NEEDLE","show":"lines","limit":1}"#);
    assert_eq!(data["data"]["matches"][0]["column"], 301);
    assert_eq!(data["data"]["matches"][0]["text"], part(97, 97));
    // The column is that of `read`.
    let read = json!({"path": "a", "column": 301, "limit": 1}).to_string();
    let turn = turn(&tree);
    let output = ToolRouter::new().call(&ToolInvocation::new("read", read, &turn)).unwrap();
    assert!(output.reply().unwrap().lines().nth(1).unwrap().starts_with("NEEDLE"));
}

#[test]
fn control_characters_are_escaped_in_the_text_only() {
    let tree = TempTree::new("");
    tree.file("a", b"\tfoo \x1b[2J\xe2\x80\xae\x7f\r\nfoo\rbar\xff\n");
    tree.file("b\u{1b}\n", "foo\0bar\n");
    tree.modified("a", 1);
    let text = reply(&tree, &turn(&tree), r#"{"pattern":"foo","show":"lines"}"#);
    expect![[r#"
        [matches 1-2 of 2 in 1 file under /repo]
        a
        1:	foo \u{1b}[2J\u{202e}\u{7f}
        2:foo\rbar�"#]]
    .assert_eq(&text);
    let data = envelope(&tree, &turn(&tree), r#"{"pattern":"foo","show":"lines"}"#);
    let data: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(data["data"]["matches"][0]["text"], "\tfoo \u{1b}[2J\u{202e}\u{7f}");
    assert_eq!(data["data"]["matches"][1]["text"], "foo\rbar\u{fffd}");
    // A binary file is shown if it is the path.
    let named = json!({"pattern": "foo", "show": "lines", "path": "b\u{1b}\n"}).to_string();
    expect![[r#"
        [matches 1-1 of 1 in /repo/b\u{1b}\n]
        1:foo\u{0}bar"#]]
    .assert_eq(&reply(&tree, &turn(&tree), &named));
}

#[test]
fn lines_before_a_nul_are_shown_but_not_counted() {
    let tree = TempTree::new("");
    let mut text = "filler foo\n".repeat(3).into_bytes();
    text.extend(b"filler\n".repeat(20_000));
    text.extend(b"\0foo\n");
    tree.file("a", text);
    check(
        &tree,
        r#"{"pattern":"foo","show":"lines"}"#,
        expect![[r#"
            [matches 1-3 of 3 in 1 file under /repo]
            a
            1:filler foo
            2:filler foo
            3:filler foo"#]],
    );
    let turn = turn(&tree);
    expect!["No matches found.\n[searched 0 files; skipped 1 binary]"].assert_eq(&reply(
        &tree,
        &turn,
        r#"{"pattern":"foo","show":"count"}"#,
    ));
    let rg = turn.with_search_engine(SearchEngine::Rg);
    expect!["No matches found."].assert_eq(&reply(
        &tree,
        &rg,
        r#"{"pattern":"foo","show":"count"}"#,
    ));
}

#[test]
fn a_count_is_one_line_per_file() {
    let tree = three_files();
    tree.file("d", "foo\n".repeat(12_345));
    tree.modified("d", 9);
    check(
        &tree,
        r#"{"pattern":"foo","show":"count"}"#,
        expect![[r#"
            [files 1-3 of 3 under /repo; 12,349 matching lines]
            12345 d
            1 src/deep/b.rs
            3 src/a.rs"#]],
    );
    check(
        &tree,
        r#"{"pattern":"foo","show":"count","limit":1,"offset":2}"#,
        expect![[r#"
            [files 2-2 under /repo; 1 matching line; more follow, next offset 3]
            1 src/deep/b.rs"#]],
    );
    check(
        &tree,
        r#"{"pattern":"foo","show":"count","path":"src/a.rs"}"#,
        expect![[r#"
            [files 1-1 of 1 under /repo/src; 3 matching lines]
            3 a.rs"#]],
    );
}

#[test]
fn the_envelope_holds_matches_or_counts() {
    let tree = three_files();
    let turn = turn(&tree);
    let call = |arguments| envelope(&tree, &turn, arguments);
    expect![[r#"{"ok":true,"data":{"matches":[{"path":"/repo/src/a.rs","line":6,"column":5,"text":"six foo","before":["five"],"after":["seven foo"]}],"files":1,"more":0,"next_offset":4,"success":true}}"#]]
    .assert_eq(&call(r#"{"pattern":"foo","show":"lines","context":1,"offset":3,"limit":1}"#));
    expect![[r#"{"ok":true,"data":{"matches":[],"files":0,"total":0,"more":0,"success":false}}"#]]
        .assert_eq(&call(r#"{"pattern":"bar","show":"lines"}"#));
    expect![[r#"{"ok":true,"data":{"counts":[{"path":"/repo/src/deep/b.rs","lines":1},{"path":"/repo/src/a.rs","lines":3}],"files":2,"lines":4,"total":2,"success":true}}"#]]
        .assert_eq(&call(r#"{"pattern":"foo","show":"count"}"#));
    expect![[r#"{"ok":true,"data":{"counts":[{"path":"/repo/src/deep/b.rs","lines":1}],"files":1,"lines":1,"next_offset":2,"success":true}}"#]]
        .assert_eq(&call(r#"{"pattern":"foo","show":"count","limit":1}"#));
    expect![[r#"{"ok":true,"data":{"counts":[],"files":0,"lines":0,"total":0,"success":false}}"#]]
        .assert_eq(&call(r#"{"pattern":"bar","show":"count"}"#));
}

#[test]
fn context_is_at_most_5_and_only_for_lines() {
    let tree = three_files();
    for (arguments, expected) in [
        (r#"{"pattern":"foo","context":1}"#, "context requires show: \"lines\""),
        (r#"{"pattern":"foo","context":5,"show":"count"}"#, "context requires show: \"lines\""),
        (r#"{"pattern":"foo","context":6,"show":"lines"}"#, "context must be at most 5"),
    ] {
        assert_eq!(
            reply(&tree, &turn(&tree), arguments),
            format!("error invalid_input: {expected}")
        );
    }
    let files = reply(&tree, &turn(&tree), r#"{"pattern":"foo","context":0,"show":"files"}"#);
    assert_eq!(files, "/repo/src/deep/b.rs\n/repo/src/a.rs");
    let unknown = reply(&tree, &turn(&tree), r#"{"pattern":"foo","show":"all"}"#);
    assert!(unknown.contains("unknown variant `all`, expected one of `files`, `lines`, `count`"));
}

#[test]
fn an_empty_result_says_what_was_searched_and_skipped() {
    let tree = TempTree::new(
        ".git/
        .gitignore = ignored*
        ignored1 = foo
        ignored2/a = foo
        ignored2/b = foo
        .hidden = foo
        src/a = one
        src/b = two
        nul = a\\0foo
        note.md = foo",
    );
    tree.file(std::ffi::OsStr::from_bytes(b"bad\xff"), "foo");
    let turn = turn(&tree);
    let all = [
        r#"{"pattern":"bar"}"#,
        r#"{"pattern":"bar","show":"lines"}"#,
        r#"{"pattern":"bar","show":"count"}"#,
        r#"{"pattern":"bar","path":"src"}"#,
        r#"{"pattern":"bar","path":"src/a"}"#,
        r#"{"pattern":"foo","include":"src/*"}"#,
    ];
    let text: Vec<_> = all.iter().map(|arguments| reply(&tree, &turn, arguments)).collect();
    expect![[r#"
        No matches found.
        [searched 3 files; skipped 1 binary, 2 ignored, 1 with names that are not UTF-8]
        No matches found.
        [searched 3 files; skipped 1 binary, 2 ignored, 1 with names that are not UTF-8]
        No matches found.
        [searched 3 files; skipped 1 binary, 2 ignored, 1 with names that are not UTF-8]
        No matches found.
        [searched 2 files]
        No matches found.
        [searched 1 file]
        No matches found.
        [searched 2 files; skipped 1 ignored]
        [include has a /, so it starts at the working directory, not at path]"#]]
    .assert_eq(&text.join("\n"));
    let rg = turn.with_search_engine(SearchEngine::Rg);
    assert_eq!(reply(&tree, &rg, r#"{"pattern":"bar"}"#), "No matches found.");
    assert_eq!(
        answer(&tree, &rg, r#"{"pattern":"bar"}"#),
        "No matches found.\nsuccess: Some(false)"
    );
}

#[test]
fn a_budget_removes_whole_matches_with_their_context() {
    each_seed(30, |random| {
        let tree = TempTree::new("");
        for number in 0..random.usize(1..40) {
            let line = |random: &mut fastrand::Rng| {
                let word = ["needle ", "needle\u{1b}", "other", "é\t"][random.usize(..4)];
                word.repeat(random.usize(..60)) + "\n"
            };
            let text: String = (0..random.usize(..60)).map(|_| line(random)).collect();
            let name = format!("{}/{number}", "d".repeat(random.usize(1..200)));
            tree.file(&name, text);
            tree.modified(&name, random.u64(..9));
        }
        let context = random.u64(..6);
        let plain = turn(&tree);
        let budget = plain.clone().with_reply_budget(ReplyBudget::new(random.usize(4096..30_000)));
        let matches = |turn: &TurnContext, limit: u64| -> Vec<Value> {
            let (mut all, mut offset) = (Vec::new(), json!(1));
            while !offset.is_null() {
                let asked = json!({"pattern": "needle", "show": "lines", "context": context,
                    "limit": limit, "offset": offset});
                let call = ToolInvocation::new("grep_files", asked.to_string(), turn);
                let output = ToolRouter::new().call(&call).unwrap();
                let text = output.reply().unwrap();
                if let Some(budget) = turn.reply_budget() {
                    assert!(budget.fits(&text), "{} bytes", text.len());
                }
                assert!(!text.contains("bytes truncated]"), "{text}");
                let data = output.data(AttachmentMode::Omit).unwrap();
                let data: Value = serde_json::from_str(&data).unwrap();
                let page = data["matches"].as_array().unwrap();
                assert!(!page.is_empty() || data["total"] == 0);
                all.extend(page.iter().map(|found| json!([found["path"], found["line"]])));
                offset = data["next_offset"].clone();
            }
            all
        };
        assert_eq!(matches(&budget, 2000), matches(&plain, random.u64(1..50)));
    });
}

#[test]
fn the_first_match_of_a_page_is_shown_without_context_if_that_does_not_fit() {
    let tree = TempTree::new("");
    let wide = "\u{202e}".repeat(200);
    tree.file("a", format!("{wide}\n{wide}\n{}\n{wide}\n{wide}\n", "\u{202e}".repeat(199) + "x"));
    let turn = turn(&tree).with_reply_budget(ReplyBudget::new(4096));
    let text = reply(&tree, &turn, r#"{"pattern":"x","show":"lines","context":2}"#);
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.starts_with("[matches 1-1 of 1 in 1 file under /repo]\na\n3:\\u{202e}"), "{text}");
    let text = reply(&tree, &turn, r#"{"pattern":".","show":"lines"}"#);
    assert!(text.contains("; more follow, next offset "), "{text}");
}

#[test]
fn a_long_path_leaves_room_for_a_match() {
    let tree = TempTree::new("");
    let folder = vec!["\u{1}".repeat(50); 15].join("/");
    tree.file(format!("{folder}/{folder}/a"), "\u{202e}".repeat(199) + "x");
    let turn = turn(&tree).with_reply_budget(ReplyBudget::new(4096));
    for show in ["lines", "count"] {
        let asked = json!({"pattern": "x", "show": show, "path": folder}).to_string();
        let text = reply(&tree, &turn, &asked);
        assert!(!text.contains("bytes truncated]"), "{text}");
        assert!(text.ends_with('x') || show == "count", "{text}");
    }
}
