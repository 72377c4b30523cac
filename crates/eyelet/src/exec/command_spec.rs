//! The command to run, and how its output is shown and saved.

use std::path::Path;

use crate::environment::Environment;
use crate::exec::output_window::{OutputWindow, SaveTarget};
use crate::exec::sandboxed::sandbox_request::SupervisedCommand;
use crate::fs::directory::Directory;
use crate::progress::Progress;
use crate::text::head_tail::Keep;

/// A command to run.
pub(crate) struct CommandSpec<'a> {
    pub(crate) command: &'a str,
    pub(crate) directory: &'a Directory,
    /// The directory's path, for the command's `PWD`.
    pub(crate) directory_shown: &'a Path,
    pub(crate) environment: &'a Environment,
    /// The supervisor and the sandbox. Without it the command runs in a process group of this
    /// process.
    pub(crate) supervised: Option<&'a SupervisedCommand>,
    pub(crate) keep: Keep,
    pub(crate) window: OutputWindow,
    pub(crate) save_to: SaveTarget,
    /// Counts the bytes that the command prints.
    pub(crate) progress: Progress,
}
