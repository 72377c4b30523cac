//! Keeps the start and the end of a stream in constant memory.
//!
//! The shown text is part of what `String::from_utf8_lossy` returns for the whole stream. Only the
//! bytes at both ends are buffered; they are decoded when the stream has ended.

use crate::names::{named, named_argument};
use crate::text::reply_budget::TextSize;
use crate::text::truncate;

/// A character has at most four bytes, so three extra bytes complete the one at the window's edge.
const EDGE_BYTES: usize = 3;

/// The part of a long output stream that a reply shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// The start of the stream.
    #[default]
    Head,
    /// The end of the stream.
    Tail,
    /// The start and the end of the stream, each with half of the size limit.
    Both,
}

named!(Keep, "part of a stream", { Head = "head", Tail = "tail", Both = "both" });
named_argument!(Keep);

/// The part of an output stream that a reply shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shown {
    /// The whole stream.
    Whole(String),
    /// The start of the stream; more follows.
    Head(Piece),
    /// The end of the stream; more precedes it.
    Tail(Piece),
    /// The start and the end of the stream; more is between them.
    Both {
        /// The start of the stream.
        head: Piece,
        /// The end of the stream.
        tail: Piece,
    },
}

impl Shown {
    /// The end of the stream if only that is shown, otherwise its start.
    pub(crate) fn text(&self) -> &str {
        match self {
            Shown::Whole(text) => text,
            Shown::Head(piece) | Shown::Tail(piece) => &piece.text,
            Shown::Both { head, .. } => &head.text,
        }
    }
}

/// A continuous part of an output stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// The part as text; U+FFFD replaces bytes that are not UTF-8.
    pub text: String,
    /// How many bytes of the stream this part represents.
    pub bytes: u64,
}

/// The head and the tail of a stream.
#[derive(Clone, Debug)]
pub(crate) struct HeadTailBuffer {
    keep: Keep,
    head_window: usize,
    tail_window: usize,
    /// The first bytes.
    head: Vec<u8>,
    /// The last bytes that are not in `head`.
    tail: Vec<u8>,
    total_bytes: u64,
    newlines: u64,
    /// The length of the line that is not ended yet.
    open_line: usize,
    /// The longest open line that can be taken back.
    max_taken_back: usize,
}

impl HeadTailBuffer {
    /// A buffer that shows at most `window` bytes of text.
    pub(crate) fn new(keep: Keep, window: usize) -> Self {
        let (head_window, tail_window) = match keep {
            Keep::Head => (window, 0),
            Keep::Tail => (0, window),
            Keep::Both => (window - window / 2, window / 2),
        };
        HeadTailBuffer {
            keep,
            head_window,
            tail_window,
            head: Vec::new(),
            tail: Vec::new(),
            total_bytes: 0,
            newlines: 0,
            open_line: 0,
            max_taken_back: 0,
        }
    }

    /// From now on, an open line of up to `max` bytes can be taken back.
    pub(crate) fn set_max_taken_back(&mut self, max: usize) {
        self.max_taken_back = max;
    }

    /// An empty buffer with the same windows.
    pub(crate) fn empty(&self) -> Self {
        let HeadTailBuffer { keep, head_window, tail_window, .. } = *self;
        HeadTailBuffer { head_window, tail_window, ..HeadTailBuffer::new(keep, 0) }
    }

    /// The same stream, of which the part is shown that `shape` would show. This buffer must hold it.
    pub(crate) fn shaped_as(&self, shape: &HeadTailBuffer) -> HeadTailBuffer {
        let HeadTailBuffer { keep, head_window, tail_window, .. } = *shape;
        HeadTailBuffer { keep, head_window, tail_window, ..self.clone() }
    }

    /// A buffer that can show up to `most` bytes of text; the size is decided at the end.
    pub(crate) fn with_max(keep: Keep, most: usize) -> Self {
        let window = if keep == Keep::Both { most.saturating_mul(2) } else { most };
        HeadTailBuffer::new(keep, window)
    }

