//! A page of lines out of a stream of bytes, and how many lines there are in all.
//!
//! Memory holds the page and one window of the current line, whatever the length of either.

use memchr::memchr;

/// What part of a stream is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageRequest {
    /// The first line, from 1.
    pub(crate) offset: u64,
    /// How many lines at most.
    pub(crate) limit: u64,
    /// The first character of each line, from 1.
    pub(crate) column: u64,
    /// How many characters of each line at most.
    pub(crate) width: usize,
    /// How many bytes all lines have together at most; one line is always shown.
    pub(crate) bytes: usize,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageLines {
    /// The lines, cut to their windows, each with its own ending.
    pub(crate) content: String,
    pub(crate) lines_shown: u64,
    /// How many of them go on after their window.
    pub(crate) lines_cut: u64,
    /// How many lines the stream has.
    pub(crate) total_lines: u64,
}

/// Takes the stream piece by piece.
pub(crate) struct LineScan {
    page: PageRequest,
    /// Complete lines so far.
    newlines: u64,
    line: LineWindow,
    found: PageLines,
}

impl LineScan {
    pub(crate) fn new(page: PageRequest) -> Self {
        LineScan {
            page,
            newlines: 0,
            line: LineWindow::new(&page),
            found: PageLines {
                content: String::new(),
                lines_shown: 0,
                lines_cut: 0,
                total_lines: 0,
            },
        }
    }

    /// A scan that starts after `newlines` complete lines, none of which is on the page.
    pub(crate) fn after(page: PageRequest, newlines: u64) -> Self {
        LineScan { newlines, ..LineScan::new(page) }
    }

    /// Whether the page is complete, so that all that is left is counting.
    pub(crate) fn is_page_full(&self) -> bool {
        self.found.lines_shown >= self.page.limit
    }

    /// Whether nothing but the end of the current line is of interest.
    pub(crate) fn is_window_full(&self) -> bool {
        self.newlines + 1 >= self.page.offset && self.line.skip == 0 && self.line.space() == 0
    }

    /// How many lines of the page are complete.
    pub(crate) fn lines_shown(&self) -> u64 {
        self.found.lines_shown
    }

    /// Takes the next piece of the stream.
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

    /// Takes `count` NUL bytes that stand in a hole of a file, without looking at them.
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

    /// Passes `count` bytes of the current line, whose window is full.
    pub(crate) fn skip_bytes(&mut self, count: u64) {
        self.line.length += count;
    }

    /// At least this many complete lines are known to be there.
    pub(crate) fn raise_total(&mut self, newlines: u64) {
        self.newlines = self.newlines.max(newlines);
    }

    /// The stream is over.
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

    /// The stream is over, or the page is full and the rest was counted elsewhere: `newlines` in
    /// all, and whether a last line without one follows.
    pub(crate) fn finish_with(self, newlines: u64, open: bool) -> PageLines {
        let offset = self.page.offset;
        let mut lines = self.finish();
        // A file that changed meanwhile must not have fewer lines than were shown.
        let shown = if lines.lines_shown > 0 { offset - 1 + lines.lines_shown } else { 0 };
        lines.total_lines = (newlines + u64::from(open)).max(shown);
        lines
    }

    /// The stream is not over, but the time for it is: complete lines, and how many there are at
    /// least.
    pub(crate) fn finish_early(mut self) -> PageLines {
        self.found.total_lines = self.newlines + u64::from(self.line.is_open);
        self.found
    }

    /// Passes the lines before the page. Returns what is left of the piece.
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
        let cut = self.line.write(newline, &mut self.found.content);
        self.line = LineWindow::new(&self.page);
        if self.found.content.len() > self.page.bytes && self.found.lines_shown > 0 {
            // It stands on the next page, and so does what follows.
            self.found.content.truncate(before);
            self.page.limit = self.found.lines_shown;
            return;
        }
        self.found.lines_cut += u64::from(cut == Truncated::Yes);
        self.found.lines_shown += 1;
    }
}

#[derive(PartialEq, Eq)]
enum Truncated {
    Yes,
    No,
}

/// The part of one line that is shown, found while the line goes by.
struct LineWindow {
    width: usize,
    /// Characters that still have to go by before the window starts.
    skip: u64,
    /// A character that a piece ended in the middle of, while skipping.
    partial: Vec<u8>,
    /// The first bytes of the window: as many as its characters can need.
    kept: Vec<u8>,
    /// How many bytes the line has from the window's start.
    length: u64,
    ends_in_cr: bool,
    /// Whether the line has begun.
    is_open: bool,
}

/// The most bytes that one character has.
const MAX_CHAR_BYTES: usize = 4;

/// Pieces that are validated at once: small enough to stay in the fastest cache.
const VALIDATE_BYTES: usize = 32 * 1024;

impl LineWindow {
    fn new(page: &PageRequest) -> Self {
        LineWindow {
            width: page.width,
            skip: page.column - 1,
            partial: Vec::new(),
            kept: Vec::new(),
            length: 0,
            ends_in_cr: false,
            is_open: false,
        }
    }

    /// Takes bytes of the line, none of them a newline.
    fn take(&mut self, bytes: &[u8]) {
        // A line that is empty is a line too.
        self.is_open = true;
        let Some(last) = bytes.last() else { return };
        self.ends_in_cr = *last == b'\r';
        let rest = if self.skip > 0 { self.skip_characters(bytes) } else { bytes };
        self.keep(rest);
    }

    /// Takes NUL bytes, each of them a character, without having them in memory.
    fn take_hole(&mut self, count: u64) {
        // Through the ordinary way until nothing but the length depends on them.
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

    /// Passes characters until the window starts. Returns the bytes that are in it.
    fn skip_characters<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let mut rest = bytes;
        if !self.partial.is_empty() {
            rest = self.skip_partial(rest);
        }
        while self.skip > 0 && !rest.is_empty() {
            let block = rest.get(..VALIDATE_BYTES).unwrap_or(rest);
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
                // A character that the piece ends in. Where only the block does, the next one has it.
                None if rest.len() == unfinished => {
                    self.partial = rest.to_vec();
                    return &[];
                }
                None => {}
            }
        }
        rest
    }

    /// Completes a character that the last piece ended in. Returns what it does not need.
    fn skip_partial<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let held = std::mem::take(&mut self.partial);
        let some = bytes.get(..MAX_CHAR_BYTES.min(bytes.len())).unwrap_or_default();
        let joined = [held.as_slice(), some].concat();
        let length = match std::str::from_utf8(&joined) {
            Ok(text) => text.chars().next().map_or(0, char::len_utf8),
            Err(error) if error.valid_up_to() > 0 => {
                let valid = joined.get(..error.valid_up_to()).unwrap_or_default();
                let text = std::str::from_utf8(valid).unwrap_or_default();
                text.chars().next().map_or(0, char::len_utf8)
            }
            Err(error) => match error.error_len() {
                Some(length) => length,
                None => {
                    self.partial = joined;
                    return &[];
                }
            },
        };
        // What was held is the start of one character, so it is gone whole.
        self.skip -= 1;
        bytes.get(length.saturating_sub(held.len())..).unwrap_or_default()
    }

    /// Writes what is shown of the line, and its ending.
    fn write(&self, newline: &str, content: &mut String) -> Truncated {
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
        if end.is_some() || length > self.kept.len() as u64 {
            Truncated::Yes
        } else {
            Truncated::No
        }
    }
}

#[cfg(test)]
#[path = "line_page_tests.rs"]
mod tests;
