//! Extracts a page of lines from a stream of bytes and counts all lines.
//!
//! Memory is bounded by the page and one window of the current line.

use memchr::memchr;

/// The requested part of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageRequest {
    /// The first line, from 1.
    pub(crate) offset: u64,
    /// The most lines.
    pub(crate) limit: u64,
    /// The first character of each line, from 1.
    pub(crate) column: u64,
    /// The most characters of each line.
    pub(crate) width: usize,
    /// The most bytes of all lines; one line is always shown.
    pub(crate) bytes: usize,
}

/// The lines of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageLines {
    /// The lines, truncated to the window, each with its own ending.
    pub(crate) content: String,
    pub(crate) lines_shown: u64,
    /// How many of them continue after the window.
    pub(crate) lines_truncated: u64,
    /// How many lines the stream has.
    pub(crate) total_lines: u64,
}

/// Reads the stream in pieces.
pub(crate) struct LineScan {
    page: PageRequest,
    /// Complete lines so far.
    newlines: u64,
    line: LineWindow,
    found: PageLines,
}

impl LineScan {
    pub(crate) fn new(page: PageRequest) -> Self {
        LineScan::after(page, 0)
    }

    /// A scan that starts after `newlines` complete lines, all before the page.
    pub(crate) fn after(page: PageRequest, newlines: u64) -> Self {
        LineScan { page, newlines, line: LineWindow::new(&page), found: PageLines::default() }
    }

    /// Whether the page is complete, so that only counting is left.
    pub(crate) fn is_page_full(&self) -> bool {
        self.found.lines_shown >= self.page.limit
    }

    /// Whether only the end of the current line matters.
    pub(crate) fn is_window_full(&self) -> bool {
        self.newlines + 1 >= self.page.offset && self.line.skip == 0 && self.line.space() == 0
    }

    /// How many lines of the page are complete.
    pub(crate) fn lines_shown(&self) -> u64 {
        self.found.lines_shown
    }

    /// Adds the next piece of the stream.
    pub(crate) fn push(&mut self, mut piece: &[u8]) {
        piece = self.skip_lines(piece);
        while !piece.is_empty() && !self.is_page_full() {
            let Some(end) = memchr(b'\n', piece) else {
                self.line.take(piece);
                return;
            };
            let (line, rest) = piece.split_at(end);
            self.line.take(line);
            self.end_line("\n");
            self.newlines += 1;
            piece = rest.get(1..).unwrap_or_default();
        }
        if !piece.is_empty() {
            self.count(piece);
        }
    }

    /// Adds `count` NUL bytes of a hole in a file.
    pub(crate) fn push_hole(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        if self.newlines + 1 < self.page.offset || self.is_page_full() {
            self.line.is_open = true;
        } else {
            self.line.take_hole(count);
        }
    }

    /// Skips `count` bytes of the current line, whose window is full.
    pub(crate) fn skip_bytes(&mut self, count: u64) {
        self.line.length += count;
    }

    /// Raises the number of complete lines to at least this.
    pub(crate) fn raise_total(&mut self, newlines: u64) {
        self.newlines = self.newlines.max(newlines);
    }

    /// Ends the stream.
    pub(crate) fn finish(mut self) -> PageLines {
        if self.line.is_open {
            if self.newlines + 1 >= self.page.offset && !self.is_page_full() {
                self.end_line("");
            }
            self.newlines += 1;
        }
        self.found.total_lines = self.newlines;
        self.found
    }

    /// Ends the stream with a total that was counted elsewhere: `newlines`, and whether a last line
    /// without a newline follows.
    pub(crate) fn finish_with(self, newlines: u64, open: bool) -> PageLines {
        let offset = self.page.offset;
        let mut lines = self.finish();
        // If the file changed meanwhile, the total must not be less than the lines shown.
        let shown = if lines.lines_shown > 0 { offset - 1 + lines.lines_shown } else { 0 };
        lines.total_lines = (newlines + u64::from(open)).max(shown);
        lines
    }

    /// Ends before the stream does: complete lines only, and the total so far.
    pub(crate) fn finish_early(mut self) -> PageLines {
        self.found.total_lines = self.newlines + u64::from(self.line.is_open);
        self.found
    }

    /// Skips the lines before the page. Returns the rest of the piece.
    fn skip_lines<'p>(&mut self, mut piece: &'p [u8]) -> &'p [u8] {
        let to_skip = (self.page.offset - 1).saturating_sub(self.newlines);
        if to_skip == 0 || piece.is_empty() {
            return piece;
        }
        let newlines = memchr::memchr_iter(b'\n', piece).count() as u64;
        if newlines < to_skip {
            self.newlines += newlines;
            self.line.is_open = piece.last() != Some(&b'\n');
            return &[];
        }
        for _ in 0..to_skip {
            let Some(end) = memchr(b'\n', piece) else { break };
            piece = piece.get(end + 1..).unwrap_or_default();
            self.newlines += 1;
        }
        self.line.is_open = false;
        piece
    }

    /// Counts the lines of a piece after the page.
    fn count(&mut self, piece: &[u8]) {
        self.newlines += memchr::memchr_iter(b'\n', piece).count() as u64;
        self.line.is_open = piece.last() != Some(&b'\n');
    }

    fn end_line(&mut self, newline: &str) {
        let before = self.found.content.len();
        let is_truncated = self.line.write(newline, &mut self.found.content);
        self.line = LineWindow::new(&self.page);
        if self.found.content.len() > self.page.bytes && self.found.lines_shown > 0 {
            // This line and the following ones are on the next page.
            self.found.content.truncate(before);
            self.page.limit = self.found.lines_shown;
            return;
        }
        self.found.lines_truncated += u64::from(is_truncated);
        self.found.lines_shown += 1;
    }
}

/// The shown part of one line.
#[derive(Default)]
struct LineWindow {
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
    is_open: bool,
}

/// The most bytes that one character has.
const MAX_CHAR_BYTES: usize = 4;

/// How many bytes are validated at a time, to stay in the fastest CPU cache.
const VALIDATE_BYTES: usize = 32 * 1024;

impl LineWindow {
    fn new(page: &PageRequest) -> Self {
        LineWindow { width: page.width, skip: page.column - 1, ..LineWindow::default() }
    }

    /// Adds bytes of the line, without newlines.
    fn take(&mut self, bytes: &[u8]) {
        // An empty line is a line too.
        self.is_open = true;
        let Some(last) = bytes.last() else { return };
        self.ends_in_cr = *last == b'\r';
        let rest = if self.skip > 0 { self.skip_characters(bytes) } else { bytes };
        self.keep(rest);
    }

    /// Adds NUL bytes, each a character, without allocating them.
    fn take_hole(&mut self, count: u64) {
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
    fn write(&self, newline: &str, content: &mut String) -> bool {
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

/// Whether these bytes are the start of a character.
fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
#[path = "line_page_tests.rs"]
mod tests;
