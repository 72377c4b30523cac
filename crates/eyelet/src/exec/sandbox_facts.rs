//! The facts about the sandbox of a command that a report needs.

use std::path::{Path, PathBuf};

use crate::text::stderr_clues::Refuses;

/// How a command was sandboxed.
#[derive(Clone, Debug)]
pub(crate) struct SandboxFacts {
    pub(crate) refuses: Refuses,
    pub(crate) network: NetworkAccess,
    /// The directories that it could write to.
    pub(crate) writable: Vec<PathBuf>,
    /// Directories in them that it could only read.
    pub(crate) read_only: Vec<PathBuf>,
    /// Denied paths.
    pub(crate) hidden: Vec<PathBuf>,
}

/// The network that a command could use, besides the loopback interface of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetworkAccess {
    Nothing,
    /// Allowed hosts, through a proxy.
    AllowedHosts,
    Everything,
}

impl SandboxFacts {
    /// Whether the command could write to this path, as far as directories decide it: the innermost one counts.
    pub(crate) fn is_writable(&self, path: &Path) -> bool {
        let depth = |folders: &[PathBuf]| {
            let around = folders.iter().filter(|folder| path.starts_with(folder));
            around.map(|folder| folder.components().count()).max()
        };
        depth(&self.writable) > depth(&self.read_only)
    }
}
