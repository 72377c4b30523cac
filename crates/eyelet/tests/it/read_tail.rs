//! The end of a file, line numbers, and files that grow.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use expect_test::expect;
use eyelet::ReplyBudget;
use serde_json::{Value, json};
use testkit::{TempTree, each_seed, naive_read};

use crate::ask::{content, data, turn};

fn numbered(lines: u64) -> String {
    (1..=lines).map(|number| format!("line {number}\n")).collect()
}

fn ask(file: impl AsRef<[u8]>, more: Value) -> String {
    let tree = TempTree::new("");
    tree.file("f", file);
    let mut arguments = json!({ "path": "f" });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    content(&turn(tree.path()), "read", &arguments)
}

#[test]
fn tail_shows_the_last_lines_with_their_numbers() {
    let file = numbered(3000);
    assert_eq!(ask(&file, json!({"tail": 2})), "[lines 2999-3000 of 3000]\nline 2999\nline 3000\n");
    assert_eq!(
        ask(&file, json!({"tail": 1, "column": 6, "numbers": true})),
        "[lines 3000-3000 of 3000]\n3000\t3000\n"
    );
    assert_eq!(ask("a\nb", json!({"tail": 1})), "[lines 2-2 of 2]\nb");
    assert_eq!(ask("a\nb", json!({"tail": 9})), "[lines 1-2 of 2]\na\nb");
    assert_eq!(ask("", json!({"tail": 9})), "[no lines at offset 1; 0 lines in total]");
    let most = ask(&file, json!({"tail": u64::MAX}));
    assert!(most.starts_with("[lines 1001-3000 of 3000]\nline 1001\n"));
    let utf16: Vec<u8> =
        ("\u{feff}".to_owned() + &file).encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(ask(utf16, json!({"tail": 1})), "[lines 3000-3000 of 3000]\nline 3000\n");
}

#[test]
fn tail_excludes_offset_and_limit_and_is_not_zero() {
    for more in [json!({"offset": 1}), json!({"limit": 2}), json!({"offset": 0, "limit": 1})] {
        let mut arguments = more;
        arguments["tail"] = json!(3);
        expect!["error invalid_input: tail cannot be combined with offset or limit; use only tail"]
            .assert_eq(&ask("a\n", arguments));
    }
    expect!["error invalid_input: tail must be greater than zero"]
        .assert_eq(&ask("a\n", json!({"tail": 0})));
    assert_eq!(ask("a\n", json!({"tail": 1, "offset": null})), "[lines 1-1 of 1]\na\n");
}

#[test]
fn a_tail_needs_the_whole_file() {
    let tree = TempTree::new("");
    tree.file("small", numbered(100_000));
    tree.file("large", numbered(1_000_000));
    let late = turn(tree.path()).with_deadline(Instant::now() - Duration::from_secs(1));
    for path in ["small", "large"] {
        expect!["error timed_out: read timed out after 0 seconds"].assert_eq(&content(
            &late,
            "read",
            &json!({"path": path, "tail": 1}),
        ));
    }
}

#[test]
fn lines_that_do_not_fit_are_dropped_from_the_front() {
    let tree = TempTree::new("");
    let file: String = (0..900).map(|line| "é".repeat(line % 200) + "\n").collect();
    tree.file("f", &file);
    for budget in [4096, 20_000] {
        for numbers in [false, true] {
            let turn = turn(tree.path()).with_reply_budget(ReplyBudget::new(budget));
            let arguments = json!({"path": "f", "tail": 900, "numbers": numbers});
            let reply = content(&turn, "read", &arguments);
            assert!(reply.len() <= budget && reply.len() > budget - 900, "{}", reply.len());
            let page = data(&turn, "read", &arguments);
            let shown = page["content"].as_str().unwrap();
            assert!(file.ends_with(shown) && !shown.is_empty());
            let lines = shown.lines().count() as u64;
            assert_eq!(page["offset"], 900 - lines + 1);
            assert_eq!((&page["truncated"], &page["total_lines"]), (&json!(false), &json!(900)));
            assert!(reply.starts_with(&format!("[lines {}-900 of 900]\n", 901 - lines)));
        }
    }
}

