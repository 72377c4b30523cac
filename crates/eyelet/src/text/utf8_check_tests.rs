#![allow(clippy::indexing_slicing, reason = "a test that panics is a test that fails")]

use super::Utf8Check;

const PARTS: [&[u8]; 14] = [
    b"a",
    b"\n",
    b"\0",
    "é".as_bytes(),
    "€".as_bytes(),
    "\u{1F600}".as_bytes(),
    b"\xff",
    b"\x80",
    b"\xe2",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xf4\x90",
    b"\xed\xa0\x80",
    b"\xbf\xbf\xbf\xbf",
];

fn naive(bytes: &[u8]) -> u64 {
    bytes.utf8_chunks().map(|chunk| chunk.invalid().len() as u64).sum()
}

/// Adds `bytes` in small pieces; some runs of NULs as holes.
fn push(check: &mut Utf8Check, mut rest: &[u8], random: &mut fastrand::Rng) {
    while !rest.is_empty() {
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        if zeros > 0 && random.bool() {
            check.push_hole();
            rest = &rest[zeros..];
        } else {
            let (piece, after) = rest.split_at(random.usize(1..=rest.len().min(7)));
            check.push(piece);
            rest = after;
        }
    }
}

#[test]
fn bytes_that_are_not_utf8_are_counted_in_any_pieces_and_parts() {
    testkit::each_seed(60_000, |random| {
        let count = random.usize(0..12);
        let stream: Vec<u8> =
            (0..count).flat_map(|_| PARTS[random.usize(0..PARTS.len())]).copied().collect();
        let mut check = Utf8Check::new();
        let mut rest = &stream[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(random.usize(1..=rest.len()));
            if random.bool() {
                push(&mut check, piece, random);
            } else {
                let mut part = Utf8Check::part();
                push(&mut part, piece, random);
                check.append(part);
            }
            rest = after;
        }
        assert_eq!(check.finish(), naive(&stream), "{}", stream.escape_ascii());
    });
}
