//! Folds what a command prints for a terminal into the text that a terminal would show at the end of
//! each line, while it is printed and in constant memory.

use vte::{Params, Parser, Perform};

use crate::text::head_tail::HeadTailBuffer;
use crate::text::terminal_line::{Place, TerminalLine};

const ESCAPE: u8 = 0x1b;
const RETURN: u8 = b'\r';
const BACKSPACE: u8 = 0x08;

/// A longer text is beyond the columns of a line, unless its characters have no width, such as NUL: these would be
/// parsed one by one.
const MAX_PLAIN_BYTES: usize = 256 * 1024;

/// The first byte that makes folding necessary.
pub(crate) fn find_special(bytes: &[u8]) -> Option<usize> {
    memchr::memchr3(ESCAPE, RETURN, BACKSPACE, bytes)
}

/// The folded stream, and the line that is not ended yet.
pub(crate) struct TerminalFold {
    folded: HeadTailBuffer,
    line: OpenLine,
    is_line_empty: bool,
    /// How many bytes of the line came since the last one that moves the cursor.
    plain_bytes: usize,
    parser: Parser,
    /// Whether the line contains an escape sequence, which may not be ended.
    has_escape: bool,
    /// The start of a character at the end of a chunk.
    incomplete: Vec<u8>,
    /// The text of a line; here so that its memory is reused.
    text: String,
}

/// The line that is not ended yet.
struct OpenLine {
    line: TerminalLine,
    /// The text that was printed beyond the last column of the line.
    beyond: HeadTailBuffer,
    /// Whether a carriage return is the last that was printed. Before a newline it is part of the
    /// line's end.
    ends_with_return: bool,
}

impl TerminalFold {
    /// Starts after the lines in `folded`.
    pub(crate) fn new(folded: HeadTailBuffer) -> Self {
        let beyond = folded.empty();
        TerminalFold {
            folded,
            line: OpenLine { line: TerminalLine::default(), beyond, ends_with_return: false },
            is_line_empty: true,
            plain_bytes: 0,
            parser: Parser::new(),
            has_escape: false,
            incomplete: Vec::new(),
            text: String::new(),
        }
    }

    /// The folded stream with the line that is not ended yet, and how often text was redrawn.
    pub(crate) fn so_far(&self) -> (HeadTailBuffer, u64) {
        let mut folded = self.folded.clone();
        let mut line = self.line.line.clone();
        let mut text = String::new();
        line.finish(&mut text);
        folded.push(text.as_bytes());
        folded.append(&self.line.beyond);
        (folded, line.redraws())
    }

