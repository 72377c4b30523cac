//! Renders a command's two streams as one text: a header line, then stdout, then stderr.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::text::escape;
use crate::text::head_tail::Shown;
use crate::text::number::counted;
use crate::text::reply_budget::{ReplyBudget, TextSize};
use crate::text::truncate;

/// The most bytes of the reason why output was not saved.
const MAX_REASON_BYTES: usize = 100;
/// The most bytes of a protected path in the header.
pub(crate) const MAX_NOTED_PATH_BYTES: usize = 200;
/// The most bytes of a note about protected paths, or of all notes about what the sandbox refused, with numbers and
/// words.
pub(crate) const MAX_NOTE_BYTES: usize = MAX_NOTED_PATH_BYTES + 80;

/// One output stream of a command: the part that the reply shows, and the file with the saved
/// stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamReport {
    /// The part of the stream that the reply shows.
    pub shown: Shown,
    /// How many bytes the command wrote to this stream.
    pub total_bytes: u64,
    /// How many lines the command wrote to this stream, including a last line without a newline.
    pub lines: u64,
    /// The file with the saved stream. Set for a background job, and if the reply omits part of the
    /// stream or text that was overwritten or erased.
    pub saved: Option<SavedOutput>,
    /// The text that a terminal would show, if it differs from the raw stream. The text form of the
    /// reply shows this text.
    pub folded: Option<FoldedOutput>,
}

/// A stream as a terminal would show it: without escape sequences, and without text that was
/// overwritten or erased.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoldedOutput {
    /// The part of the stream that the reply shows.
    pub shown: Shown,
    /// How many bytes the folded stream has.
    pub total_bytes: u64,
    /// How many lines the folded stream has, including a last line without a newline.
    pub lines: u64,
    /// How often the command overwrote or erased text. All changes until the cursor moves back or
    /// the line ends count as one.
    pub redraws: u64,
}

/// The file in which eyelet saved a stream, or the reason why eyelet did not save the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavedOutput {
    /// The file contains the whole stream, as raw bytes.
    Whole {
        /// The file.
        file: PathBuf,
    },
    /// The file reached its size limit and contains only the start of the stream.
    Start {
        /// The file.
        file: PathBuf,
        /// How many bytes the file contains.
        bytes: u64,
    },
    /// Saving the stream failed.
    Failed {
        /// The reason.
        reason: String,
    },
}

impl StreamReport {
    /// Returns whether the reply omits part of the stream.
    pub fn is_truncated(&self) -> bool {
        !matches!(self.shown, Shown::Whole(_))
    }

    /// Whether the reply does not show all of it.
    pub(crate) fn needs_file(&self) -> bool {
        let is_folded =
            |folded: &FoldedOutput| folded.redraws > 0 || !matches!(folded.shown, Shown::Whole(_));
        self.is_truncated() || self.folded.as_ref().is_some_and(is_folded)
    }

    /// Returns the text that the reply shows. If the reply shows both the start and the end of the
    /// stream, returns only the start.
    pub fn text(&self) -> &str {
        self.shown.text()
    }

    /// Returns the end of the stream, if the reply shows both the start and the end.
    pub fn tail(&self) -> Option<&str> {
        match &self.shown {
            Shown::Both { tail, .. } => Some(&tail.text),
            Shown::Whole(_) | Shown::Head(_) | Shown::Tail(_) => None,
        }
    }

    /// How many bytes are not shown.
    pub(crate) fn withheld_bytes(&self) -> u64 {
        withheld(&self.shown, self.total_bytes)
    }

    /// The content of the text form: the part, the total bytes, the lines and the folded redraws.
    fn text_form(&self) -> (&Shown, u64, u64, u64) {
        match &self.folded {
            Some(folded) => (&folded.shown, folded.total_bytes, folded.lines, folded.redraws),
            None => (&self.shown, self.total_bytes, self.lines, 0),
        }
    }

    /// Returns the file that contains the whole stream or its start.
    pub fn file(&self) -> Option<&PathBuf> {
        match self.saved.as_ref()? {
            SavedOutput::Whole { file } | SavedOutput::Start { file, .. } => Some(file),
            SavedOutput::Failed { .. } => None,
        }
    }

    /// Returns the reason why the stream was not saved, or was saved only in part.
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
    fn summary(&self, named_files: NamedFiles) -> String {
        let (shown, total_bytes, lines, redraws) = self.text_form();
        let mut summary = match lines {
            0 => "empty".to_owned(),
            1 => "1 line".to_owned(),
            lines => format!("{lines} lines"),
        };
        if redraws > 0 {
            summary.push_str(&format!(", {} folded", counted(redraws, "redraw", "redraws")));
        }
        let shown = match shown {
            Shown::Whole(_) if redraws == 0 && named_files == NamedFiles::IfTruncated => {
                return summary;
            }
            Shown::Whole(_) => None,
            Shown::Head(head) => Some(format!("first {}", head.bytes)),
            Shown::Tail(tail) => Some(format!("last {}", tail.bytes)),
            Shown::Both { head, tail } => {
                Some(format!("first {} and last {}", head.bytes, tail.bytes))
            }
        };
        if let Some(shown) = shown {
            summary.push_str(&format!(", {total_bytes} bytes, {shown} shown"));
        }
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
        let (shown, total_bytes, ..) = self.text_form();
        text.push_str(shown.text());
        if let Shown::Both { tail, .. } = shown {
            start_line(text);
            let _ = writeln!(text, "[{} bytes truncated]", withheld(shown, total_bytes));
            text.push_str(&tail.text);
        }
    }
}

/// How many of these bytes are not shown.
fn withheld(shown: &Shown, total_bytes: u64) -> u64 {
    let shown = match shown {
        Shown::Whole(_) => total_bytes,
        Shown::Head(piece) | Shown::Tail(piece) => piece.bytes,
        Shown::Both { head, tail } => head.bytes + tail.bytes,
    };
    total_bytes.saturating_sub(shown)
}

/// The room for the two streams in a reply. A file's path may take `path_bytes`, and a note about
/// protected paths `note_bytes`.
pub(crate) fn room(budget: ReplyBudget, path_bytes: usize, note_bytes: usize) -> TextSize {
    // Ten numbers of up to 26 bytes, one number of removed files, and the words around them.
    const NUMBERS_AND_WORDS: usize = 640;
    let paths = 2 * path_bytes.max(MAX_REASON_BYTES) + path_bytes;
    budget.beside(NUMBERS_AND_WORDS + paths + note_bytes, 5)
}

/// Which files of saved output the header names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedFiles {
    /// The files of streams that the text does not show completely.
    IfTruncated,
    /// The files of both streams, because a job continues to write to them.
    Always,
}

/// The whole reply. `status` says how the command ended; `notes` are added to the header.
pub(crate) fn render(
    status: &str,
    [stdout, stderr]: [&StreamReport; 2],
    named_files: NamedFiles,
    notes: impl IntoIterator<Item = String>,
) -> String {
    let summary = |stream: &StreamReport| stream.summary(named_files);
    let mut text = format!("[{status}; stdout {}; stderr {}", summary(stdout), summary(stderr));
    for note in notes {
        let _ = write!(text, "; {note}");
    }
    text.push(']');
    if stdout.text_form().1 > 0 {
        text.push('\n');
        stdout.write_body(&mut text);
    }
    if stderr.text_form().1 > 0 {
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
