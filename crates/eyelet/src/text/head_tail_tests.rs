use super::*;

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
