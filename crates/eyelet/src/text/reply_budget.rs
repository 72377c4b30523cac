//! The size limit of a reply, and how two outputs share it.

use crate::text::truncate;

/// The size limit of a reply. To fit the limit, tools return fewer items per page, so the next offset
/// in a reply is correct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyBudget {
    bytes: usize,
}

impl ReplyBudget {
    /// The minimum budget in bytes. One line of 500 characters always fits into it.
    pub const MIN_BYTES: usize = 4096;

    /// The maximum number of lines in a reply. Some clients truncate at 2000 lines.
    pub const MAX_LINES: usize = 1990;

    /// Creates a budget of `bytes`. If `bytes` is below [`ReplyBudget::MIN_BYTES`], the budget is
    /// that minimum.
    pub fn new(bytes: usize) -> Self {
        ReplyBudget { bytes: bytes.max(Self::MIN_BYTES) }
    }

    /// Returns the maximum size of the text of a reply, in bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Returns whether `text` fits the budget.
    pub fn fits(self, text: &str) -> bool {
        TextSize::measure(text).fits(self.beside(0, 0))
    }

    /// `text`, or its start and a last line that says how many bytes are truncated. Keeps whole lines if
    /// one fits.
    pub(crate) fn truncate(self, text: String) -> String {
        /// The most bytes of the last line.
        const NOTE_BYTES: usize = 48;
        if self.fits(&text) {
            return text;
        }
        let room = self.beside(NOTE_BYTES, 1);
        let start = truncate::at_most(&text, room.bytes);
        let last_end = memchr::memchr_iter(b'\n', start.as_bytes()).take(room.lines).last();
        let (shown, line_end) = match last_end {
            Some(end) => (start.get(..=end).unwrap_or_default(), ""),
            None => (start, "\n"),
        };
        format!("{shown}{line_end}[{} bytes truncated]", text.len() - shown.len())
    }

    /// The room that is left after `framing` bytes and `lines` lines of eyelet's own.
    pub(crate) fn beside(self, framing: usize, lines: usize) -> TextSize {
        TextSize {
            bytes: self.bytes.saturating_sub(framing),
            lines: Self::MAX_LINES.saturating_sub(lines),
        }
    }
}

/// The size of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextSize {
    pub(crate) bytes: usize,
    pub(crate) lines: usize,
}

impl TextSize {
    /// No limit.
    pub(crate) const UNLIMITED: TextSize = TextSize { bytes: usize::MAX, lines: usize::MAX };

    /// The size of `text`; a last line without a newline counts.
    pub(crate) fn measure(text: &str) -> TextSize {
        let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let open = !text.is_empty() && !text.ends_with('\n');
        TextSize { bytes: text.len(), lines: newlines + usize::from(open) }
    }

    pub(crate) fn fits(self, room: TextSize) -> bool {
        self.bytes <= room.bytes && self.lines <= room.lines
    }

    pub(crate) fn plus(self, other: TextSize) -> TextSize {
        TextSize { bytes: self.bytes + other.bytes, lines: self.lines + other.lines }
    }

    pub(crate) fn minus(self, other: TextSize) -> TextSize {
        TextSize {
            bytes: self.bytes.saturating_sub(other.bytes),
            lines: self.lines.saturating_sub(other.lines),
        }
    }

    pub(crate) fn half(self) -> TextSize {
        TextSize { bytes: self.bytes / 2, lines: (self.lines / 2).max(1) }
    }
}

/// The share of each of two texts: half of `room`, and what the other does not need.
pub(crate) fn split_between(room: TextSize, wanted: [TextSize; 2]) -> [TextSize; 2] {
    let [first, second] = wanted;
    let [first_bytes, second_bytes] = split(room.bytes, first.bytes, second.bytes);
    let [first_lines, second_lines] = split(room.lines, first.lines, second.lines);
    [
        TextSize { bytes: first_bytes, lines: first_lines },
        TextSize { bytes: second_bytes, lines: second_lines },
    ]
}

fn split(room: usize, first: usize, second: usize) -> [usize; 2] {
    let half = room / 2;
    [half.max(room.saturating_sub(second)), half.max(room.saturating_sub(first))]
}

#[cfg(test)]
#[path = "reply_budget_tests.rs"]
mod tests;
