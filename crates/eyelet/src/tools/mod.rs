//! The tools with their arguments, reports and limits.

pub mod bash;
mod bash_job;
mod bash_outcome;
mod bash_report;
pub mod find_files;
pub mod grep_files;
mod grep_report;
mod input_schema;
pub mod jobs;
pub mod list_dir;
pub mod read;
mod read_image;
mod read_text;
mod search_page;
mod text_page;

pub use crate::images::region::Region;
pub use crate::search::ignore::rules::Ignored;
pub use crate::text::blocked::{Blocked, BlockedAction, Certainty};
pub use crate::text::command_reply::{FoldedOutput, SavedOutput, StreamReport};
pub use crate::text::entry_tree::EntryKind;
pub use crate::text::head_tail::{Keep, Piece, Shown};
pub use crate::text::matched_lines::{FileMatches, LineMatch, LineText, MAX_LINE_CHARS, ShownLine};
pub use crate::text::removed_files::RemovedFiles;
pub use crate::text::reverted::{Fate, Reverted};
pub use bash::{Bash, BashArgs, BashReport, JobState, JobStatus, OnTimeout};
pub use find_files::{FindFiles, FindFilesArgs, FindFilesReport};
pub use grep_files::{
    FileCount, Found, GrepFiles, GrepFilesArgs, GrepFilesReport, MatchPage, Show, SkippedFiles,
};
pub use jobs::{JobsArgs, JobsReport, JobsTool, ListedJob};
pub use list_dir::{ListDir, ListDirArgs, ListDirReport, ListedEntry};
pub use read::{Image, Read, ReadArgs, ReadReport};
pub use text_page::{BinaryFile, TextPage};

use crate::tool::ErasedTool;

/// Every tool, in the order in which hosts list them: what a model does first comes first.
pub(crate) fn all() -> Vec<Box<dyn ErasedTool>> {
    vec![
        Box::new(ListDir),
        Box::new(FindFiles),
        Box::new(GrepFiles),
        Box::new(Read),
        Box::new(Bash),
        Box::new(JobsTool),
    ]
}
