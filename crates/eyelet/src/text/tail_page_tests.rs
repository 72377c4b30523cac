#![allow(clippy::indexing_slicing, reason = "a test that panics is a test that fails")]

use super::TailScan;
use crate::text::line_page::{PageLines, PagePart, PageRequest};

/// The same result, computed from the whole stream.
fn naive(stream: &[u8], page: PageRequest) -> PageLines {
    let lines: Vec<&[u8]> = stream.split_inclusive(|byte| *byte == b'\n').collect();
    let mut shown: Vec<(String, bool)> = Vec::new();
    let mut bytes = 0;
    for (index, line) in lines.iter().enumerate().rev().take(page.limit as usize) {
        let (body, ending) = match line {
            [body @ .., b'\r', b'\n'] => (body, "\r\n"),
            [body @ .., b'\n'] => (body, "\n"),
            body => (*body, ""),
        };
        let text: Vec<char> = String::from_utf8_lossy(body).chars().collect();
        let start = (page.column - 1).min(text.len() as u64) as usize;
        let end = text.len().min(start + page.width);
        let window = text[start..end].iter().collect::<String>() + ending;
        bytes += window.len();
        if page.is_numbered {
            bytes += format!("{}\t", index + 1).len();
        }
        if bytes > page.bytes && !shown.is_empty() {
            break;
        }
        shown.push((window, end < text.len()));
    }
    PageLines {
        content: shown.iter().rev().map(|(text, _)| text.as_str()).collect(),
        offset: (lines.len() - shown.len()) as u64 + 1,
        lines_shown: shown.len() as u64,
        lines_truncated: shown.iter().filter(|(_, is_truncated)| *is_truncated).count() as u64,
        total_lines: lines.len() as u64,
    }
}

const PARTS: [&[u8]; 14] = [
    b"\n",
    b"\n",
    b"\n\n\n\n\n\n",
    b"\r\n",
    b"\r",
    b"a",
    b"bc",
    "é".as_bytes(),
    "\u{1F600}".as_bytes(),
    b"\xff",
    b"\xe2\x82",
    b"\0",
    b"\0\0\0\0\0",
    b"abcdefgh\n",
];

#[test]
fn random_tails_equal_the_naive_result() {
    testkit::each_seed(60_000, |random| {
        let count = random.usize(0..40);
        let stream: Vec<u8> =
            (0..count).flat_map(|_| PARTS[random.usize(0..PARTS.len())]).copied().collect();
        let page = PageRequest {
            part: PagePart::Tail,
            offset: 1,
            limit: random.u64(1..8),
            column: random.u64(1..6),
            width: random.usize(1..5),
            bytes: if random.bool() { usize::MAX } else { random.usize(0..30) },
            is_numbered: random.bool(),
        };
        let mut scan = TailScan::new(page);
        let mut rest = &stream[..];
        while !rest.is_empty() {
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            let length = if zeros > 0 && random.bool() {
                scan.push_hole(zeros as u64);
                zeros
            } else {
                let length = random.usize(1..=rest.len().min(12));
                scan.push(&rest[..length]);
                length
            };
            rest = &rest[length..];
        }
        let expected = naive(&stream, page);
        assert_eq!(scan.finish(), expected, "{page:?}, {}", stream.escape_ascii());
    });
}
