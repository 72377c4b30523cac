//! Changes to protected paths that the sandbox reverted.

use std::path::PathBuf;

use crate::protected_paths::PROTECTED_PATHS;

/// A change to a protected path that was reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reverted {
    /// The protected path.
    pub path: PathBuf,
    /// What happened to the change.
    pub fate: Fate,
}

/// What happened to a command's change of a protected path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// It was restored. The other version, which may be the user's, was moved here.
    #[non_exhaustive]
    Conflict {
        /// The other version, or the directory that holds what appeared or changed in a protected directory.
        to: PathBuf,
        /// How many older conflict copies of the same path were removed for it.
        removed: u32,
    },
    /// It was removed or moved, or its mode was changed; it was restored.
    PutBack,
    /// It was restored. The other version, or a part of it, was deleted, because the disk is full.
    Deleted,
    /// Restoring it failed; someone has to check it.
    Failed,
    /// It could not be checked: the supervisor was killed, or the check failed or took too long. The path is a root,
    /// and any protected path in it may have changed.
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
