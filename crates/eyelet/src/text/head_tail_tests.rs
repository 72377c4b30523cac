use super::*;

/// The same rule, applied to the whole stream at once.
fn naive(stream: &[u8], keep: Keep, window: usize) -> Shown {
    let text = String::from_utf8_lossy(stream);
    if text.len() <= window {
        return Shown::Whole(text.into_owned());
    }
    // Each character of the text, with the number of bytes it replaces.
    let mut units: Vec<(String, u64)> = Vec::new();
    for chunk in stream.utf8_chunks() {
        units.extend(chunk.valid().chars().map(|c| (c.to_string(), c.len_utf8() as u64)));
        if !chunk.invalid().is_empty() {
            units.push(("\u{fffd}".to_owned(), chunk.invalid().len() as u64));
        }
    }
    let take = |units: &mut dyn Iterator<Item = (String, u64)>, window: usize| {
        let mut taken = Vec::new();
        let mut room = window;
        for (unit, bytes) in units {
            if unit.len() > room {
                break;
            }
            room -= unit.len();
            taken.push((unit, bytes));
        }
        taken
    };
    let join = |units: Vec<(String, u64)>| Piece {
        bytes: units.iter().map(|unit| unit.1).sum(),
        text: units.into_iter().map(|unit| unit.0).collect(),
    };
    let head = |window| join(take(&mut units.iter().cloned(), window));
    let tail = |window| {
        let mut taken = take(&mut units.iter().rev().cloned(), window);
        taken.reverse();
        join(taken)
    };
    match keep {
        Keep::Head => Shown::Head(head(window)),
        Keep::Tail => Shown::Tail(tail(window)),
        Keep::Both => Shown::Both { head: head(window - window / 2), tail: tail(window / 2) },
    }
}

fn captured(chunks: &[&[u8]], keep: Keep, window: usize) -> Shown {
    let mut buffer = HeadTailBuffer::new(keep, window);
    let mut all = Vec::new();
    for chunk in chunks {
        if all.len() <= window {
            let held = buffer.all_bytes().expect("up to the window everything is held");
            assert_eq!(held.concat(), all);
        }
        buffer.push(chunk);
        all.extend_from_slice(chunk);
    }
    buffer.shown()
}

fn random_stream(random: &mut fastrand::Rng) -> Vec<u8> {
    let pieces: [&[u8]; 14] = [
        b"a",
        b"\n",
        b"bc",
        "é".as_bytes(),
        "€".as_bytes(),
        "😀".as_bytes(),
        b"\xff",
        b"\x80",
        b"\xf0\x9f",
        b"\xf0\x9f\x98",
        b"\xe2\x82",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xf4\x90",
    ];
    let mut stream = Vec::new();
    for _ in 0..random.usize(..40) {
        match random.u8(..10) {
            0 => stream.push(random.u8(..)),
            1 => stream.extend(std::iter::repeat_n(0x80 | random.u8(..64), random.usize(..9))),
            _ => stream.extend_from_slice(pieces[random.usize(..pieces.len())]),
        }
    }
    stream
}

#[test]
fn random_chunks_show_the_same_as_the_whole_stream() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..60_000 {
        let stream = random_stream(&mut random);
        let window = random.usize(..24);
        let keep = [Keep::Head, Keep::Tail, Keep::Both][round % 3];
        let mut chunks: Vec<&[u8]> = Vec::new();
        let mut rest = stream.as_slice();
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(random.usize(1..=rest.len().min(12)));
            chunks.push(chunk);
            rest = after;
        }
        assert_eq!(
            captured(&chunks, keep, window),
            naive(&stream, keep, window),
            "seed {seed}, round {round}: {stream:02x?} in {} chunks, {keep:?} {window}",
            chunks.len()
        );
    }
}

#[test]
fn large_windows_show_the_same_as_the_whole_stream() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for keep in [Keep::Head, Keep::Tail, Keep::Both] {
        let stream: Vec<u8> = (0..3_000).flat_map(|_| random_stream(&mut random)).collect();
        let chunks: Vec<&[u8]> = stream.chunks(random.usize(1..9_000)).collect();
        assert!(captured(&chunks, keep, 5_000) == naive(&stream, keep, 5_000), "seed {seed}");
    }
}

#[test]
fn memory_does_not_grow_with_the_stream() {
    let mut buffer = HeadTailBuffer::new(Keep::Both, 1_000);
    for _ in 0..100_000 {
        buffer.push(&[b'x'; 700]);
    }
    assert!(buffer.head.capacity() + buffer.tail.capacity() < 8_000);
}

#[test]
fn a_character_at_the_edge_is_dropped_not_replaced() {
    let stream = "aaa😀bbb".as_bytes();
    let piece = |text: &str, bytes| Piece { text: text.to_owned(), bytes };
    for window in 3..7 {
        assert_eq!(captured(&[stream], Keep::Head, window), Shown::Head(piece("aaa", 3)));
        assert_eq!(captured(&[stream], Keep::Tail, window), Shown::Tail(piece("bbb", 3)));
    }
    assert_eq!(captured(&[stream], Keep::Head, 7), Shown::Head(piece("aaa😀", 7)));
    assert_eq!(captured(&[stream], Keep::Tail, 7), Shown::Tail(piece("😀bbb", 7)));
}

#[test]
fn pieces_have_the_lines_of_the_whole() {
    for text in ["", "\n", "a", "a\n", "a\nb", "\n\n", "a\nb\n", "ab\r\ncd"] {
        for size in 1..=3 {
            let mut buffer = HeadTailBuffer::new(Keep::Head, 1);
            text.as_bytes().chunks(size).for_each(|piece| buffer.push(piece));
            buffer.push(b"");
            assert_eq!(buffer.total_bytes(), text.len() as u64, "{text:?}");
            let lines = text.split_inclusive('\n').count() as u64;
            assert_eq!(buffer.lines(), lines, "{text:?} in pieces of {size}");
        }
    }
}
