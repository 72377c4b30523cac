//! The part of one line that a page shows: a window of characters, without decoding the rest.

use crate::text::utf8_check::{MAX_CHAR_BYTES, is_incomplete};

/// The shown part of one line.
#[derive(Default)]
pub(super) struct LineWindow {
    width: usize,
    /// How many characters to skip before the window.
    skip: u64,
    /// An incomplete character at the end of a skipped piece.
    partial: Vec<u8>,
    /// The first bytes of the window, at most as many as its characters can have.
    kept: Vec<u8>,
    /// How many bytes the line has from the window's start.
    length: u64,
    ends_in_cr: bool,
    /// Whether the line has started.
    pub(super) is_open: bool,
}

/// How many bytes are validated at a time, to stay in the fastest CPU cache.
const VALIDATE_BYTES: usize = 32 * 1024;

impl LineWindow {
    /// A window of `width` characters that starts at the character `column`, counting from 1.
    pub(super) fn new(column: u64, width: usize) -> Self {
        LineWindow { width, skip: column - 1, ..LineWindow::default() }
    }

    /// Adds bytes of the line, without newlines.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        // An empty line is a line too.
        self.is_open = true;
        let Some(last) = bytes.last() else { return };
        self.ends_in_cr = *last == b'\r';
        let rest = if self.skip > 0 { self.skip_characters(bytes) } else { bytes };
        self.keep(rest);
    }

    /// Adds NUL bytes, each a character, without allocating them.
    pub(super) fn take_hole(&mut self, count: u64) {
        // Adds some of them as ordinary bytes, until only the length matters.
        let zeros = [0; 64];
        let mut left = count;
        while left > 0 && (!self.partial.is_empty() || (self.skip == 0 && self.space() > 0)) {
            let some = left.min(zeros.len() as u64);
            self.take(zeros.get(..some as usize).unwrap_or_default());
            left -= some;
        }
        let skipped = left.min(self.skip);
        self.skip -= skipped;
        left -= skipped;
        self.is_open = true;
        self.ends_in_cr = false;
        if skipped > 0 && left > 0 {
            self.take_hole(left);
        } else {
            self.length += left;
        }
    }

    fn space(&self) -> usize {
        (self.width * MAX_CHAR_BYTES).saturating_sub(self.kept.len())
    }

    /// Whether only the end of the line matters.
    pub(super) fn is_full(&self) -> bool {
        self.skip == 0 && self.space() == 0
    }

    /// Skips `count` bytes of a line whose window is full.
    pub(super) fn skip_bytes(&mut self, count: u64) {
        self.length += count;
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        let some = bytes.len().min(self.space());
        self.kept.extend_from_slice(bytes.get(..some).unwrap_or_default());
    }

    /// Skips characters up to the window. Returns the bytes in the window.
    fn skip_characters<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let mut rest = bytes;
        if !self.partial.is_empty() {
            rest = self.skip_partial(rest);
        }
        while self.skip > 0 && !rest.is_empty() {
            let block = rest.get(..VALIDATE_BYTES).unwrap_or(rest);
            // Faster than `utf8_chunks`, which has no fast path for ASCII.
            let (valid, invalid) = match std::str::from_utf8(block) {
                Ok(text) => (text, Some(0)),
                Err(error) => {
                    let valid = block.get(..error.valid_up_to()).unwrap_or_default();
                    (std::str::from_utf8(valid).unwrap_or_default(), error.error_len())
                }
            };
            let characters = valid.chars().count() as u64;
            if characters >= self.skip {
                let index = usize::try_from(self.skip).unwrap_or(usize::MAX);
                let start = valid.char_indices().nth(index).map_or(valid.len(), |(at, _)| at);
                self.skip = 0;
                return rest.get(start..).unwrap_or_default();
            }
            self.skip -= characters;
            let unfinished = block.len() - valid.len();
            rest = rest.get(valid.len()..).unwrap_or_default();
            match invalid {
                Some(0) => {}
                Some(length) => {
                    self.skip -= 1;
                    rest = rest.get(length..).unwrap_or_default();
                }
                // The piece ends inside a character. If only the block does, the next block has the
                // rest.
                None if rest.len() == unfinished => {
                    self.partial = rest.to_vec();
                    return &[];
                }
                None => {}
            }
        }
        rest
    }

    /// Completes the character that the last piece ended in. Returns the bytes after it.
    fn skip_partial<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let held = std::mem::take(&mut self.partial);
        let some = bytes.get(..MAX_CHAR_BYTES.min(bytes.len())).unwrap_or_default();
        let joined = [held.as_slice(), some].concat();
        let Some(first) = joined.utf8_chunks().next() else { return bytes };
        let length = match first.valid().chars().next() {
            Some(character) => character.len_utf8(),
            None if first.invalid() == joined && is_incomplete(&joined) => {
                self.partial = joined;
                return &[];
            }
            None => first.invalid().len(),
        };
        // The bytes before are the start of one character, so all of them are skipped.
        self.skip -= 1;
        bytes.get(length.saturating_sub(held.len())..).unwrap_or_default()
    }

    /// Writes the shown part of the line and its ending. Returns whether the line is truncated.
    pub(super) fn write(&self, newline: &str, content: &mut String) -> bool {
        let ends_in_cr = self.ends_in_cr && !newline.is_empty();
        let length = self.length - u64::from(ends_in_cr && self.length > 0);
        let bytes = usize::try_from(length).unwrap_or(usize::MAX).min(self.kept.len());
        let text = String::from_utf8_lossy(self.kept.get(..bytes).unwrap_or_default());
        let end = text.char_indices().nth(self.width).map(|(at, _)| at);
        content.push_str(end.and_then(|end| text.get(..end)).unwrap_or(&text));
        if ends_in_cr {
            content.push('\r');
        }
        content.push_str(newline);
        end.is_some() || length > self.kept.len() as u64
    }
}
