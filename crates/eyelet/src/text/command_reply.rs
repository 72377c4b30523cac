//! Renders a command's two streams as one text: a header line, then stdout, then stderr.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::text::escape;
use crate::text::head_tail::Shown;
use crate::text::reply_budget::{ReplyBudget, TextSize};
use crate::text::truncate;

/// The most bytes of the reason why output was not saved.
const MAX_REASON_BYTES: usize = 100;
/// The most bytes of a protected path in the header.
pub(crate) const MAX_NOTED_PATH_BYTES: usize = 200;
/// The most bytes of a note about protected paths, with its number and words.
pub(crate) const MAX_NOTE_BYTES: usize = MAX_NOTED_PATH_BYTES + 80;

/// One output stream of a command: the shown part, and where all of it was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamReport {
    /// The shown part.
    pub shown: Shown,
    /// How many bytes the command wrote.
    pub total_bytes: u64,
    /// How many lines the command wrote; a last line without a newline counts.
    pub lines: u64,
    /// Where a truncated stream was saved.
    pub saved: Option<SavedOutput>,
}

/// Where a truncated stream was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavedOutput {
    /// The file contains all of it, as raw bytes.
    Whole {
        /// The file.
        file: PathBuf,
    },
    /// The file reached its limit.
    Start {
        /// The file.
        file: PathBuf,
        /// How many bytes of the start the file contains.
        bytes: u64,
    },
    /// Saving it failed.
    Failed {
        /// Why.
        reason: String,
    },
}

impl StreamReport {
    /// Whether part of the text is not shown.
    pub fn is_truncated(&self) -> bool {
        !matches!(self.shown, Shown::Whole(_))
    }

    /// The end of the stream if only that is shown, otherwise its start.
    pub fn text(&self) -> &str {
        match &self.shown {
            Shown::Whole(text) => text,
            Shown::Head(piece) | Shown::Tail(piece) => &piece.text,
            Shown::Both { head, .. } => &head.text,
        }
    }

    /// The end of the stream, if it is shown in addition to the start.
    pub fn tail(&self) -> Option<&str> {
        match &self.shown {
            Shown::Both { tail, .. } => Some(&tail.text),
            Shown::Whole(_) | Shown::Head(_) | Shown::Tail(_) => None,
        }
    }

    /// How many bytes are not shown.
    pub(crate) fn withheld_bytes(&self) -> u64 {
        let shown = match &self.shown {
            Shown::Whole(_) => self.total_bytes,
            Shown::Head(piece) | Shown::Tail(piece) => piece.bytes,
            Shown::Both { head, tail } => head.bytes + tail.bytes,
        };
        self.total_bytes.saturating_sub(shown)
    }

    /// The file that contains all of it or its start.
    pub fn file(&self) -> Option<&PathBuf> {
        match self.saved.as_ref()? {
            SavedOutput::Whole { file } | SavedOutput::Start { file, .. } => Some(file),
            SavedOutput::Failed { .. } => None,
        }
    }

    /// Why it was not saved, or not completely.
    pub fn save_error(&self) -> Option<String> {
        match self.saved.as_ref()? {
            SavedOutput::Whole { .. } => None,
            SavedOutput::Start { bytes, .. } => {
                Some(format!("only the first {bytes} of {} bytes were saved", self.total_bytes))
            }
            SavedOutput::Failed { reason } => Some(reason.clone()),
        }
    }

    /// The summary for the header.
    fn summary(&self) -> String {
        let lines = match self.lines {
            0 => return "empty".to_owned(),
            1 => "1 line".to_owned(),
            lines => format!("{lines} lines"),
        };
        let shown = match &self.shown {
            Shown::Whole(_) => return lines,
            Shown::Head(head) => format!("first {}", head.bytes),
            Shown::Tail(tail) => format!("last {}", tail.bytes),
            Shown::Both { head, tail } => format!("first {} and last {}", head.bytes, tail.bytes),
        };
        let mut summary = format!("{lines}, {} bytes, {shown} shown", self.total_bytes);
        // Writing to a string cannot fail.
        let _ = match &self.saved {
            Some(SavedOutput::Whole { file }) => {
                write!(summary, ", saved to {}", escape::name(file.as_os_str()))
            }
            Some(SavedOutput::Start { file, bytes }) => {
                write!(summary, ", first {bytes} bytes saved to {}", escape::name(file.as_os_str()))
            }
            Some(SavedOutput::Failed { reason }) => {
                write!(
                    summary,
                    ", not saved: {}",
                    truncate::at_most(&escape::text(reason), MAX_REASON_BYTES)
                )
            }
            None => Ok(()),
        };
        summary
    }

    fn write_body(&self, text: &mut String) {
        text.push_str(self.text());
        if let Shown::Both { tail, .. } = &self.shown {
            start_line(text);
            let _ = writeln!(text, "[{} bytes truncated]", self.withheld_bytes());
            text.push_str(&tail.text);
        }
    }
}

/// The room for the two streams in a reply. A file's path may take `path_bytes`, and a note about
/// protected paths `note_bytes`.
pub(crate) fn room(budget: ReplyBudget, path_bytes: usize, note_bytes: usize) -> TextSize {
    // Eight numbers of up to 20 digits, one number of removed files, and the words around them.
    const NUMBERS_AND_WORDS: usize = 540;
    let paths = 2 * path_bytes.max(MAX_REASON_BYTES) + path_bytes;
    budget.beside(NUMBERS_AND_WORDS + paths + note_bytes, 5)
}

/// The whole reply. `status` says how the command ended; `notes` are added to the header.
pub(crate) fn render(
    status: &str,
    stdout: &StreamReport,
    stderr: &StreamReport,
    notes: impl IntoIterator<Item = String>,
) -> String {
    let mut text = format!("[{status}; stdout {}; stderr {}", stdout.summary(), stderr.summary());
    for note in notes {
        let _ = write!(text, "; {note}");
    }
    text.push(']');
    if stdout.total_bytes > 0 {
        text.push('\n');
        stdout.write_body(&mut text);
    }
    if stderr.total_bytes > 0 {
        start_line(&mut text);
        text.push_str("[stderr]\n");
        stderr.write_body(&mut text);
    }
    text
}

/// Starts a new line: eyelet's own lines never continue a line of the command.
fn start_line(text: &mut String) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
#[path = "command_reply_tests.rs"]
mod tests;
