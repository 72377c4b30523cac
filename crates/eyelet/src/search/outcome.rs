//! The result of a search: what it counted, or why it failed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::cancel::Stop;
use crate::error::ToolError;

/// How many paths of unreadable files a search remembers.
const MAX_UNREADABLE_PATHS: usize = 20;

/// How many files were searched and skipped.
#[derive(Debug, Default)]
pub(crate) struct SearchCounts {
    pub(crate) searched: u64,
    pub(crate) skipped: SkippedFiles,
    /// The paths of the first unreadable files and directories.
    pub(crate) unreadable: Vec<PathBuf>,
}

/// How many files and directories were skipped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedFiles {
    /// How many files were skipped as binary, because they contain a NUL byte.
    pub binary: u64,
    /// Files and directories that could not be opened or read.
    pub unreadable: u64,
    /// Entries that an ignore rule excludes. The entries of an ignored directory are not counted,
    /// and neither are hidden entries.
    pub ignored: u64,
    /// Files and directories whose name is not UTF-8. The entries of such a directory are not
    /// counted.
    pub not_utf8: u64,
    /// Files that were searched only up to a line that is too long to hold in memory.
    pub line_too_long: u64,
}

impl SearchCounts {
    pub(crate) fn add(&mut self, other: SearchCounts) {
        self.searched += other.searched;
        self.skipped.add(&other.skipped);
        self.unreadable.extend(other.unreadable);
        self.unreadable.truncate(MAX_UNREADABLE_PATHS);
    }

    /// The counts of a search whose search path is not UTF-8.
    pub(crate) fn of_name_not_utf8() -> Self {
        let skipped = SkippedFiles { not_utf8: 1, ..SkippedFiles::default() };
        SearchCounts { skipped, ..SearchCounts::default() }
    }

    /// Counts a file or directory that could not be opened or read.
    pub(crate) fn add_unreadable(&mut self, folder: &Path, name: &OsStr) {
        self.skipped.unreadable += 1;
        if self.unreadable.len() < MAX_UNREADABLE_PATHS {
            let path = if name.is_empty() { folder.to_owned() } else { folder.join(name) };
            self.unreadable.push(path);
        }
    }
}

impl SkippedFiles {
    pub(crate) fn add(&mut self, other: &SkippedFiles) {
        self.binary += other.binary;
        self.unreadable += other.unreadable;
        self.ignored += other.ignored;
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

impl From<ToolError> for SearchFailure {
    fn from(error: ToolError) -> Self {
        SearchFailure::Failed(error)
    }
}
