//! Extracts a page of lines from a stream of bytes and counts all lines.
//!
//! Memory is bounded by the page and one window of the current line.

use memchr::memchr;

use crate::text::line_window::LineWindow;

/// Which lines of a stream a page has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PagePart {
    /// Those from the line `offset` on.
    FromOffset,
    /// The last ones.
    Tail,
}

/// The requested part of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageRequest {
    pub(crate) part: PagePart,
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
    /// Whether the reply shows a number and a tab before each line, which `bytes` includes.
    pub(crate) is_numbered: bool,
}

impl PageRequest {
    pub(super) fn window(&self) -> LineWindow {
        LineWindow::new(self.column, self.width)
    }

    /// How many bytes the reply shows before the line `number`.
    pub(super) fn prefix_bytes(&self, number: u64) -> usize {
        if self.is_numbered { number.max(1).ilog10() as usize + 2 } else { 0 }
    }
}

/// The lines of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageLines {
    /// The lines, truncated to the window, each with its own ending.
    pub(crate) content: String,
    /// The first of them, from 1.
    pub(crate) offset: u64,
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
    /// How many bytes the numbers of the lines have.
    prefix_bytes: usize,
    found: PageLines,
}

impl LineScan {
    pub(crate) fn new(page: PageRequest) -> Self {
        LineScan::after(page, 0)
    }

    /// A scan that starts after `newlines` complete lines, all before the page.
    pub(crate) fn after(page: PageRequest, newlines: u64) -> Self {
        let found = PageLines { offset: page.offset, ..PageLines::default() };
        LineScan { page, newlines, line: page.window(), prefix_bytes: 0, found }
    }

    /// Whether the page is complete, so that only counting is left.
    pub(crate) fn is_page_full(&self) -> bool {
        self.found.lines_shown >= self.page.limit
    }

    /// Whether only the end of the current line matters.
    pub(crate) fn is_window_full(&self) -> bool {
        self.newlines + 1 >= self.page.offset && self.line.is_full()
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
        self.line.skip_bytes(count);
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
        self.line = self.page.window();
        self.prefix_bytes += self.page.prefix_bytes(self.newlines + 1);
        let bytes = self.found.content.len() + self.prefix_bytes;
        if bytes > self.page.bytes && self.found.lines_shown > 0 {
            // This line and the following ones are on the next page.
            self.found.content.truncate(before);
            self.page.limit = self.found.lines_shown;
            return;
        }
        self.found.lines_truncated += u64::from(is_truncated);
        self.found.lines_shown += 1;
    }
}

#[cfg(test)]
#[path = "line_page_tests.rs"]
mod tests;