    /// Adds the next bytes of the stream.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        loop {
            if self.is_line_empty {
                rest = self.push_plain_lines(rest);
            }
            let newline = memchr::memchr(b'\n', rest);
            let (part, after) = rest.split_at(newline.unwrap_or(rest.len()));
            self.push_part(part);
            match after.split_first() {
                Some((_, after)) => {
                    self.end_line(if self.line.ends_with_return { b"\r\n" } else { b"\n" });
                    rest = after;
                }
                None => return,
            }
        }
    }

    /// Ends the last line, after the stream has ended.
    pub(crate) fn finish(&mut self) {
        self.end_line(b"");
    }

    /// Adds lines that need no folding. Returns the rest.
    fn push_plain_lines<'b>(&mut self, chunk: &'b [u8]) -> &'b [u8] {
        let mut plain = 0;
        let mut searched = 0;
        loop {
            let rest = chunk.get(searched..).unwrap_or_default();
            let special = find_special(rest).map_or(chunk.len(), |at| searched + at);
            let before = chunk.get(searched..special).unwrap_or_default();
            if let Some(newline) = memchr::memrchr(b'\n', before) {
                plain = searched + newline + 1;
            }
            if chunk.get(special..special + 2) != Some(b"\r\n") {
                break;
            }
            searched = special + 2;
            plain = searched;
        }
        let (plain, rest) = chunk.split_at(plain.min(chunk.len()));
        self.folded.push(plain);
        rest
    }

    /// Adds a part of one line.
    fn push_part(&mut self, part: &[u8]) {
        if !self.has_escape && find_special(part).is_none() {
            return self.push_plain_part(part);
        }
        self.is_line_empty = false;
        self.plain_bytes = 0;
        self.decode_part(part);
    }

    /// Adds a part of one line that contains no special byte and is not inside an escape sequence.
    pub(crate) fn push_plain_part(&mut self, part: &[u8]) {
        if part.is_empty() {
            return;
        }
        self.is_line_empty = false;
        let is_long = self.plain_bytes > MAX_PLAIN_BYTES;
        self.plain_bytes += part.len();
        if is_long || self.line.line.is_beyond() {
            self.line.ends_with_return = false;
            self.line.beyond.push(&std::mem::take(&mut self.incomplete));
            self.line.beyond.push_searched(part, None);
            return;
        }
        self.decode_part(part);
    }

    /// Decodes a part of one line, after the start of a character in the part before.
    fn decode_part(&mut self, part: &[u8]) {
        if self.incomplete.is_empty() {
            return self.decode(part);
        }
        let mut joined = std::mem::take(&mut self.incomplete);
        joined.extend_from_slice(part);
        self.decode(&joined);
    }

    /// Prints bytes as text; U+FFFD replaces bytes that are not UTF-8.
    fn decode(&mut self, bytes: &[u8]) {
        let mut decoded = 0;
        for chunk in bytes.utf8_chunks() {
            self.print(chunk.valid());
            let invalid = chunk.invalid();
            decoded += chunk.valid().len() + invalid.len();
            if invalid.is_empty() {
                continue;
            }
            let is_incomplete =
                std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if decoded == bytes.len() && is_incomplete {
                self.incomplete.extend_from_slice(invalid);
            } else {
                self.print("\u{fffd}");
            }
        }
    }

    fn print(&mut self, text: &str) {
        self.has_escape |= memchr::memchr(ESCAPE, text.as_bytes()).is_some();
        self.parser.advance(&mut self.line, text.as_bytes());
    }

    fn end_line(&mut self, line_end: &[u8]) {
        if !self.incomplete.is_empty() {
            self.incomplete.clear();
            self.print("\u{fffd}");
        }
        if std::mem::take(&mut self.has_escape) {
            self.parser = Parser::new();
        }
        self.text.clear();
        self.line.line.finish(&mut self.text);
        self.folded.push(self.text.as_bytes());
        if self.line.beyond.total_bytes() > 0 {
            self.folded.append(&self.line.beyond);
            self.line.beyond = self.folded.empty();
        }
        self.folded.push(line_end);
        self.line.ends_with_return = false;
        self.is_line_empty = true;
        self.plain_bytes = 0;
    }
}

impl OpenLine {
    fn place(&mut self, character: char, place: Place) {
        if place == Place::Beyond {
            self.beyond.push(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

impl Perform for OpenLine {
    fn print(&mut self, character: char) {
        self.ends_with_return = false;
        let place = self.line.print(character);
        self.place(character, place);
    }

    fn execute(&mut self, control: u8) {
        self.ends_with_return = control == RETURN;
        match control {
            RETURN => self.line.carriage_return(),
            BACKSPACE => self.line.backspace(),
            b'\t' => {
                let place = self.line.tab();
                self.place('\t', place);
            }
            control => {
                let place = self.line.print(char::from(control));
                self.place(char::from(control), place);
            }
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _: bool, action: char) {
        self.ends_with_return = false;
        let first = params.iter().next().and_then(|param| param.first()).copied().unwrap_or(0);
        match (intermediates, action, first) {
            ([], 'G', column) => self.line.move_to(usize::from(column.max(1) - 1)),
            ([], 'K', 0) => self.line.erase_to_end(),
            ([], 'K', 1) => self.line.erase_to_start(),
            ([], 'K', 2) => self.line.erase_all(),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, _: u8) {
        self.ends_with_return = false;
    }

    fn osc_dispatch(&mut self, _: &[&[u8]], _: bool) {
        self.ends_with_return = false;
    }
}

#[cfg(test)]
#[path = "terminal_fold_tests.rs"]
mod tests;
