//! Changes to protected paths that the sandbox reverted.

use std::path::PathBuf;

use crate::protected_paths::PROTECTED_PATHS;

/// A change to a protected path that eyelet reverted or failed to revert.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reverted {
    /// The protected path.
    pub path: PathBuf,
    /// What happened to the changed version.
    pub fate: Fate,
}

/// What happened to the changed version of a protected path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// eyelet restored the path and moved the changed version to `to`, because the user may have
    /// made the change.
    #[non_exhaustive]
    Conflict {
        /// The path of the changed version. For a protected directory, a directory with the files
        /// that appeared or changed in it.
        to: PathBuf,
        /// How many older copies of the same path eyelet removed to make room for this copy.
        removed: u32,
    },
    /// The path had been removed or moved, or its mode had changed. eyelet restored the path.
    PutBack,
    /// eyelet restored the path, and deleted the changed version or a part of that version, because
    /// the disk is full.
    Deleted,
    /// Restoring the path failed. The user has to check the path.
    Failed,
    /// eyelet could not check the protected paths: the supervisor was killed, or the check failed or took
    /// too long. Here, `path` is a root, and any protected path in this root may have changed.
    Unseen,
}

impl Reverted {
    /// Whether a settings file was restored.
    pub(crate) fn is_restored_setting(&self) -> bool {
        matches!(self.fate, Fate::Conflict { .. } | Fate::PutBack | Fate::Deleted)
            && self.path.ancestors().any(|path| {
                // The path, or the protected directory that contains it.
                PROTECTED_PATHS.iter().any(|setting| path.ends_with(setting))
            })
    }
}
