//! `read` shows what a naive reader of the whole file shows, and pages join to the file.

use std::fs;

use eyelet::internals::{StreamView, view_stream};
use eyelet::tools::{Keep, Read, ReadArgs, ReadReport, TextPage};
use eyelet::{SandboxPolicy, Tool as _, TurnContext};
use testkit::{Choices, NaivePage, TempTree, naive_read};

use crate::head_tail::naive_shown;
use crate::target::{Check, Target, chunks};

/// The target.
pub const TARGET: Target = Target { name: "pages", start };

const PARTS: [&[u8]; 16] = [
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"word ",
    b"\xff",
    b"\xe2\x82",
    b"\0",
    "\u{e9}".as_bytes(),
    "\u{20ac}".as_bytes(),
    "\u{1F600}".as_bytes(),
    b"\xf0\x9f",
    b"\x80",
    b"\xed\xa0\x80",
    b"\xc3",
    b"\xf4\x90",
];

const MARKS: [&[u8]; 3] = [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"];

/// A longer file has no more long lines, so that each input takes little time.
const MAX_BYTES: usize = 4000;

fn start() -> Check {
    let tree = TempTree::new("");
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Off).expect("the path is absolute");
    Box::new(move |choices| {
        let file = text(choices);
        fs::write(tree.path().join("f"), &file).expect("the tree is writable");
        check_page(&file, &turn, choices);
        check_joined(&file, &turn, choices);
        check_shown(&file, choices);
    })
}

/// A file of any bytes; some lines exceed the window and its byte limit.
fn text(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut file = Vec::new();
    for _ in 0..choices.usize(0..60) {
        match choices.u8(..) {
            0..20 if file.len() < MAX_BYTES => {
                file.extend(PARTS[choices.usize(0..PARTS.len())].repeat(choices.usize(400..2100)))
            }
            20..40 => file.push(choices.u8(..)),
            _ => file.extend(*choices.pick(&PARTS)),
        }
    }
    // The target `encodings` has files with a byte-order mark.
    if MARKS.iter().any(|mark| file.starts_with(mark)) {
        file.insert(0, b'a');
    }
    file
}

/// One page of the file `f`.
pub(crate) fn page(turn: &TurnContext, args: ReadArgs) -> TextPage {
    match Read.run(args, turn) {
        Ok(ReadReport::Text(page)) => page,
        other => panic!("not a page of text: {other:?}"),
    }
}

/// What of a page is compared.
pub(crate) fn compared(page: TextPage) -> NaivePage {
    NaivePage {
        content: page.content,
        lines_shown: page.lines_shown,
        total_lines: page.total_lines,
        truncated: page.truncated,
    }
}

fn check_page(file: &[u8], turn: &TurnContext, choices: &mut Choices<'_>) {
    let (offset, limit) = (choices.usize(1..20), choices.usize(1..2200));
    let column = if choices.bool() { 1 } else { choices.usize(1..1200) };
    let args = ReadArgs {
        offset: Some(offset as u64),
        limit: Some(limit as u64),
        column: Some(column as u64),
        ..ReadArgs::new("f")
    };
    let expected = naive_read(file, offset, limit.min(2000), column);
    assert_eq!(compared(page(turn, args)), expected);
}

fn check_joined(file: &[u8], turn: &TurnContext, choices: &mut Choices<'_>) {
    let whole = naive_read(file, 1, usize::MAX, 1);
    // Not too many pages.
    let limit = choices.u64(1..20).max(whole.total_lines / 8);
    let (mut joined, mut offset) = (String::new(), 1);
    loop {
        // With a label, eyelet does not guess one, which takes most of the time.
        let encoding = Some("utf-8".to_owned());
        let limit = Some(limit);
        let args = ReadArgs { offset: Some(offset), limit, encoding, ..ReadArgs::new("f") };
        let page = page(turn, args);
        joined += &page.content;
        match page.next_offset() {
            Some(next) => assert!(next > offset, "a page does not advance"),
            None => break,
        }
        offset += page.lines_shown;
    }
    assert_eq!(joined, whole.content);
}

/// The head and the tail of a stream that arrives in chunks.
fn check_shown(stream: &[u8], choices: &mut Choices<'_>) {
    let keep = *choices.pick(&[Keep::Head, Keep::Tail, Keep::Both]);
    let most = *choices.pick(&[24, 5_000]);
    let window = choices.usize(0..most);
    let (raw, _) = view_stream(chunks(stream, choices), keep, window);
    let expected = StreamView {
        shown: naive_shown(stream, keep, window),
        total_bytes: stream.len() as u64,
        lines: stream.split_inclusive(|byte| *byte == b'\n').count() as u64,
        held: raw.held.clone(),
    };
    assert_eq!(raw, expected);
    let is_held = raw.held.as_deref() == Some(stream);
    assert!(
        is_held || (raw.held.is_none() && stream.len() > window),
        "up to the window, all is held"
    );
}
