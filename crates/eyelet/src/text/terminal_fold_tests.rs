use testkit::each_seed;

use super::*;
use crate::text::head_tail::{Keep, Shown};
use crate::text::stream_buffer::StreamBuffer;
use crate::text::terminal_line::MAX_COLUMNS;

/// What a stream consists of.
#[derive(Clone, Debug)]
enum Token {
    Text(String),
    /// A byte that is not UTF-8.
    Invalid,
    Return,
    Backspace,
    Newline,
    EraseToEnd,
    EraseToStart,
    EraseAll,
    Column(usize),
    /// Something that is dropped.
    Dropped(&'static str),
}

impl Token {
    fn random(random: &mut fastrand::Rng) -> Token {
        const DROPPED: [&str; 8] = [
            "\x1b[31m",
            "\x1b[0;1m",
            "\x1b[2J",
            "\x1b[?25l",
            "\x1b]0;title\x07",
            "\x1b]8;;http://a\x1b\\",
            "\x1b(B",
            "\x1bPdata\x1b\\",
        ];
        let word = |random: &mut fastrand::Rng, most| {
            let letters = ["a", "b", " ", "é", "€", "Z"];
            (0..random.usize(1..most)).map(|_| letters[random.usize(..letters.len())]).collect()
        };
        match random.u8(0..24) {
            0..=8 => Token::Text(word(random, 12)),
            9 if random.u8(0..8) == 0 => Token::Text(word(random, 80_000)),
            9 | 10 => Token::Return,
            11 | 12 => Token::Backspace,
            13..=15 => Token::Newline,
            16 => Token::EraseToEnd,
            17 => Token::EraseToStart,
            18 => Token::EraseAll,
            19 => Token::Column(random.usize(0..30)),
            20 => Token::Invalid,
            _ => Token::Dropped(DROPPED[random.usize(..DROPPED.len())]),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Token::Text(text) => text.clone().into_bytes(),
            Token::Invalid => b"\xff".to_vec(),
            Token::Return => b"\r".to_vec(),
            Token::Backspace => b"\x08".to_vec(),
            Token::Newline => b"\n".to_vec(),
            Token::EraseToEnd => b"\x1b[K".to_vec(),
            Token::EraseToStart => b"\x1b[1K".to_vec(),
            Token::EraseAll => b"\x1b[2K".to_vec(),
            Token::Column(0) => b"\x1b[G".to_vec(),
            Token::Column(column) => format!("\x1b[{column}G").into_bytes(),
            Token::Dropped(sequence) => sequence.as_bytes().to_vec(),
        }
    }
}

/// The rule, applied to whole lines: one character is one column.
#[derive(Default)]
struct Naive {
    text: String,
    redraws: u64,
    line: Vec<Option<char>>,
    beyond: String,
    cursor: usize,
    changed: bool,
}

impl Naive {
    fn fold(tokens: &[Token]) -> Naive {
        let mut naive = Naive::default();
        for (place, token) in tokens.iter().enumerate() {
            match token {
                Token::Text(text) => text.chars().for_each(|c| naive.print(c)),
                Token::Invalid => naive.print('\u{fffd}'),
                Token::Newline => {
                    let after_return = place > 0 && matches!(tokens[place - 1], Token::Return);
                    naive.end_line(if after_return { "\r\n" } else { "\n" });
                }
                Token::Return => {
                    naive.end_stretch();
                    naive.cursor = 0;
                }
                Token::Backspace => {
                    naive.end_stretch();
                    naive.cursor = naive.cursor.saturating_sub(1);
                }
                Token::EraseToEnd => naive.erase(naive.cursor, usize::MAX),
                Token::EraseToStart => naive.erase(0, naive.cursor + 1),
                Token::EraseAll => naive.erase(0, usize::MAX),
                Token::Column(column) => naive.cursor = column.max(&1) - 1,
                Token::Dropped(_) => {}
            }
        }
        naive.end_line("");
        naive
    }

