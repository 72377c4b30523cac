//! How `read` decodes files that are not plain UTF-8.

use encoding_rs::Encoding;
use expect_test::expect;
use eyelet::ReplyBudget;
use serde_json::{Value, json};
use testkit::{TempTree, each_seed};

use crate::ask::{content, data, turn};

/// `text` as UTF-16 after a byte-order mark.
fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
}

fn encoded(text: &str, label: &str) -> Vec<u8> {
    let (bytes, _, has_errors) = Encoding::for_label(label.as_bytes()).unwrap().encode(text);
    assert!(!has_errors, "{label} lacks a character");
    bytes.into_owned()
}

/// The data and the text form of a file with these bytes.
fn both(file: impl AsRef<[u8]>, more: Value) -> (Value, String) {
    let tree = TempTree::new("");
    tree.file("f", file);
    let mut arguments = json!({ "path": "f" });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let turn = turn(tree.path());
    (data(&turn, "read", &arguments), content(&turn, "read", &arguments))
}

#[test]
fn a_byte_order_mark_selects_the_encoding_and_is_hidden() {
    let text = "héllo\r\nwörld 😀\n漢字";
    for file in [
        ["\u{feff}", text].concat().into_bytes(),
        utf16(text, u16::to_le_bytes),
        utf16(text, u16::to_be_bytes),
    ] {
        let (data, shown) = both(&file, json!({}));
        assert_eq!(
            data,
            json!({"path": "f", "content": text, "offset": 1, "lines_shown": 3, "total_lines": 3, "truncated": false})
        );
        assert_eq!(shown, format!("[lines 1-3 of 3]\n{text}"));
    }
    for mark in [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"] {
        assert_eq!(both(mark, json!({})).1, "[no lines at offset 1; 0 lines in total]");
    }
    // Only the first one is a mark.
    assert_eq!(both("\u{feff}\u{feff}a", json!({})).0["content"], "\u{feff}a");
}

#[test]
fn pages_and_columns_of_decoded_text_are_those_of_its_characters() {
    let text: String = (1..=3000).map(|line| format!("{line} ü€😀\n")).collect();
    let (page, shown) =
        both(utf16(&text, u16::to_be_bytes), json!({"offset": 2999, "limit": 1, "column": 6}));
    assert_eq!((&page["content"], &page["total_lines"]), (&json!("ü€😀\n"), &json!(3000)));
    assert_eq!(shown, "[lines 2999-2999 of 3000; next offset 3000]\nü€😀\n");
    let long = "漢".repeat(501);
    let (_, shown) = both(encoded(&long, "shift_jis"), json!({"encoding": "shift_jis"}));
    assert_eq!(
        shown,
        format!(
            "[lines 1-1 of 1; 1 line truncated, continue with column 501]\n{}",
            "漢".repeat(500)
        )
    );
}

#[test]
fn the_encoding_argument_wins_over_a_byte_order_mark() {
    let ask =
        |file: &[u8], label: &str| both(file, json!({ "encoding": label })).0["content"].clone();
    assert_eq!(ask(b"caf\xe9", "latin1"), "café");
    assert_eq!(ask(b"\xc4\xe3\xba\xc3", "GBK"), "你好");
    assert_eq!(ask(b"\xef\xbb\xbfa", "windows-1252"), "ï»¿a");
    assert_eq!(ask(b"\xff\xfea\0", "utf-8"), "\u{fffd}\u{fffd}a\0");
    assert_eq!(ask(b"\xef\xbb\xbfa", "utf-8"), "a");
    assert_eq!(ask(b"\xff\xfea\0b\0", "utf-16le"), "ab");
    assert_eq!(ask(b"a\0b\0", "utf-16le"), "ab");
    // Half a character at the end.
    assert_eq!(ask(b"a\0b", "utf-16le"), "a\u{fffd}");
    // An empty label is absent.
    assert_eq!(ask(b"\xff\xfea\0", ""), "a");
}

#[test]
fn an_unknown_encoding_is_an_error_that_names_a_few() {
    let tree = TempTree::new("f = x");
    let ask =
        |label: &str| content(&turn(tree.path()), "read", &json!({"path": "f", "encoding": label}));
    expect!["error invalid_input: encoding `klingon` is not known; use a WHATWG label such as utf-8, utf-16le, windows-1252, shift_jis or gb18030"]
        .assert_eq(&ask("klingon"));
    for label in ["utf-32", "replacement", "iso-2022-kr", "utf\n8", &"x".repeat(9000)] {
        assert!(ask(label).starts_with("error invalid_input: encoding `"), "{label}");
    }
}

#[test]
fn the_header_counts_bytes_that_are_not_utf8() {
    let header = |file: &[u8], more: Value| both(file, more).1.lines().next().unwrap().to_owned();
    assert_eq!(header("é\n".as_bytes(), json!({})), "[lines 1-1 of 1]");
    // Most bytes above ASCII are UTF-8, so no encoding is suggested.
    let mixed = ["é€".as_bytes(), b"\xff\n\xe2\x82\n"].concat();
    assert_eq!(header(&mixed, json!({})), "[lines 1-2 of 2; 3 bytes are not UTF-8]");
    assert_eq!(
        header(&mixed, json!({"limit": 1})),
        "[lines 1-1 of 2; next offset 2; 3 bytes are not UTF-8]"
    );
    let one = ["é€".as_bytes(), b"\xff"].concat();
    assert_eq!(header(&one, json!({"encoding": "utf-8"})), "[lines 1-1 of 1; 1 byte is not UTF-8]");
    let many = ["é".repeat(3000).as_bytes(), &[0xff; 1214]].concat();
    assert_eq!(
        header(&many, json!({})),
        "[lines 1-1 of 1; 1 line truncated, continue with column 501; 1,214 bytes are not UTF-8]"
    );
}

