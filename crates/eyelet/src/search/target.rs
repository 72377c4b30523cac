//! The file or directory that is searched.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::fs::directory::Directory;
use crate::paths::confined_path::{ConfinedPath, OpenFailure};

/// The search path, opened before the search so that a rename cannot change it.
pub(crate) struct Target {
    pub(super) path: PathBuf,
    pub(super) opened: OpenTarget,
}

pub(super) enum OpenTarget {
    Directory(Directory),
    File(File),
}

impl Target {
    /// Opens a directory, or a regular file.
    pub(crate) fn open(path: &ConfinedPath) -> Result<Target, OpenFailure> {
        let opened = match Directory::open(path) {
            Ok(directory) => OpenTarget::Directory(directory),
            Err(OpenFailure::Io(error)) if error.kind() == io::ErrorKind::NotADirectory => {
                OpenTarget::File(path.open_file()?)
            }
            Err(failure) => return Err(failure),
        };
        Ok(Target { path: path.shown().to_owned(), opened })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
