//! Truncates text at character boundaries.

/// The longest start of `text` that has at most `bytes` bytes.
pub(crate) fn at_most(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The longest end of `text` that has at most `bytes` bytes.
pub(crate) fn last_at_most(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}
