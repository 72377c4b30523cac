//! The result of a search: what it counted, or why it failed.

use crate::cancel::Stop;
use crate::error::ToolError;

/// How many files were searched and skipped.
#[derive(Debug, Default)]
pub(crate) struct SearchCounts {
    /// None if the engine does not report it.
    pub(crate) searched: Option<u64>,
    pub(crate) unreadable: u64,
    pub(crate) not_utf8: u64,
    pub(crate) line_too_long: u64,
}

impl SearchCounts {
    pub(crate) fn add(&mut self, other: &SearchCounts) {
        self.searched = self.searched.zip(other.searched).map(|(one, other)| one + other);
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