    /// Adds the next bytes of the stream.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.push_searched(chunk, memchr::memrchr(b'\n', chunk));
    }

    /// Adds the next bytes of the stream. `last_newline` is the position of their last newline: a chunk
    /// without one is not searched again.
    pub(crate) fn push_searched(&mut self, chunk: &[u8], last_newline: Option<usize>) {
        self.total_bytes += chunk.len() as u64;
        if last_newline.is_some() {
            self.newlines += memchr::memchr_iter(b'\n', chunk).count() as u64;
        }
        self.open_line = self.open_line_after(chunk.len(), last_newline);
        let room = (self.head_window + EDGE_BYTES).saturating_sub(self.head.len());
        let (first, rest) = chunk.split_at(room.min(chunk.len()));
        self.head.extend_from_slice(first);
        self.push_tail(rest);
    }

    /// The length of the open line after a chunk of `length` bytes is added.
    pub(crate) fn open_line_after(&self, length: usize, last_newline: Option<usize>) -> usize {
        match last_newline {
            Some(newline) => length - newline - 1,
            None => self.open_line.saturating_add(length),
        }
    }

    /// Adds everything that was added to `other`.
    pub(crate) fn append(&mut self, other: &HeadTailBuffer) {
        self.push(&other.head);
        let dropped = other.total_bytes - (other.head.len() + other.tail.len()) as u64;
        if dropped > 0 {
            // The head is full: it has the size of the other one.
            self.tail.clear();
            self.total_bytes += dropped;
        }
        self.push(&other.tail);
        self.newlines += other.newlines;
        for part in [&other.head, &other.tail] {
            self.newlines -= memchr::memchr_iter(b'\n', part).count() as u64;
        }
    }

    /// The stream without the line that is not ended yet, and this line. It must not be longer than the
    /// longest line that can be taken back.
    pub(crate) fn take_back_open_line(&self) -> (HeadTailBuffer, Vec<u8>) {
        let mut before = self.clone();
        let in_tail = self.open_line.min(self.tail.len());
        let in_head = (self.open_line - in_tail).min(self.head.len());
        let mut line = before.head.split_off(self.head.len() - in_head);
        line.extend(before.tail.split_off(self.tail.len() - in_tail));
        before.total_bytes -= line.len() as u64;
        before.open_line = 0;
        before.max_taken_back = 0;
        (before, line)
    }

    /// Moves the tail to the front only when the buffer has twice its size.
    fn push_tail(&mut self, chunk: &[u8]) {
        // The window is complete even if the open line is taken back.
        let wanted = self.tail_window + EDGE_BYTES + self.open_line.min(self.max_taken_back);
        if chunk.len() >= wanted {
            self.tail.clear();
            self.tail.extend_from_slice(last(chunk, wanted));
            return;
        }
        if self.tail.len() + chunk.len() > wanted * 2 {
            self.tail.drain(..self.tail.len().saturating_sub(wanted));
        }
        self.tail.extend_from_slice(chunk);
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The number of lines; a last line without a newline counts.
    pub(crate) fn lines(&self) -> u64 {
        let last = self.tail.last().or(self.head.last());
        self.newlines + u64::from(last.is_some_and(|last| *last != b'\n'))
    }

    /// All bytes of the stream in two parts, if none was dropped. None is dropped up to the
    /// window's size.
    pub(crate) fn all_bytes(&self) -> Option<[&[u8]; 2]> {
        let held = self.head.len() + self.tail.len();
        (held as u64 == self.total_bytes).then_some([&self.head, &self.tail])
    }

    /// The size of the whole stream's text.
    pub(crate) fn size(&self) -> TextSize {
        let Some(parts) = self.all_bytes() else { return TextSize::UNLIMITED };
        TextSize::measure(&String::from_utf8_lossy(&parts.concat()))
    }

    /// The part to show, after the stream has ended.
    pub(crate) fn shown(&self) -> Shown {
        self.select(
            |text| text.len() <= self.head_window + self.tail_window,
            |bytes| start(bytes, self.head_window),
            |bytes| end(bytes, self.tail_window),
        )
    }

    /// The part to show in a share of a reply. Keeps whole lines, unless one line is longer than
    /// the part.
    pub(crate) fn shown_within(&self, share: TextSize) -> Shown {
        let part = if self.keep == Keep::Both { share.half() } else { share };
        self.select(
            |text| TextSize::measure(text).fits(share),
            |bytes| whole_lines_of_start(bytes, part),
            |bytes| whole_lines_of_end(bytes, part),
        )
    }

    /// All of the text if it `fits`, else what `head` and `tail` take of the bytes at both ends.
    fn select(
        &self,
        fits: impl Fn(&str) -> bool,
        head: impl Fn(&[u8]) -> Piece,
        tail: impl Fn(&[u8]) -> Piece,
    ) -> Shown {
        let whole = self.all_bytes().map(|parts| parts.concat());
        if let Some(whole) = &whole {
            let text = String::from_utf8_lossy(whole);
            if fits(&text) {
                return Shown::Whole(text.into_owned());
            }
        }
        let head_bytes = whole.as_ref().unwrap_or(&self.head);
        let tail_bytes = match &whole {
            Some(whole) => whole,
            None => from_char_start(last(&self.tail, self.tail_window + EDGE_BYTES)),
        };
        match self.keep {
            Keep::Head => Shown::Head(head(head_bytes)),
            Keep::Tail => Shown::Tail(tail(tail_bytes)),
            Keep::Both => Shown::Both { head: head(head_bytes), tail: tail(tail_bytes) },
        }
    }
}

