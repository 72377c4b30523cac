//! Counts the bytes of a stream that are not UTF-8.

/// The most bytes of one character.
pub(super) const MAX_CHAR_BYTES: usize = 4;

/// Reads a stream in pieces, or a part of a stream that another thread joins with the parts before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Utf8Check {
    /// The first bytes of a part, which may belong to a character that starts before it.
    head: Vec<u8>,
    /// Whether the part has bytes after its head.
    has_body: bool,
    invalid: u64,
    /// An incomplete character at the end.
    partial: Vec<u8>,
}

impl Utf8Check {
    /// For the start of a stream.
    pub(crate) fn new() -> Self {
        Utf8Check { has_body: true, ..Utf8Check::default() }
    }

    /// For a part that may start inside a character.
    pub(crate) fn part() -> Self {
        Utf8Check::default()
    }

    /// Adds the next piece.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        let mut rest = piece;
        if !self.has_body {
            let space = MAX_CHAR_BYTES - 1 - self.head.len();
            let (head, body) = rest.split_at(continuation_bytes(rest, space));
            self.head.extend_from_slice(head);
            self.has_body = !body.is_empty();
            rest = body;
        }
        if !self.partial.is_empty() {
            let (end, after) = rest.split_at(continuation_bytes(rest, MAX_CHAR_BYTES - 1));
            self.partial.extend_from_slice(end);
            if after.is_empty() && is_incomplete(&self.partial) {
                return;
            }
            self.end_partial();
            rest = after;
        }
        let (whole, partial) = rest.split_at(rest.len() - incomplete_end(rest));
        self.partial.extend_from_slice(partial);
        // Far faster than `from_utf8` for text that is not ASCII.
        if simdutf8::basic::from_utf8(whole).is_err() {
            self.invalid += invalid_bytes(whole);
        }
    }

    /// Adds NUL bytes: they end an incomplete character.
    pub(crate) fn push_hole(&mut self) {
        self.end_partial();
        self.has_body = true;
    }

    /// Adds the next part of the stream.
    pub(crate) fn append(&mut self, part: Utf8Check) {
        self.push(&part.head);
        if part.has_body {
            self.end_partial();
            self.has_body = true;
            self.invalid += part.invalid;
            self.partial = part.partial;
        }
    }

    /// How many bytes of the stream are not UTF-8. An incomplete character at its end is not.
    pub(crate) fn finish(mut self) -> u64 {
        self.end_partial();
        self.invalid
    }

    fn end_partial(&mut self) {
        self.invalid += invalid_bytes(&self.partial);
        self.partial.clear();
    }
}

/// How many of the first bytes, at most `most`, can only continue a character.
fn continuation_bytes(bytes: &[u8], most: usize) -> usize {
    bytes.iter().take(most).take_while(|byte| matches!(byte, 0x80..=0xbf)).count()
}

/// How many bytes at the end are the start of a character.
fn incomplete_end(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(MAX_CHAR_BYTES - 1);
    let first_byte = last.clone().position(|byte| !matches!(byte, 0x80..=0xbf));
    let length = first_byte.map_or(0, |index| index + 1);
    let end = bytes.get(bytes.len() - length..).unwrap_or_default();
    if is_incomplete(end) { length } else { 0 }
}

/// Whether these bytes are the start of a character.
pub(crate) fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes)
        .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

fn invalid_bytes(bytes: &[u8]) -> u64 {
    bytes.utf8_chunks().map(|chunk| chunk.invalid().len() as u64).sum()
}

#[cfg(test)]
#[path = "utf8_check_tests.rs"]
mod tests;
