#![allow(clippy::indexing_slicing, reason = "a test that panics is a test that fails")]

use super::{LineScan, PageLines, PagePart, PageRequest};

/// The same result, computed from the whole stream.
fn naive(stream: &[u8], page: PageRequest) -> PageLines {
    let mut found = PageLines { offset: page.offset, ..PageLines::default() };
    for line in stream.split_inclusive(|byte| *byte == b'\n') {
        found.total_lines += 1;
        if found.total_lines < page.offset || found.lines_shown == page.limit {
            continue;
        }
        let (body, ending) = match line {
            [body @ .., b'\r', b'\n'] => (body, "\r\n"),
            [body @ .., b'\n'] => (body, "\n"),
            body => (body, ""),
        };
        let text: Vec<char> = String::from_utf8_lossy(body).chars().collect();
        let start = (page.column - 1).min(text.len() as u64) as usize;
        let window = &text[start..text.len().min(start + page.width)];
        found.content.extend(window);
        found.content.push_str(ending);
        found.lines_shown += 1;
        found.lines_truncated += u64::from(start + page.width < text.len());
    }
    found
}

fn scan(stream: &[u8], page: PageRequest, random: &mut fastrand::Rng) -> PageLines {
    let mut scan = LineScan::new(page);
    let mut rest = stream;
    while !rest.is_empty() {
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        let length = random.usize(1..=rest.len().min(9));
        let (piece, after) = if zeros > 0 && random.bool() {
            scan.push_hole(zeros as u64);
            rest.split_at(zeros)
        } else {
            scan.push(&rest[..length]);
            rest.split_at(length)
        };
        assert!(!piece.is_empty());
        rest = after;
    }
    scan.finish()
}

fn random_stream(random: &mut fastrand::Rng) -> Vec<u8> {
    const PARTS: [&[u8]; 16] = [
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b"a",
        b"bc",
        "é".as_bytes(),
        "€".as_bytes(),
        "\u{1F600}".as_bytes(),
        b"\xff",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
        b"\x80",
        b"\0",
        b"\0\0\0\0\0",
        b"\xed\xa0\x80",
    ];
    (0..random.usize(0..40)).flat_map(|_| PARTS[random.usize(0..PARTS.len())]).copied().collect()
}

#[test]
fn random_pages_equal_the_naive_result() {
    for seed in 0..60_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let stream = random_stream(&mut random);
        let page = PageRequest {
            part: PagePart::FromOffset,
            offset: random.u64(1..8),
            limit: random.u64(1..6),
            column: random.u64(1..9),
            width: random.usize(1..5),
            bytes: usize::MAX,
            is_numbered: false,
        };
        let expected = naive(&stream, page);
        assert_eq!(
            scan(&stream, page, &mut random),
            expected,
            "seed {seed}, {page:?}, {:?}",
            stream.escape_ascii().to_string()
        );
    }
}

#[test]
fn a_window_starts_at_the_requested_character() {
    for character in ["a", "é", "€", "\u{1F600}"] {
        let line = character.repeat(100_000) + "\u{FFFD}end";
        for column in [1, 2, 32_768, 32_769, 99_990, 100_001, 100_004, 100_005, u64::MAX] {
            let mut scan = LineScan::new(PageRequest {
                part: PagePart::FromOffset,
                offset: 1,
                limit: 1,
                column,
                width: 500,
                bytes: usize::MAX,
                is_numbered: false,
            });
            line.as_bytes().chunks(70_001).for_each(|piece| scan.push(piece));
            let skip = usize::try_from(column - 1).unwrap();
            let expected: String = line.chars().skip(skip).take(500).collect();
            assert_eq!(scan.finish().content, expected, "column {column} of {character}");
        }
    }
}

#[test]
fn characters_split_between_pieces_count_once() {
    for before in 32 * 1024 - 4..=32 * 1024 {
        for after in 0..6 {
            let first = "a".repeat(before) + "é" + &"b".repeat(after);
            let line = first.clone() + "cdefgh";
            let column = (before + after + 4) as u64;
            let mut scan = LineScan::new(PageRequest {
                part: PagePart::FromOffset,
                offset: 1,
                limit: 1,
                column,
                width: 3,
                bytes: usize::MAX,
                is_numbered: false,
            });
            scan.push(first.as_bytes());
            scan.push(b"cdefgh");
            let expected: String = line.chars().skip(before + after + 3).take(3).collect();
            assert_eq!(scan.finish().content, expected, "{before} before, {after} after");
        }
    }
}

#[test]
fn a_hole_of_a_tebibyte_is_one_line() {
    let page = PageRequest {
        part: PagePart::FromOffset,
        offset: 1,
        limit: 10,
        column: 1,
        width: 3,
        bytes: usize::MAX,
        is_numbered: false,
    };
    let mut scan = LineScan::new(page);
    scan.push(b"one\nab");
    scan.push_hole(1 << 40);
    scan.push(b"c\nlast");
    let lines = scan.finish();
    assert_eq!(
        lines,
        PageLines {
            content: "one\nab\0\nlas".to_owned(),
            offset: 1,
            lines_shown: 3,
            lines_truncated: 2,
            total_lines: 3
        }
    );
}

#[test]
fn finishing_early_counts_the_open_line_and_shows_complete_ones() {
    let page = PageRequest {
        part: PagePart::FromOffset,
        offset: 1,
        limit: 10,
        column: 1,
        width: 3,
        bytes: usize::MAX,
        is_numbered: false,
    };
    let mut scan = LineScan::new(page);
    scan.push(b"a\nb\nc");
    let lines = scan.finish_early();
    assert_eq!((lines.content.as_str(), lines.lines_shown, lines.total_lines), ("a\nb\n", 2, 3));
}
