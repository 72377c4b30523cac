//! The command to run, and how its output is shown and saved.

use std::path::PathBuf;
use std::sync::Arc;

use crate::environment::Environment;
use crate::exec::output_window::{OutputWindow, SaveTarget};
use crate::exec::sandboxed::sandbox_request::SupervisedCommand;
use crate::fs::directory::Directory;
use crate::live_output::LiveOutput;
use crate::progress::Progress;
use crate::text::head_tail::{HeadTailBuffer, Keep};

/// A command to run.
pub(crate) struct CommandSpec {
    pub(crate) command: String,
    pub(crate) directory: Directory,
    /// The directory's path, for the command's `PWD`.
    pub(crate) directory_shown: PathBuf,
    pub(crate) environment: Arc<Environment>,
    /// The supervisor and the sandbox. Without it the command runs in a process group of this
    /// process.
    pub(crate) supervised: Option<SupervisedCommand>,
    pub(crate) keep: Keep,
    pub(crate) window: OutputWindow,
    pub(crate) save_to: SaveTarget,
    /// Counts the bytes that the command prints.
    pub(crate) progress: Progress,
    /// Takes the output while the command runs.
    pub(crate) live_output: Option<LiveOutput>,
    /// Whether the call may end before the command does.
    pub(crate) lifetime: Lifetime,
}

/// Whether a command ends with its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// The command ends with its call.
    Call,
    /// The command may become a job, which outlives its call.
    MaybeJob,
}

impl CommandSpec {
    /// An empty buffer for one stream. The buffer of a possible job holds both ends, because
    /// replies show the end of the output of a job.
    pub(crate) fn buffer(&self) -> HeadTailBuffer {
        match self.lifetime {
            Lifetime::Call => self.window.buffer(self.keep),
            Lifetime::MaybeJob => self.window.buffer_of_both_ends(),
        }
    }
}
