//! The report of `read` for a text file or a binary file, and its text form.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};

use crate::text::hex_dump::hex_dump;
use crate::text::number::{counted, rounded_size};

/// The maximum number of characters shown of one line.
pub const MAX_LINE_LENGTH: usize = 500;

/// How many bytes of a binary file the text form shows.
pub(super) const MAX_DUMP_BYTES: usize = 512;

/// The note in the header for a file to which another process is still writing.
pub(crate) const STILL_GROWING: &str = "still growing";

/// A page of lines of a file, as `read` returns it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TextPage {
    /// The path of the file, as the caller wrote it.
    pub path: String,
    /// The lines of the page with their line endings, and no other text.
    pub content: String,
    /// The number of the first line of the page, counting from 1.
    pub offset: u64,
    /// How many lines `content` has.
    pub lines_shown: u64,
    /// How many lines the file has.
    pub total_lines: u64,
    /// Whether the file has more lines after the last line of the page.
    pub truncated: bool,
    /// Whether `total_lines` is exact. False if the time limit was reached before the end of the
    /// file.
    #[serde(skip_serializing_if = "is_true")]
    pub total_lines_exact: bool,
    /// Set if the file is binary. The text form shows its first bytes instead of `content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary: Option<BinaryFile>,
    /// How many lines of the page are truncated at their end.
    #[serde(skip)]
    pub lines_truncated: u64,
    /// The number of the first character shown of each line, counting from 1.
    #[serde(skip)]
    pub column: u64,
    /// How many bytes of the file the page does not show, if the size of the file is known.
    #[serde(skip)]
    pub withheld_bytes: u64,
    /// How many bytes are not valid UTF-8, in a file that was read as UTF-8.
    #[serde(skip)]
    pub invalid_bytes: u64,
    /// The likely encoding of a file that has bytes that are not UTF-8.
    #[serde(skip)]
    pub likely_encoding: Option<String>,
    /// Whether the file grew during the call.
    #[serde(skip)]
    pub is_growing: bool,
    /// Whether the text form shows the number of each line.
    #[serde(skip)]
    pub is_numbered: bool,
}

/// The details of a binary file, which only the text form shows. In the envelope, the field `binary` is just `true`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BinaryFile {
    /// The type of the file, such as `ELF 64-bit`.
    pub kind: &'static str,
    /// The size of the file, if known.
    pub size: Option<u64>,
    /// The first bytes of the file, which the text form shows as a hex dump.
    pub start: Vec<u8>,
    /// A command that shows the content of the file, if eyelet knows one, its program is installed
    /// and commands are allowed. `FILE` stands for the path.
    pub command: Option<&'static str>,
}

impl Serialize for BinaryFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl BinaryFile {
    fn header(&self) -> String {
        let mut header = format!("[binary: {}", self.kind);
        if let Some(size) = self.size {
            header.push_str(&format!(", {}", rounded_size(size)));
        }
        let shown = self.start.len() as u64;
        let part = if self.size == Some(shown) { "all" } else { "first" };
        let bytes = counted(shown, "byte", "bytes");
        header.push_str(&format!("; {part} {bytes} as hex"));
        if let Some(command) = self.command {
            header.push_str(&format!("; try `{command}`"));
        }
        header + "]"
    }
}

fn is_true(value: &bool) -> bool {
    *value
}

impl TextPage {
    /// Returns the offset of the next page, if more lines follow the last line of the page.
    pub fn next_offset(&self) -> Option<u64> {
        self.truncated.then(|| self.offset.saturating_add(self.lines_shown))
    }

    /// Returns the column at which truncated lines continue, if a line of the page is truncated at
    /// its end.
    pub fn next_column(&self) -> Option<u64> {
        let next = self.column.saturating_add(MAX_LINE_LENGTH as u64);
        (self.lines_truncated > 0).then_some(next)
    }

    /// Describes which lines of the file the page shows, such as `lines 1-20 of 300`.
    pub fn lines_in_words(&self) -> String {
        let total = match self.total_lines_exact {
            true => self.total_lines.to_string(),
            false => format!("at least {}", self.total_lines),
        };
        if self.lines_shown == 0 {
            let lines = if self.total_lines == 1 { "line" } else { "lines" };
            return format!("no lines at offset {}; {total} {lines} in total", self.offset);
        }
        let last = self.offset + self.lines_shown - 1;
        format!("lines {}-{last} of {total}", self.offset)
    }

    /// Describes how many lines are truncated, such as `1 line truncated`.
    pub fn truncated_in_words(&self) -> String {
        let lines = if self.lines_truncated == 1 { "line" } else { "lines" };
        format!("{} {lines} truncated", self.lines_truncated)
    }

    /// The text form: one header line, then the lines, or the first bytes of a binary file.
    pub(super) fn text_form(&self) -> String {
        let (header, body) = match &self.binary {
            Some(binary) => (binary.header(), hex_dump(&binary.start)),
            None if self.is_numbered => (self.header(), self.numbered_lines()),
            None => (self.header(), self.content.clone()),
        };
        if body.is_empty() { header } else { header + "\n" + &body }
    }

    /// One line that says which part of the file this is and how to continue.
    fn header(&self) -> String {
        let mut header = format!("[{}", self.lines_in_words());
        if let Some(offset) = self.next_offset() {
            header.push_str(&format!("; next offset {offset}"));
        }
        if let Some(column) = self.next_column() {
            let truncated = self.truncated_in_words();
            header.push_str(&format!("; {truncated}, continue with column {column}"));
        }
        if self.invalid_bytes > 0 {
            let at_least = if self.total_lines_exact { "" } else { "at least " };
            let bytes = counted(self.invalid_bytes, "byte is", "bytes are");
            header.push_str(&format!("; {at_least}{bytes} not UTF-8"));
        }
        if let Some(encoding) = &self.likely_encoding {
            header.push_str(&format!("; try encoding={encoding}"));
        }
        if self.is_growing {
            header.push_str(&format!("; {STILL_GROWING}"));
        }
        header.push(']');
        header
    }

    /// The lines, each after its number and a tab.
    fn numbered_lines(&self) -> String {
        let mut text = String::with_capacity(self.content.len() + 8 * self.lines_shown as usize);
        let mut lines = self.content.split_inclusive('\n');
        for number in (self.offset..).take(self.lines_shown as usize) {
            // A last line without a newline may have no character in the window.
            let line = lines.next().unwrap_or_default();
            let _ = write!(text, "{number}\t{line}");
        }
        text
    }
}
