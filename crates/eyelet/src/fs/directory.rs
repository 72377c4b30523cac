//! Directories by handle: lists and opens entries without following symlinks.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use crate::error::ToolError;
use crate::text::entry_tree::EntryKind;

use crate::paths::confined_path::{ConfinedPath, OpenAs, OpenFailure};
use crate::paths::deny_list::DenyScope;
use crate::paths::open_beneath::Opened;
use crate::paths::root::is_removed;

/// Room for several hundred names per system call.
#[cfg(target_os = "linux")]
const BUFFER_BYTES: usize = 32 * 1024;

/// An open directory inside the roots. eyelet opens entries through the handle of the directory,
/// never through a symlink, and hides denied entries.
#[derive(Debug)]
pub struct Directory {
    handle: OwnedFd,
    /// Whether the entries were read before, so that the handle has to be rewound.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "a new handle is opened for each reading there")
    )]
    was_read: AtomicBool,
    /// Set if the deny list may apply in or below this directory.
    deny_scope: Option<DenyScope>,
    resource_errors: Arc<ResourceErrors>,
}

/// The last error caused by a lack of file descriptors or memory, in a directory or below it. Such
/// an error says nothing about the entry that was to be opened.
#[derive(Debug, Default)]
struct ResourceErrors(AtomicI32);

impl ResourceErrors {
    /// Passes a result on and records such an error.
    fn record<T>(&self, answer: rustix::io::Result<T>) -> rustix::io::Result<T> {
        answer.inspect_err(|error| {
            if matches!(*error, Errno::MFILE | Errno::NFILE | Errno::NOMEM) {
                self.0.store(error.raw_os_error(), Ordering::Relaxed);
            }
        })
    }
}

impl ConfinedPath {
    /// Opens the directory at this path. If the path is a symlink, follows the symlink if its
    /// target is inside the roots.
    ///
    /// # Errors
    /// `outside_root` or `permission_denied` if the path leads out of the roots or to a denied path;
    /// otherwise the [`ErrorCode`](crate::ErrorCode) that corresponds to the system's error.
    pub fn open_dir(&self) -> Result<Directory, ToolError> {
        Directory::open(self).map_err(|failure| self.describe(failure))
    }
}

impl Directory {
    /// Opens the directory of a call; follows a symlink to it.
    pub(crate) fn open(path: &ConfinedPath) -> Result<Directory, OpenFailure> {
        let Opened { handle, deny_scope } = path.open(OpenAs::Directory)?;
        Ok(Directory {
            handle,
            was_read: AtomicBool::new(false),
            deny_scope,
            resource_errors: Arc::default(),
        })
    }

    /// A directory with this handle. If the handle is not a directory, reading it fails.
    #[cfg(test)]
    pub(crate) fn from_handle(handle: OwnedFd) -> Directory {
        Directory {
            handle,
            was_read: AtomicBool::new(false),
            deny_scope: None,
            resource_errors: Arc::default(),
        }
    }

    /// Fails if a result is incomplete because eyelet skipped entries for lack of file descriptors
    /// or memory. This covers this directory and all directories that were opened from it.
    ///
    /// # Errors
    /// Returns the system's error for the entry that was skipped last.
    pub fn check_complete(&self) -> io::Result<()> {
        match self.resource_errors.0.load(Ordering::Relaxed) {
            0 => Ok(()),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }

    /// Whether it was removed.
    pub(crate) fn is_removed(&self) -> bool {
        is_removed(self.handle.as_fd()).unwrap_or(false)
    }

    /// Opens the directory `name` in this one.
    ///
    /// # Errors
    /// Returns the system's error, also if `name` is a symlink or not a directory; `NotFound` if
    /// `name` is denied.
    pub fn open_dir(&self, name: &OsStr) -> io::Result<Directory> {
        let flags = OFlags::RDONLY
            | OFlags::DIRECTORY
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        if self.denies(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let handle = self.open_entry(name, flags)?;
        let deny_scope = self.deny_scope.as_ref().and_then(|deny_scope| {
            let real = deny_scope.real.join(name);
            let deny_list = Arc::clone(&deny_scope.deny_list);
            deny_list.may_deny_below(&real).then_some(DenyScope { deny_list, real })
        });
        let resource_errors = Arc::clone(&self.resource_errors);
        Ok(Directory { handle, was_read: AtomicBool::new(false), deny_scope, resource_errors })
    }

    fn open_entry(&self, name: &OsStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        // Anything but a plain name could lead out of the roots.
        if name == "." || name == ".." || name.as_bytes().contains(&b'/') {
            return Err(Errno::INVAL);
        }
        let open = || rustix::fs::openat(&self.handle, name, flags, Mode::empty());
        self.resource_errors.record(retry_on_intr(open))
    }

    /// Opens the directory at the end of `names`, one component at a time.
    pub(crate) fn open_below<'n>(
        &self,
        names: impl IntoIterator<Item = &'n OsStr>,
    ) -> io::Result<Directory> {
        let mut here: Option<Directory> = None;
        for name in names {
            here = Some(here.as_ref().unwrap_or(self).open_dir(name)?);
        }
        match here {
            Some(directory) => Ok(directory),
            None => {
                // The copy shares the read position with this handle.
                let was_read = AtomicBool::new(true);
                let handle = self
                    .resource_errors
                    .record(rustix::io::fcntl_dupfd_cloexec(&self.handle, 0))?;
                let resource_errors = Arc::clone(&self.resource_errors);
                Ok(Directory {
                    handle,
                    was_read,
                    deny_scope: self.deny_scope.clone(),
                    resource_errors,
                })
            }
        }
    }

    /// Opens the regular file `name` in this directory for reading.
    ///
    /// # Errors
    /// Returns the system's error, also if `name` is a symlink; `InvalidInput` if `name` is not a
    /// regular file; `NotFound` if `name` is denied.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        self.open_regular(name).map(|(file, _)| file)
    }

