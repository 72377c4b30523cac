//! The file or directory that is searched.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::fs::directory::Directory;
use crate::paths::confined_path::{ConfinedPath, OpenFailure};

/// What is searched: opened, so that it cannot change its place any more.
pub(crate) struct Target {
    pub(super) path: PathBuf,
    pub(super) opened: OpenTarget,
}

pub(super) enum OpenTarget {
    Directory(Directory),
    File(File),
}

impl Target {
    /// Opens a directory, or else a regular file.
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
