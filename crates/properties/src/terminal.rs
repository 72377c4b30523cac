//! Output for a terminal is folded as a naive terminal would show it, in any chunks.

use eyelet::internals::view_stream;
use eyelet::tools::{Keep, Shown};
use testkit::Choices;

use crate::head_tail::naive_shown;
use crate::target::{Check, Target, chunks};

/// The target.
pub const TARGET: Target = Target { name: "terminal", start };

/// The columns of a line; what is beyond them is shown as it comes.
const MAX_COLUMNS: usize = 64 * 1024;

fn start() -> Check {
    Box::new(
        |choices| {
            if choices.u8(0..4) == 0 { check_any(choices) } else { check_model(choices) }
        },
    )
}

/// Any bytes are folded to the same, in whatever chunks they arrive.
fn check_any(choices: &mut Choices<'_>) {
    let keep = *choices.pick(&[Keep::Head, Keep::Tail, Keep::Both]);
    let window = *choices.pick(&[4, 50, 3_000, 100_000]);
    let sizes = choices.bytes(16);
    let stream = choices.rest();
    let in_chunks = chunks(&stream, &mut Choices::from_bytes(&sizes));
    let (_, whole) = view_stream([&stream[..]], keep, window);
    let (_, folded) = view_stream(in_chunks, keep, window);
    let (Some((whole, redraws)), Some((folded, in_chunks))) = (whole, folded) else {
        return assert!(!stream.iter().any(|byte| b"\x1b\r\x08".contains(byte)), "not folded");
    };
    assert_eq!((folded.lines, in_chunks), (whole.lines, redraws));
    // Before the first sequence, bytes that are not UTF-8 are buffered as they are.
    if std::str::from_utf8(&stream).is_ok() {
        assert_eq!((folded.shown, folded.total_bytes), (whole.shown, whole.total_bytes));
    } else if let (Shown::Whole(folded), Shown::Whole(whole)) = (&folded.shown, &whole.shown) {
        assert_eq!(folded, whole);
    }
}

/// A stream whose parts are known is folded like the naive model.
fn check_model(choices: &mut Choices<'_>) {
    let keep = *choices.pick(&[Keep::Head, Keep::Tail, Keep::Both]);
    let window = *choices.pick(&[4, 50, 3_000, 100_000, 10_000_000]);
    let mut tokens = Vec::new();
    if choices.u8(0..64) == 63 {
        // A start without anything to fold.
        let lines = choices.usize(0..9_000);
        for part in ["plain \u{e9}", "line plain \u{e9}"].iter().cycle().take(lines) {
            tokens.extend([Token::Text((*part).to_owned()), Token::Newline]);
        }
    }
    tokens.extend((0..choices.usize(0..60)).map(|_| Token::chosen(choices)));
    let stream: Vec<u8> = tokens.iter().flat_map(Token::bytes).collect();
    let (raw, folded) = view_stream(chunks(&stream, choices), keep, window);
    assert_eq!(raw.shown, naive_shown(&stream, keep, window));

    let expected = Naive::fold(&tokens);
    let Some((folded, redraws)) = folded else {
        assert!(!stream.iter().any(|byte| b"\x1b\r\x08".contains(byte)), "not folded");
        return;
    };
    // Before the first sequence, bytes that are not UTF-8 are buffered as they are.
    if !stream.contains(&0xff) {
        assert_eq!(folded.shown, naive_shown(expected.text.as_bytes(), keep, window));
        assert_eq!(folded.total_bytes, expected.text.len() as u64);
    } else if let Shown::Whole(shown) = &folded.shown {
        assert_eq!(*shown, expected.text);
    }
    assert_eq!(folded.lines, expected.text.split_inclusive('\n').count() as u64);
    assert_eq!(redraws, expected.redraws);
}

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
    fn chosen(choices: &mut Choices<'_>) -> Token {
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
        let word = |choices: &mut Choices<'_>, most: usize| {
            let letters = ["a", "b", " ", "é", "€", "Z"];
            (0..choices.usize(1..most)).map(|_| *choices.pick(&letters)).collect()
        };
        match choices.u8(0..24) {
            0..=8 => Token::Text(word(choices, 12)),
            9 if choices.u8(0..64) == 63 => Token::Text(word(choices, 80_000)),
            9 | 10 => Token::Return,
            11 | 12 => Token::Backspace,
            13..=15 => Token::Newline,
            16 => Token::EraseToEnd,
            17 => Token::EraseToStart,
            18 => Token::EraseAll,
            19 => Token::Column(choices.usize(0..30)),
            20 => Token::Invalid,
            _ => Token::Dropped(DROPPED[choices.usize(0..DROPPED.len())]),
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
