//! Paths that a call may open.
//!
//! A [`ConfinedPath`] holds an open root and the path beneath it. eyelet opens it from that handle,
//! so the result stays inside the roots even if someone renames directories meanwhile.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{ErrorCode, ToolError};
use crate::paths::open_beneath::{BeneathError, Opened, PathBeneath};
use crate::paths::root::is_removed;
use crate::text::escape;

/// A path that a call may open. Only
/// [`TurnContext::resolve_path`](crate::TurnContext::resolve_path) creates one.
#[derive(Clone, Debug)]
pub struct ConfinedPath {
    pub(super) shown: PathBuf,
    pub(super) location: Location,
    /// The errors in case the path turns out to lead elsewhere.
    pub(super) errors: RefusalErrors,
}

#[derive(Clone, Debug)]
pub(super) enum Location {
    /// The call is not confined to roots.
    Anywhere,
    /// Beneath one of the roots.
    BeneathRoot(PathBeneath),
}

/// Errors for a path that must not be opened.
#[derive(Clone, Debug)]
pub(super) struct RefusalErrors {
    pub(super) outside: Arc<ToolError>,
    pub(super) denied: Arc<str>,
    /// Set if the path names saved output that may have been removed.
    pub(super) removed: Option<Arc<str>>,
}

/// What kind of file the caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenAs {
    RegularFile,
    Directory,
}

/// Why a path was not opened.
#[derive(Debug)]
pub(crate) enum OpenFailure {
    /// The path leads out of the roots or to a denied path; the error does not say whether it
    /// exists. Or it names saved output that was removed.
    Refused(ToolError),
    /// Not a regular file.
    NotAFile,
    /// The system's error.
    Io(io::Error),
}

impl From<Errno> for OpenFailure {
    fn from(error: Errno) -> Self {
        OpenFailure::Io(error.into())
    }
}

impl ConfinedPath {
    /// Returns the absolute path, for display only. eyelet never opens this path by name.
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// Opens a regular file or a directory. Never blocks, whatever the path names.
    pub(crate) fn open(&self, want: OpenAs) -> Result<Opened, OpenFailure> {
        let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if want == OpenAs::Directory {
            flags |= OFlags::DIRECTORY;
        }
        let opened = match &self.location {
            Location::Anywhere => rustix::fs::openat(CWD, &self.shown, flags, Mode::empty())
                .map(|handle| Opened { handle, deny_scope: None })
                .map_err(BeneathError::System),
            Location::BeneathRoot(beneath) => beneath.open(flags),
        };
        let opened = opened.map_err(|unopened| match unopened {
            BeneathError::Outside => OpenFailure::Refused(self.errors.outside.as_ref().clone()),
            BeneathError::Denied => self.refused(ErrorCode::PermissionDenied, &self.errors.denied),
            // A socket, or a device that has no driver.
            BeneathError::System(Errno::NXIO) if want == OpenAs::RegularFile => {
                OpenFailure::NotAFile
            }
            BeneathError::System(Errno::NOENT) if self.errors.removed.is_some() => {
                self.refused(ErrorCode::NotFound, self.errors.removed.as_deref().unwrap_or(""))
            }
            BeneathError::System(error) => error.into(),
        })?;
        match want {
            OpenAs::RegularFile => {
                let stat = rustix::fs::fstat(&opened.handle)?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                    return Err(OpenFailure::NotAFile);
                }
            }
            // The handle of a removed root stays open and would read as an empty directory.
            OpenAs::Directory if is_removed(opened.handle.as_fd())? => {
                return Err(Errno::NOENT.into());
            }
            OpenAs::Directory => {}
        }
        Ok(opened)
    }

    /// Opens a regular file for reading. Never blocks, not even if the path names a pipe or a device.
    ///
    /// # Errors
    /// `outside_root` or `permission_denied` if the path leads out of the roots or to a denied path,
    /// `not_a_file` for directories, pipes, sockets and devices; otherwise the
    /// [`ErrorCode`] that corresponds to the system's error.
    pub fn open_file(&self) -> Result<File, ToolError> {
        self.open_regular().map_err(|failure| self.describe(failure))
    }

    /// The same, with a failure that tools describe in their own words.
    pub(crate) fn open_regular(&self) -> Result<File, OpenFailure> {
        self.open(OpenAs::RegularFile).map(|opened| File::from(opened.handle))
    }

    /// The error of a failure to open this path.
    pub(crate) fn describe(&self, failure: OpenFailure) -> ToolError {
        let shown = escape::name(self.shown.as_os_str());
        match failure {
            OpenFailure::Refused(error) => error,
            OpenFailure::NotAFile => {
                ToolError::new(ErrorCode::NotAFile, format!("`{shown}` is not a regular file"))
            }
            OpenFailure::Io(error) => ToolError::io(format!("cannot open `{shown}`"), &error),
        }
    }

    fn refused(&self, code: ErrorCode, message: &str) -> OpenFailure {
        OpenFailure::Refused(ToolError::new(code, message))
    }
}
