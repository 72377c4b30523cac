//! Extracts the last lines from a stream of bytes and counts all lines.
//!
//! Memory is bounded by the page and one window of the current line.

use std::collections::VecDeque;

use memchr::memchr;

use crate::text::line_page::{PageLines, PageRequest};
use crate::text::line_window::LineWindow;

/// Reads the stream in pieces. The `offset` of the request has no meaning here.
pub(crate) struct TailScan {
    page: PageRequest,
    /// Complete lines so far.
    newlines: u64,
    line: LineWindow,
    /// The last lines so far.
    kept: VecDeque<KeptLine>,
    /// How many bytes they have.
    kept_bytes: usize,
}

/// The shown part of a line, with its ending.
struct KeptLine {
    text: String,
    is_truncated: bool,
    /// With the number that the reply shows before it.
    bytes: usize,
}

impl TailScan {
    pub(crate) fn new(page: PageRequest) -> Self {
        TailScan::after(page, 0)
    }

    /// A scan that starts after `newlines` complete lines. If it starts inside a line, more lines than the
    /// page has must follow.
    pub(crate) fn after(page: PageRequest, newlines: u64) -> Self {
        TailScan { page, newlines, line: page.window(), kept: VecDeque::new(), kept_bytes: 0 }
    }

    /// Adds the next piece of the stream.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        let mut rest = self.skip_lines(piece);
        while let Some(end) = memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            self.line.take(line);
            self.end_line("\n");
            rest = after.get(1..).unwrap_or_default();
        }
        if !rest.is_empty() {
            self.line.take(rest);
        }
    }

    /// Adds `count` NUL bytes of a hole in a file.
    pub(crate) fn push_hole(&mut self, count: u64) {
        if count > 0 {
            self.line.take_hole(count);
        }
    }

    /// Ends the stream.
    pub(crate) fn finish(mut self) -> PageLines {
        if self.line.is_open {
            self.end_line("");
        }
        let lines_shown = self.kept.len() as u64;
        let lines_truncated = self.kept.iter().filter(|line| line.is_truncated).count() as u64;
        PageLines {
            content: self.kept.into_iter().map(|line| line.text).collect(),
            offset: self.newlines - lines_shown + 1,
            lines_shown,
            lines_truncated,
            total_lines: self.newlines,
        }
    }

    /// Skips the lines of a piece that enough lines of the same piece follow. Returns the rest.
    fn skip_lines<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        let newlines = memchr::memchr_iter(b'\n', piece).count() as u64;
        let to_skip = newlines.saturating_sub(self.page.limit);
        if to_skip == 0 {
            return piece;
        }
        self.newlines += to_skip;
        self.line = self.page.window();
        self.kept.clear();
        self.kept_bytes = 0;
        let last = usize::try_from(to_skip - 1).unwrap_or(usize::MAX);
        let end = memchr::memchr_iter(b'\n', piece).nth(last);
        end.and_then(|end| piece.get(end + 1..)).unwrap_or_default()
    }

    fn end_line(&mut self, newline: &str) {
        self.newlines += 1;
        let mut text = String::new();
        let is_truncated = self.line.write(newline, &mut text);
        self.line = self.page.window();
        let bytes = text.len() + self.page.prefix_bytes(self.newlines);
        self.kept_bytes += bytes;
        self.kept.push_back(KeptLine { text, is_truncated, bytes });
        while self.kept.len() as u64 > self.page.limit
            || (self.kept_bytes > self.page.bytes && self.kept.len() > 1)
        {
            let Some(dropped) = self.kept.pop_front() else { return };
            self.kept_bytes -= dropped.bytes;
        }
    }
}

#[cfg(test)]
#[path = "tail_page_tests.rs"]
mod tests;