#[test]
fn the_header_suggests_the_likely_encoding() {
    for (text, label) in [
        ("这是一个测试文件，里面有一些中文字符。我们希望能够正确地识别它的编码。\n", "gb18030"),
        ("これは日本語の文章です。文字コードを判定するための例です。\n", "shift_jis"),
        ("Größe und Länge, schön für Mädchen über Straße, natürlich größer\n", "windows-1252"),
        ("Съешь же ещё этих мягких французских булок, да выпей чаю\n", "windows-1251"),
    ] {
        let file = encoded(&text.repeat(3), label);
        let (page, shown) = both(&file, json!({}));
        let expected: String = String::from_utf8_lossy(&file).into_owned();
        assert_eq!(page["content"], expected, "the lossy rule stays");
        let header = shown.lines().next().unwrap();
        assert!(header.ends_with(&format!(" not UTF-8; try encoding={label}]")), "{header}");
        assert_eq!(both(&file, json!({"encoding": label})).0["content"], text.repeat(3));
    }
}

#[test]
fn no_encoding_is_suggested_for_a_file_that_it_cannot_decode() {
    // Shift_JIS, except for one byte at the end of a large file.
    let mut file =
        encoded(&"これは日本語の文章です。文字コードの例です。\n".repeat(20_000), "shift_jis");
    assert!(both(&file, json!({"limit": 1})).1.contains("; try encoding=shift_jis]"));
    file.extend(b"\xff\n");
    let (_, shown) = both(&file, json!({"limit": 1}));
    let header = shown.lines().next().unwrap();
    assert!(header.ends_with(" bytes are not UTF-8]"), "{header}");
}

/// UTF-16 decoded without the library that eyelet uses.
fn naive_utf16(file: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = file.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text = char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{fffd}'));
    text.collect::<String>().trim_start_matches('\u{feff}').to_owned()
}

#[test]
fn random_utf16_text_is_decoded_like_the_standard_library() {
    each_seed(300, |random| {
        let units: Vec<u16> = std::iter::once(0xfeff)
            .chain((0..random.usize(0..400)).map(|_| match random.u8(0..6) {
                0 => u16::from(b'\n'),
                1 => random.u16(0xd800..0xe000),
                2 => random.u16(..),
                _ => random.u16(0x20..0x7f),
            }))
            .collect();
        for (to_bytes, from_bytes) in [
            (u16::to_le_bytes as fn(u16) -> [u8; 2], u16::from_le_bytes as fn([u8; 2]) -> u16),
            (u16::to_be_bytes, u16::from_be_bytes),
        ] {
            let file: Vec<u8> = units.iter().copied().flat_map(to_bytes).collect();
            let expected = naive_utf16(&file, from_bytes);
            // A second mark is text.
            if units.get(1) != Some(&0xfeff) {
                assert_eq!(both(&file, json!({})).0["content"], expected);
            }
        }
    });
}

#[test]
fn pages_of_decoded_text_within_a_budget_join_to_the_text() {
    let text: String = (0..3000).map(|line| "é漢😀x".repeat(line % 40) + "\r\n").collect();
    let tree = TempTree::new("");
    tree.file("f", utf16(&text, u16::to_le_bytes));
    let turn = turn(tree.path()).with_reply_budget(ReplyBudget::new(4096));
    let (mut joined, mut offset) = (String::new(), 1);
    loop {
        let page = data(&turn, "read", &json!({"path": "f", "offset": offset}));
        joined += page["content"].as_str().unwrap();
        offset += page["lines_shown"].as_u64().unwrap();
        if page["truncated"] == false {
            break;
        }
    }
    assert_eq!(joined, text);
}

#[test]
fn a_large_file_with_a_byte_order_mark_or_bad_bytes_is_counted_in_blocks() {
    // Above the size from which threads count the lines; characters span the blocks.
    let body = "漢字\n".repeat(3_000_000 / 2);
    let (page, shown) = both("\u{feff}".to_owned() + &body, json!({"offset": 1_500_000}));
    assert_eq!((&page["content"], &page["total_lines"]), (&json!("漢字\n"), &json!(1_500_000)));
    assert_eq!(shown, "[lines 1500000-1500000 of 1500000]\n漢字\n");
    let mut bytes = body.into_bytes();
    for place in (1..4).map(|block| (block << 22) - 1).chain([7, bytes.len() - 2]) {
        if place < bytes.len() {
            bytes[place] = 0xff;
        }
    }
    let invalid: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    let (_, shown) = both(&bytes, json!({"limit": 1, "offset": 9}));
    assert!(shown.contains(&format!("; {invalid} bytes are not UTF-8]")), "{shown}");
}

#[test]
fn memory_does_not_grow_with_a_decoded_line() {
    let test = "read_encodings::memory_does_not_grow_with_a_decoded_line";
    testkit::in_own_process(test, || {
        let tree = TempTree::new("");
        let file = std::fs::File::create(tree.path().join("f")).unwrap();
        file.set_len(200 << 20).unwrap();
        let before = testkit::peak_memory();
        let arguments = json!({"path": "f", "encoding": "utf-16le", "column": 9_000_000});
        let page = data(&turn(tree.path()), "read", &arguments);
        assert_eq!((&page["total_lines"], &page["content"]), (&json!(1), &json!("\0".repeat(500))));
        let grown = testkit::peak_memory() - before;
        assert!(grown < 16 << 20, "grew by {grown} bytes");
    });
}