/// The first lines that fit, or part of the first line if it does not fit.
fn whole_lines_of_start(bytes: &[u8], share: TextSize) -> Piece {
    let piece = start(bytes, share.bytes);
    // Decoding does not move newlines.
    let fitting = memchr::memchr_iter(b'\n', piece.text.as_bytes()).count().min(share.lines);
    match memchr::memchr_iter(b'\n', bytes).nth(fitting.wrapping_sub(1)) {
        Some(newline) => piece_of(bytes.get(..=newline).unwrap_or_default()),
        None => piece,
    }
}

/// The last lines that fit, or part of the last line if it does not fit.
fn whole_lines_of_end(bytes: &[u8], share: TextSize) -> Piece {
    let piece = end(bytes, share.bytes);
    let from = bytes.len() - usize::try_from(piece.bytes).unwrap_or(0).min(bytes.len());
    // The newline at the very end does not start another line.
    let ends = bytes.get(..bytes.len().saturating_sub(1)).unwrap_or_default();
    let begins = memchr::memrchr_iter(b'\n', ends).map(|newline| newline + 1);
    match begins.take(share.lines).take_while(|begin| *begin >= from).last() {
        Some(begin) => piece_of(bytes.get(begin..).unwrap_or_default()),
        None => piece,
    }
}

fn piece_of(bytes: &[u8]) -> Piece {
    Piece { text: String::from_utf8_lossy(bytes).into_owned(), bytes: bytes.len() as u64 }
}

/// The last `count` bytes.
fn last(bytes: &[u8], count: usize) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(count)..).unwrap_or_default()
}

/// The longest start of the decoded text with at most `limit` bytes.
fn start(bytes: &[u8], limit: usize) -> Piece {
    let mut piece = Piece::default();
    for chunk in bytes.utf8_chunks() {
        let valid = truncate::at_most(chunk.valid(), limit - piece.text.len());
        piece.text.push_str(valid);
        piece.bytes += valid.len() as u64;
        if chunk.invalid().is_empty() {
            continue;
        }
        if valid.len() < chunk.valid().len() || piece.text.len() + REPLACEMENT_BYTES > limit {
            break;
        }
        piece.text.push(char::REPLACEMENT_CHARACTER);
        piece.bytes += chunk.invalid().len() as u64;
    }
    piece
}

/// The longest end of the decoded text with at most `limit` bytes.
fn end(bytes: &[u8], limit: usize) -> Piece {
    let replaced = |invalid: &[u8]| if invalid.is_empty() { 0 } else { REPLACEMENT_BYTES };
    let length: usize =
        bytes.utf8_chunks().map(|chunk| chunk.valid().len() + replaced(chunk.invalid())).sum();
    let mut excess = length.saturating_sub(limit);
    let mut start = 0;
    for chunk in bytes.utf8_chunks() {
        if excess == 0 {
            break;
        }
        let valid = chunk.valid();
        let left = truncate::last_at_most(valid, valid.len().saturating_sub(excess));
        start += valid.len() - left.len();
        excess = excess.saturating_sub(valid.len());
        if excess > 0 {
            start += chunk.invalid().len();
            excess = excess.saturating_sub(replaced(chunk.invalid()));
        }
    }
    piece_of(bytes.get(start..).unwrap_or_default())
}

const REPLACEMENT_BYTES: usize = char::REPLACEMENT_CHARACTER.len_utf8();

/// Skips the bytes that continue a character, up to three: no character has more.
fn from_char_start(bytes: &[u8]) -> &[u8] {
    let continues = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let skipped = bytes.iter().take(EDGE_BYTES).take_while(continues).count();
    bytes.get(skipped..).unwrap_or_default()
}

#[cfg(test)]
#[path = "head_tail_tests.rs"]
mod tests;
