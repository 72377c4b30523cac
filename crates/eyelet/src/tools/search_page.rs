//! The limits, checks of arguments and parts of replies that `find_files` and `grep_files` share.

use std::path::Path;

use crate::error::{ErrorCode, ToolError};
use crate::paths::confined_path::{ConfinedPath, OpenFailure};
use crate::search::long_lines::MAX_LINE_BYTES;
use crate::search::outcome::SkippedFiles;
use crate::text::escape;
use crate::text::number::{counted, grouped};
use crate::text::reply_budget::{ReplyBudget, TextSize};
use crate::text::truncate;

/// The default number of files or lines per page.
pub const DEFAULT_LIMIT: u64 = 100;
/// The maximum number of files or lines per page. The tool reduces a higher limit to this number.
pub const MAX_LIMIT: u64 = 2000;
/// The maximum length of a pattern or glob, in bytes.
pub const MAX_PATTERN_BYTES: usize = 8 * 1024;

pub(super) fn check_page(pattern: &str, limit: u64, offset: u64) -> Result<(), ToolError> {
    if pattern.is_empty() {
        return Err(ToolError::invalid_input("pattern must not be empty"));
    }
    if limit == 0 {
        return Err(ToolError::invalid_input("limit must be greater than zero"));
    }
    if offset == 0 {
        return Err(ToolError::invalid_input("offset must be a 1-indexed match number"));
    }
    Ok(())
}

pub(super) fn check_text(argument: &str, text: &str) -> Result<(), ToolError> {
    if text.len() > MAX_PATTERN_BYTES {
        return Err(ToolError::invalid_input(format!(
            "{argument} must be at most {MAX_PATTERN_BYTES} bytes"
        )));
    }
    if text.contains('\0') {
        return Err(ToolError::invalid_input(format!(
            "{argument} must not contain a NUL character"
        )));
    }
    Ok(())
}

/// The error for a search path that cannot be opened.
pub(super) fn not_opened(path: &ConfinedPath, failure: OpenFailure) -> ToolError {
    let unable = format!("unable to access `{}`", shown(path.shown()));
    match failure {
        OpenFailure::Refused(error) => error,
        OpenFailure::Io(error) => ToolError::io(unable, &error),
        OpenFailure::NotAFile => ToolError::new(
            ErrorCode::NotAFile,
            format!("{unable}: neither a regular file nor a directory"),
        ),
    }
}

pub(super) fn shown(path: &Path) -> String {
    escape::name(path.as_os_str()).into_owned()
}

/// How many files or matches there are on all pages, if this is the last page.
pub(super) fn total(offset: u64, shown: u64, next_offset: Option<u64>) -> Option<u64> {
    let before = if shown > 0 { offset - 1 } else { 0 };
    next_offset.is_none().then(|| before + shown)
}

pub(super) const NOTHING: &str = "No matches found.";

/// The last line of a page of files that another page follows.
pub(super) fn more_files_line(files: usize, next_offset: u64) -> String {
    format!("\nMore than {files} files match; next offset {next_offset}")
}

/// Limits paths to what a reply can show, at least one. Returns how many bytes were removed.
pub(super) fn fit_paths(files: &mut Vec<String>, budget: ReplyBudget) -> u64 {
    // Two numbers and the words of the last line.
    let room: TextSize = budget.beside(100, 1);
    let mut used = 0;
    let fitting = files.iter().take(room.lines).take_while(|file| {
        used += file.len() + 1;
        used <= room.bytes
    });
    let fitting = fitting.count().max(1);
    let removed = files.drain(fitting.min(files.len())..).map(|file| file.len() as u64 + 1).sum();
    if let Some(only) = files.first_mut().filter(|file| file.len() > room.bytes) {
        *only = truncate::at_most(only, room.bytes).to_owned();
    }
    removed
}

/// The basis of an empty result: `[searched 5,310 files; skipped 12 binary, 3 unreadable]`.
pub(super) fn searched_line(searched: u64, skipped: &SkippedFiles) -> String {
    let SkippedFiles { binary, unreadable, ignored, not_utf8, line_too_long } = *skipped;
    let up_to_a_line = format!("only up to a line above {} MiB", MAX_LINE_BYTES >> 20);
    let parts = [
        (binary, "binary"),
        (unreadable, "unreadable"),
        (ignored, "ignored"),
        (not_utf8, "with names that are not UTF-8"),
        (line_too_long, up_to_a_line.as_str()),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts.map(|(count, why)| format!("{} {why}", grouped(count))).collect();
    let skipped = if parts.is_empty() { "" } else { "; skipped " };
    format!("[searched {}{skipped}{}]", counted(searched, "file", "files"), parts.join(", "))
}
