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

/// `text`, without its middle if it has more than `bytes` bytes: two thirds of its start and one third of
/// its end remain.
pub(crate) fn middle(text: String, bytes: usize) -> String {
    if text.len() <= bytes {
        return text;
    }
    format!("{} … {}", at_most(&text, bytes * 2 / 3), last_at_most(&text, bytes / 3))
}

/// The longest end of `text` that has at most `bytes` bytes.
pub(crate) fn last_at_most(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}
