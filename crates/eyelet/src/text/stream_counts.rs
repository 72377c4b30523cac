//! How much came of a stream.

/// Counts bytes and lines.
#[derive(Debug)]
pub(crate) struct StreamCounts {
    bytes: u64,
    /// None once something went by unseen.
    newlines: Option<u64>,
    last: Option<u8>,
}

impl StreamCounts {
    pub(crate) fn new() -> Self {
        StreamCounts { bytes: 0, newlines: Some(0), last: None }
    }

    /// Counts the next bytes of the stream.
    pub(crate) fn count(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.last = piece.last().copied().or(self.last);
        if let Some(newlines) = &mut self.newlines {
            *newlines += bytecount::count(piece, b'\n') as u64;
        }
    }

    /// Counts bytes that nobody looked at.
    pub(crate) fn skip(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.newlines = None;
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many lines came, where all was looked at; a last one without a newline counts.
    pub(crate) fn lines(&self) -> Option<u64> {
        Some(self.newlines? + u64::from(self.last.is_some_and(|last| last != b'\n')))
    }
}

#[cfg(test)]
mod tests {
    use super::StreamCounts;

    #[test]
    fn pieces_have_the_lines_of_the_whole() {
        for text in ["", "\n", "a", "a\n", "a\nb", "\n\n", "a\nb\n", "ab\r\ncd"] {
            for size in 1..=3 {
                let mut counts = StreamCounts::new();
                text.as_bytes().chunks(size).for_each(|piece| counts.count(piece));
                counts.count(b"");
                assert_eq!(counts.bytes(), text.len() as u64, "{text:?}");
                let lines = text.split_inclusive('\n').count() as u64;
                assert_eq!(counts.lines(), Some(lines), "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn what_goes_by_unseen_is_counted_in_bytes() {
        let mut counts = StreamCounts::new();
        counts.count(b"one\n");
        counts.skip(1_000);
        counts.count(b"two\n");
        assert_eq!((counts.bytes(), counts.lines()), (1_008, None));
    }
}
