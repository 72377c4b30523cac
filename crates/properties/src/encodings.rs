//! A page of a file in any encoding is the page of the file decoded as a whole.

use std::fs;

use encoding_rs::Encoding;
use eyelet::tools::ReadArgs;
use eyelet::{SandboxPolicy, TurnContext};
use testkit::{Choices, TempTree, naive_read};

use crate::pages::{compared, page};
use crate::target::{Check, Target};

/// The target.
pub const TARGET: Target = Target { name: "encodings", start };

const LABELS: [&str; 16] = [
    "utf-16le",
    "utf-16be",
    "gb18030",
    "shift_jis",
    "euc-jp",
    "big5",
    "windows-1252",
    "iso-2022-jp",
    "euc-kr",
    "utf-8",
    "latin1",
    "koi8-r",
    "macintosh",
    "windows-874",
    "x-user-defined",
    "utf-16",
];

const PARTS: [&[u8]; 16] = [
    b"\n",
    b"\r\n",
    b"\n\0",
    b"\0\n",
    b"a",
    b"word ",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\x81\x40",
    b"\xc4\xe3",
    b"\x1b$B",
    b"\x1b(B",
    b"\x3d\xd8\x00\xde",
    b"\x00\xd8",
    b"\x90\x30\x81\x30",
];

/// A longer file is not repeated further, so that each input takes little time.
const MAX_BYTES: usize = 4000;

fn start() -> Check {
    let tree = TempTree::new("");
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Off).expect("the path is absolute");
    Box::new(move |choices| {
        let file = text(choices);
        fs::write(tree.path().join("f"), &file).expect("the tree is writable");
        let label = *choices.pick(&LABELS);
        let (offset, limit) = (choices.usize(1..20), choices.usize(1..2200));
        let column = if choices.bool() { 1 } else { choices.usize(1..1200) };
        let args = ReadArgs {
            offset: Some(offset as u64),
            limit: Some(limit as u64),
            column: Some(column as u64),
            encoding: Some(label.to_owned()),
            ..ReadArgs::new("f")
        };
        let encoding = Encoding::for_label(label.as_bytes()).expect("a known label");
        let (decoded, _) = encoding.decode_with_bom_removal(&file);
        let expected = naive_read(decoded.as_bytes(), offset, limit.min(2000), column);
        assert_eq!(compared(page(&turn, args)), expected, "{label}");
        // Without a label, eyelet finds out the encoding itself; the page is valid all the same.
        let guessed = page(&turn, ReadArgs::new("f"));
        assert!(guessed.lines_shown <= guessed.total_lines);
    })
}

fn text(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut file = Vec::new();
    for _ in 0..choices.usize(0..60) {
        match choices.u8(..) {
            0..6 if file.len() < MAX_BYTES => {
                // A block that is read at once has 64 KiB.
                let most = if choices.u8(0..16) == 15 { 40_000 } else { 1000 };
                let times = choices.usize(400..most);
                file.extend(choices.pick(&PARTS).repeat(times));
            }
            6..80 => file.push(choices.u8(..)),
            _ => file.extend(*choices.pick(&PARTS)),
        }
    }
    file
}
