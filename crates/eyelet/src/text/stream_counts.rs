//! Counts the bytes and lines of a stream.

/// Bytes and lines of a stream that arrives in pieces.
#[derive(Debug, Default)]
pub(crate) struct StreamCounts {
    bytes: u64,
    newlines: u64,
    last: Option<u8>,
}

impl StreamCounts {
    /// Counts the next bytes of the stream.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.last = piece.last().copied().or(self.last);
        self.newlines += memchr::memchr_iter(b'\n', piece).count() as u64;
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of lines; a last line without a newline counts.
    pub(crate) fn lines(&self) -> u64 {
        self.newlines + u64::from(self.last.is_some_and(|last| last != b'\n'))
    }
}

#[cfg(test)]
mod tests {
    use super::StreamCounts;

    #[test]
    fn pieces_have_the_lines_of_the_whole() {
        for text in ["", "\n", "a", "a\n", "a\nb", "\n\n", "a\nb\n", "ab\r\ncd"] {
            for size in 1..=3 {
                let mut counts = StreamCounts::default();
                text.as_bytes().chunks(size).for_each(|piece| counts.add(piece));
                counts.add(b"");
                assert_eq!(counts.bytes(), text.len() as u64, "{text:?}");
                let lines = text.split_inclusive('\n').count() as u64;
                assert_eq!(counts.lines(), lines, "{text:?} in pieces of {size}");
            }
        }
    }
}
