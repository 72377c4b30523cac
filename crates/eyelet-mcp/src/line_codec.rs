//! Splits a byte stream into lines of limited length.

use memchr::memchr;

/// The maximum length of a line. It equals the limit for the arguments of one call.
pub(crate) const MAX_LINE_BYTES: usize = eyelet::limits::MAX_ARGUMENT_BYTES;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'l> {
    /// Without its newline.
    Whole(&'l [u8]),
    /// The line exceeded the limit; its bytes were discarded.
    TooLong,
}

/// Splits a stream chunk by chunk; buffers at most one line.
#[derive(Default)]
pub(crate) struct LineDecoder {
    buffer: Vec<u8>,
    /// Whether to discard input up to the next newline, after a line that was too long.
    is_discarding: bool,
}

impl LineDecoder {
    /// Adds the next chunk and calls `take` with each line that it completes.
    pub(crate) fn push(&mut self, mut chunk: &[u8], mut take: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(end);
            chunk = rest.get(1..).unwrap_or_default();
            if std::mem::take(&mut self.is_discarding) {
                continue;
            }
            if self.buffer.len() + line.len() > MAX_LINE_BYTES {
                take(Line::TooLong);
            } else if self.buffer.is_empty() {
                take(Line::Whole(line));
            } else {
                self.buffer.extend_from_slice(line);
                take(Line::Whole(&self.buffer));
            }
            // Free the buffer: a long line must not occupy memory for the rest of the session.
            self.buffer = Vec::new();
        }
        if self.is_discarding {
            return;
        }
        if self.buffer.len() + chunk.len() > MAX_LINE_BYTES {
            take(Line::TooLong);
            self.buffer = Vec::new();
            self.is_discarding = true;
        } else {
            self.buffer.extend_from_slice(chunk);
        }
    }

    /// Ends the stream; the last line may lack its newline.
    pub(crate) fn finish(self, take: impl FnOnce(Line<'_>)) {
        if !self.buffer.is_empty() {
            take(Line::Whole(&self.buffer));
        }
    }
}

#[cfg(test)]
#[path = "line_codec_tests.rs"]
mod tests;
