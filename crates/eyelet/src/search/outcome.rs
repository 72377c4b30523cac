//! The result of a search: what it counted, or why it failed.

use crate::cancel::Stop;
use crate::error::ToolError;

/// How many files were searched and skipped.
#[derive(Debug, Default)]
pub(crate) struct SearchCounts {
    pub(crate) searched: u64,
    pub(crate) skipped: SkippedFiles,
}

/// How many files and directories were skipped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedFiles {
    /// Files and directories that could not be opened or read.
    pub unreadable: u64,
    /// Files and directories whose name is not UTF-8. Entries of such a directory are not counted.
    pub not_utf8: u64,
    /// Files with a line that is too long to search in memory.
    pub line_too_long: u64,
}

impl SearchCounts {
    pub(crate) fn add(&mut self, other: &SearchCounts) {
        self.searched += other.searched;
        self.skipped.add(&other.skipped);
    }
}

impl SkippedFiles {
    pub(crate) fn add(&mut self, other: &SkippedFiles) {
        self.unreadable += other.unreadable;
        self.not_utf8 += other.not_utf8;
        self.line_too_long += other.line_too_long;
    }
}

/// Why a search failed.
pub(crate) enum SearchFailure {
    Stopped(Stop),
    Failed(ToolError),
}

impl From<Stop> for SearchFailure {
    fn from(stop: Stop) -> Self {
        SearchFailure::Stopped(stop)
    }
}
