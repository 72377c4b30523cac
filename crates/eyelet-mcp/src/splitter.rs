//! Lines out of a stream of bytes, each within a limit.

use memchr::memchr;

/// The longest line that is taken. The arguments of one call have the same limit.
pub(crate) const MAX_LINE_BYTES: usize = eyelet::limits::MAX_ARGUMENT_BYTES;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'l> {
    /// Without its newline.
    Whole(&'l [u8]),
    /// It was longer than the limit. Its bytes are gone.
    TooLong,
}

/// Takes the stream piece by piece; never holds more than one line.
#[derive(Default)]
pub(crate) struct Splitter {
    held: Vec<u8>,
    /// Whether the rest of a line that was too long still goes by.
    is_passing: bool,
}

impl Splitter {
    /// Takes the next piece, and hands out the lines that it completes.
    pub(crate) fn push(&mut self, mut piece: &[u8], mut take: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', piece) {
            let (line, rest) = piece.split_at(end);
            piece = rest.get(1..).unwrap_or_default();
            if std::mem::take(&mut self.is_passing) {
                continue;
            }
            if self.held.len() + line.len() > MAX_LINE_BYTES {
                take(Line::TooLong);
            } else if self.held.is_empty() {
                take(Line::Whole(line));
            } else {
                self.held.extend_from_slice(line);
                take(Line::Whole(&self.held));
            }
            // A long line does not hold its memory for the rest of the session.
            self.held = Vec::new();
        }
        if self.is_passing {
            return;
        }
        if self.held.len() + piece.len() > MAX_LINE_BYTES {
            take(Line::TooLong);
            self.held = Vec::new();
            self.is_passing = true;
        } else {
            self.held.extend_from_slice(piece);
        }
    }

    /// The stream is over; a last line may have no newline.
    pub(crate) fn finish(self, take: impl FnOnce(Line<'_>)) {
        if !self.held.is_empty() {
            take(Line::Whole(&self.held));
        }
    }
}

#[cfg(test)]
#[path = "splitter_tests.rs"]
mod tests;