#[test]
fn tails_of_large_and_sparse_files_equal_the_naive_result() {
    use std::os::unix::fs::FileExt as _;
    each_seed(6, |random| {
        let tree = TempTree::new("");
        let path = tree.file("f", "");
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let size = random.u64(9 << 20..24 << 20);
        file.set_len(size).unwrap();
        for _ in 0..random.usize(0..4) {
            let start = random.u64(0..size);
            let line = "x".repeat(random.usize(0..5000)) + ["\n", "\r\n"][random.usize(0..2)];
            let length = random.u64(1..8 << 20).min(size - start) as usize;
            let text: Vec<u8> = line.bytes().cycle().take(length).collect();
            file.write_all_at(&text, start).unwrap();
        }
        let whole = std::fs::read(&path).unwrap();
        let total = naive_read(&whole, 1, 1, 1).total_lines;
        for tail in [1, 7, 2000] {
            let arguments = json!({"path": "f", "tail": tail, "encoding": "utf-8"});
            let page = data(&turn(tree.path()), "read", &arguments);
            let offset = total.saturating_sub(tail) + 1;
            let expected = naive_read(&whole, offset as usize, 2000, 1);
            assert_eq!(page["offset"], offset);
            assert_eq!(page["content"], expected.content);
            assert_eq!((&page["total_lines"], &page["truncated"]), (&json!(total), &json!(false)));
        }
    });
}

#[test]
fn numbers_prefix_each_line_of_the_text_form_only() {
    assert_eq!(ask("a\r\n\nc", json!({"numbers": true})), "[lines 1-3 of 3]\n1\ta\r\n2\t\n3\tc");
    assert_eq!(
        ask(numbered(12), json!({"numbers": true, "offset": 9, "limit": 2})),
        "[lines 9-10 of 12; next offset 11]\n9\tline 9\n10\tline 10\n"
    );
    // The last line ends before the window.
    assert_eq!(ask("abc\nd", json!({"numbers": true, "column": 3})), "[lines 1-2 of 2]\n1\tc\n2\t");
    let tree = TempTree::new("f = a\\nb");
    let page = data(&turn(tree.path()), "read", &json!({"path": "f", "numbers": true}));
    assert_eq!(page["content"], "a\nb");
}

#[test]
fn numbered_pages_fit_the_budget_and_join_to_the_file() {
    let tree = TempTree::new("");
    let file: String = (0..5000).map(|line| "x".repeat(line % 7) + "\n").collect();
    tree.file("f", &file);
    let turn = turn(tree.path()).with_reply_budget(ReplyBudget::new(4096));
    let (mut joined, mut offset) = (String::new(), 1);
    while offset <= 5000 {
        let arguments = json!({"path": "f", "offset": offset, "numbers": true});
        let reply = content(&turn, "read", &arguments);
        assert!(reply.len() <= 4096, "{} bytes", reply.len());
        for line in reply.split_inclusive('\n').skip(1) {
            let (number, text) = line.split_once('\t').unwrap();
            assert_eq!(number, offset.to_string());
            joined.push_str(text);
            offset += 1;
        }
    }
    assert_eq!(joined, file);
}

#[test]
fn a_file_that_grows_during_the_call_says_so() {
    let tree = TempTree::new("");
    let path = tree.file("f", numbered(20_000));
    let is_seen = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = std::fs::File::options().append(true).open(&path).unwrap();
            let mut written = 0_u64;
            while !is_seen.load(Ordering::Relaxed) && written < 1 << 28 {
                file.write_all(b"more\n").unwrap();
                written += 5;
            }
        });
        let says_so = (0..10_000).any(|_| {
            let reply = content(&turn(tree.path()), "read", &json!({"path": "f", "tail": 1}));
            reply.lines().next().unwrap().ends_with("; still growing]")
        });
        is_seen.store(true, Ordering::Relaxed);
        assert!(says_so);
    });
    let reply = content(&turn(tree.path()), "read", &json!({"path": "f", "limit": 1}));
    assert!(!reply.contains("growing"), "{reply}");
}