    fn print(&mut self, character: char) {
        if self.cursor >= MAX_COLUMNS {
            self.beyond.push(character);
        } else {
            if self.line.len() <= self.cursor {
                self.line.resize(self.cursor + 1, None);
            }
            self.changed |= self.line[self.cursor].is_some();
            self.line[self.cursor] = Some(character);
        }
        self.cursor += 1;
    }

    fn erase(&mut self, start: usize, end: usize) {
        for column in start..end.min(self.line.len()) {
            self.changed |= self.line[column].take().is_some();
        }
    }

    fn end_stretch(&mut self) {
        self.redraws += u64::from(self.changed);
        self.changed = false;
    }

    fn end_line(&mut self, line_end: &str) {
        self.end_stretch();
        while self.line.last() == Some(&None) {
            self.line.pop();
        }
        self.text.extend(self.line.drain(..).map(|column| column.unwrap_or(' ')));
        self.text.push_str(&std::mem::take(&mut self.beyond));
        self.text.push_str(line_end);
        self.cursor = 0;
    }
}

/// The buffer after the stream was added in random chunks.
fn pushed(stream: &[u8], keep: Keep, window: usize, random: &mut fastrand::Rng) -> StreamBuffer {
    let mut buffer = StreamBuffer::new(HeadTailBuffer::new(keep, window));
    let most = [2, 20, 5_000, 200_000][random.usize(..4)];
    let mut rest = stream;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(random.usize(1..most).min(rest.len()));
        buffer.push(chunk);
        rest = after;
    }
    buffer.finish();
    buffer
}

#[test]
fn random_streams_are_folded_like_the_naive_model() {
    each_seed(600, |random| {
        let mut tokens: Vec<Token> =
            (0..random.usize(0..60)).map(|_| Token::random(random)).collect();
        if random.bool() {
            // A start without anything to fold.
            let plain = |_| Token::Text("plain é\nline ".repeat(random.usize(0..9_000)));
            tokens.splice(0..0, (0..1).map(plain));
        }
        let stream: Vec<u8> = tokens.iter().flat_map(Token::bytes).collect();
        // Newlines in texts are tokens of their own.
        let mut split = Vec::new();
        for token in tokens {
            let Token::Text(text) = &token else {
                split.push(token);
                continue;
            };
            for part in text.split_inclusive('\n') {
                split.push(Token::Text(part.trim_end_matches('\n').to_owned()));
                if part.ends_with('\n') {
                    split.push(Token::Newline);
                }
            }
        }
        let expected = Naive::fold(&split);
        let keep = [Keep::Head, Keep::Tail, Keep::Both][random.usize(..3)];
        let window = [4, 50, 3_000, 100_000, 10_000_000][random.usize(..5)];
        let buffer = pushed(&stream, keep, window, random);
        match buffer.folded() {
            None => assert_eq!(find_special(&stream), None),
            Some((folded, redraws)) => {
                let mut whole = HeadTailBuffer::new(keep, window);
                whole.push(expected.text.as_bytes());
                // Before the first sequence, bytes that are not UTF-8 are buffered as they are.
                let text = |shown: Shown| format!("{shown:?}");
                if !stream.contains(&0xff) {
                    assert_eq!(text(folded.shown()), text(whole.shown()));
                    assert_eq!(folded.total_bytes(), whole.total_bytes());
                } else if let Shown::Whole(shown) = folded.shown() {
                    assert_eq!(shown, expected.text);
                }
                assert_eq!(folded.lines(), whole.lines());
                assert_eq!(redraws, expected.redraws);
            }
        }
        let mut raw = HeadTailBuffer::new(keep, window);
        raw.push(&stream);
        assert_eq!(buffer.raw().shown(), raw.shown());
        assert_eq!(buffer.raw().lines(), raw.lines());
    });
}

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
