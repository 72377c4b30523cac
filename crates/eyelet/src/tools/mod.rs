//! The tools. A tool is one file here and one line in `all`.

pub mod bash;
mod bash_report;
pub mod grep_files;
mod input_schema;
pub mod list_dir;
pub mod read;

pub use crate::text::command_reply::{SavedOutput, StreamReport};
pub use crate::text::entry_tree::EntryKind;
pub use crate::text::head_tail::{Keep, Piece, Shown};
pub use crate::text::removed_files::RemovedFiles;
pub use bash::{Bash, BashArgs, BashReport};
pub use grep_files::{GrepFiles, GrepFilesArgs, GrepFilesReport, SkippedFiles};
pub use list_dir::{ListDir, ListDirArgs, ListDirReport, ListedEntry};
pub use read::{Image, Read, ReadArgs, ReadReport, TextPage};

use crate::tool::ErasedTool;

/// Every tool, in the order in which hosts list them: what a model does first comes first.
pub(crate) fn all() -> Vec<Box<dyn ErasedTool>> {
    vec![Box::new(ListDir), Box::new(GrepFiles), Box::new(Read), Box::new(Bash)]
}
