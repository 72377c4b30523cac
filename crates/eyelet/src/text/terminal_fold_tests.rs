use super::*;
use crate::text::head_tail::Keep;
use crate::text::stream_buffer::StreamBuffer;
use crate::text::terminal_line::MAX_COLUMNS;

/// The folded text and the number of redraws.
fn folded(stream: &str) -> (String, u64) {
    let mut buffer = StreamBuffer::new(HeadTailBuffer::new(Keep::Head, 1 << 20));
    buffer.push(stream.as_bytes());
    buffer.finish();
    let (folded, redraws) = buffer.folded().unwrap_or((buffer.raw().clone(), 0));
    (folded.shown().text().to_owned(), redraws)
}

#[test]
fn a_progress_bar_is_folded_to_its_last_state() {
    let bar: String = (0..=100).map(|percent| format!("\r{percent}% done\x1b[K")).collect();
    assert_eq!(
        folded(&format!("start\n{bar}\nend\n")),
        ("start\n100% done\nend\n".to_owned(), 100)
    );
    assert_eq!(folded("abc\x08\x08X"), ("aXc".to_owned(), 1));
    assert_eq!(folded("|\x08/\x08-\x08\\\x08done\n"), ("done\n".to_owned(), 4));
    // A redraw is as long as the stretch: the cursor does not return between a and b.
    assert_eq!(folded("xxxx\x1b[1Ga\x1b[3Gb\n"), ("axbx\n".to_owned(), 1));
}

#[test]
fn colours_are_dropped_without_a_redraw() {
    // What grep and gcc print.
    assert_eq!(folded("\x1b[01;31m\x1b[Kerror\x1b[m\x1b[K: x\n"), ("error: x\n".to_owned(), 0));
    assert_eq!(
        folded("\x1b]8;;file:///a\x1b\\link\x1b]8;;\x07 \x1b[?25lx"),
        ("link x".to_owned(), 0)
    );
    assert_eq!(folded("\x1b(Ba\x1b7b\x1b[3Ac\x1b[Jd\x1b[?Ke\x1b[>0Gf"), ("abcdef".to_owned(), 0));
}

#[test]
fn a_carriage_return_before_a_newline_is_a_line_end() {
    let stream = "a\r\nb\t \r\n\r\nc\r\r\nd\r";
    assert_eq!(folded(stream), ("a\r\nb\t \r\n\r\nc\r\nd".to_owned(), 0));
    // The erase comes after the return.
    assert_eq!(folded("abc\r\x1b[K\nd"), ("\nd".to_owned(), 1));
}

#[test]
fn a_sequence_that_is_not_ended_ends_with_its_line() {
    for sequence in ["\x1b", "\x1b[31", "\x1b]0;title", "\x1bPdata", "\x1b_text", "\x1b[?"] {
        let stream = format!("a{sequence}\nb\n{sequence}");
        assert_eq!(folded(&stream), ("a\nb\n".to_owned(), 0), "{sequence:?}");
    }
}

#[test]
fn other_control_characters_stay() {
    let text = "\0a\x07b\u{85}c\x0c\x7f\n";
    assert_eq!(folded(&format!("\x1b[m{text}")), (text.to_owned(), 0));
}

#[test]
fn text_beyond_64_kib_of_a_line_is_shown_as_it_comes() {
    let rest = "a".repeat(MAX_COLUMNS - 1);
    let expected = format!("X{rest}12|/-\n");
    assert_eq!(folded(&format!("a{rest}12|\x08/\x08-\rX\n")), (expected, 1));
    // The number of redraws does not matter, only the length of the line.
    let redrawn = "\rsome text".repeat(100_000);
    assert_eq!(folded(&format!("{redrawn}\n")), ("some text\n".to_owned(), 99_999));
}