    /// The same, together with the file's status.
    pub(crate) fn open_regular(&self, name: &OsStr) -> io::Result<(File, Stat)> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if self.denies(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let handle = self.open_entry(name, flags)?;
        let stat = self.resource_errors.record(retry_on_intr(|| rustix::fs::fstat(&handle)))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok((File::from(handle), stat))
    }

    /// The status of the entry `name`; does not follow a symlink.
    pub(crate) fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        let stat = || rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
        Ok(self.resource_errors.record(retry_on_intr(stat))?)
    }

    /// Calls `visit` for each entry except `.`, `..` and denied ones, in the system's order, until
    /// `visit` returns `ControlFlow::Break`. Calls must not be nested, because each call moves the
    /// position of the directory handle.
    ///
    /// # Errors
    /// Returns the system's error if the directory cannot be read.
    pub fn each(
        &self,
        mut visit: impl FnMut(&OsStr, EntryKind) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.each_raw(|name, file_type| {
            let name = OsStr::from_bytes(name.to_bytes());
            if name == "." || name == ".." || self.denies(name) {
                return ControlFlow::Continue(());
            }
            visit(name, self.kind(name, file_type))
        })
    }

    /// Reads through this handle into one buffer. Opening the directory again, as portable code has
    /// to, takes as long as reading it.
    #[cfg(target_os = "linux")]
    fn each_raw(
        &self,
        mut visit: impl FnMut(&CStr, FileType) -> ControlFlow<()>,
    ) -> io::Result<()> {
        if self.was_read.swap(true, Ordering::Relaxed) {
            rustix::fs::seek(&self.handle, rustix::fs::SeekFrom::Start(0))?;
        }
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        let mut entries = rustix::fs::RawDir::new(&self.handle, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                // Removed meanwhile: it has no more entries.
                Err(Errno::NOENT) => break,
                Err(Errno::INTR) => continue,
                Err(error) => return Ok(self.resource_errors.record(Err(error))?),
            };
            if visit(entry.file_name(), entry.file_type()).is_break() {
                break;
            }
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn each_raw(
        &self,
        mut visit: impl FnMut(&CStr, FileType) -> ControlFlow<()>,
    ) -> io::Result<()> {
        for entry in rustix::fs::Dir::read_from(&self.handle)? {
            let entry = entry?;
            if visit(entry.file_name(), entry.file_type()).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn kind(&self, name: &OsStr, mut file_type: FileType) -> EntryKind {
        if file_type == FileType::Unknown {
            // Some file systems do not return the type with the name.
            file_type = self
                .stat(name)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        if file_type == FileType::Directory {
            EntryKind::Directory
        } else if file_type == FileType::RegularFile {
            EntryKind::File
        } else if file_type == FileType::Symlink {
            EntryKind::Symlink
        } else {
            EntryKind::Other
        }
    }

    /// Whether the deny list denies the entry `name`.
    fn denies(&self, name: &OsStr) -> bool {
        self.deny_scope
            .as_ref()
            .is_some_and(|deny_scope| deny_scope.deny_list.denies(&deny_scope.real.join(name)))
    }

    /// The file descriptor, for starting commands in this directory.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}
