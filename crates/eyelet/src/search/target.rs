//! The file or directory that is searched.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fs::directory::Directory;
use crate::paths::confined_path::{ConfinedPath, OpenFailure};
use crate::search::walk::OpenFolder;

/// The search path, opened before the search so that a rename cannot change it.
pub(crate) struct Target {
    pub(super) path: PathBuf,
    pub(super) opened: OpenTarget,
}

pub(super) enum OpenTarget {
    Directory(Arc<OpenFolder>),
    File(File),
}

impl Target {
    /// Opens a directory, or a regular file.
    pub(crate) fn open(path: &ConfinedPath) -> Result<Target, OpenFailure> {
        match Target::open_dir(path) {
            Err(OpenFailure::Io(error)) if error.kind() == io::ErrorKind::NotADirectory => {
                let opened = OpenTarget::File(path.open_regular()?);
                Ok(Target { path: path.shown().to_owned(), opened })
            }
            opened => opened,
        }
    }

    /// Opens a directory.
    pub(crate) fn open_dir(path: &ConfinedPath) -> Result<Target, OpenFailure> {
        let directory = Directory::open(path)?;
        let path = path.shown().to_owned();
        let folder = OpenFolder { directory, path: path.as_path().into() };
        Ok(Target { path, opened: OpenTarget::Directory(Arc::new(folder)) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_file(&self) -> bool {
        matches!(self.opened, OpenTarget::File(_))
    }
}
