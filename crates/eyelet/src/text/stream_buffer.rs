//! The start and the end of a stream, as raw bytes and as a terminal would show it.

use crate::text::head_tail::HeadTailBuffer;
use crate::text::terminal_fold::{TerminalFold, find_special};

/// Folding starts at the latest when a line is longer.
const MAX_OPEN_LINE: usize = 64 * 1024;

/// A stream while it is read. Folding costs nothing until something has to be folded.
pub(crate) struct StreamBuffer {
    raw: HeadTailBuffer,
    /// Starts with the first line that has something to fold or is long.
    fold: Option<Box<TerminalFold>>,
    has_special: bool,
}

impl StreamBuffer {
    pub(crate) fn new(mut raw: HeadTailBuffer) -> Self {
        raw.set_max_taken_back(MAX_OPEN_LINE);
        StreamBuffer { raw, fold: None, has_special: false }
    }

    /// Adds the next bytes of the stream.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        // A stream can have gigabytes, so a chunk is searched as few times as possible.
        let last_newline = memchr::memrchr(b'\n', chunk);
        self.has_special = self.has_special || find_special(chunk).is_some();
        let is_long = self.raw.open_line_after(chunk.len(), last_newline) > MAX_OPEN_LINE;
        if self.fold.is_none() && (self.has_special || is_long) {
            let (before, line) = self.raw.take_back_open_line();
            let mut fold = TerminalFold::new(before);
            fold.push(&line);
            self.fold = Some(Box::new(fold));
            self.raw.set_max_taken_back(0);
        }
        self.raw.push_searched(chunk, last_newline);
        match &mut self.fold {
            Some(fold) if !self.has_special && last_newline.is_none() => {
                fold.push_plain_part(chunk)
            }
            Some(fold) => fold.push(chunk),
            None => {}
        }
    }

    /// The stream as it is.
    pub(crate) fn raw(&self) -> &HeadTailBuffer {
        &self.raw
    }

    /// Whether the stream is being folded, which takes longer than reading it.
    pub(crate) fn is_folding(&self) -> bool {
        self.has_special
    }

    /// Ends the last line, after the stream has ended.
    pub(crate) fn finish(&mut self) {
        if let Some(fold) = &mut self.fold {
            fold.finish();
        }
    }

    /// The stream as a terminal would show it, and how often text was redrawn. None if the stream is
    /// shown as it is.
    pub(crate) fn folded(&self) -> Option<(HeadTailBuffer, u64)> {
        Some(self.fold.as_ref().filter(|_| self.has_special)?.so_far())
    }
}
