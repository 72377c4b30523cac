//! Roots: the open directories that calls are confined to.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// Opens a handle to a directory without read access, if the system supports that.
#[cfg(target_os = "linux")]
pub(crate) const NAME_ONLY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const NAME_ONLY: OFlags = OFlags::RDONLY;

/// An open directory that calls are confined to.
#[derive(Debug)]
pub struct Root {
    /// The path as given.
    path: PathBuf,
    /// The path with symlinks resolved: callers may use either spelling.
    real: PathBuf,
    handle: OwnedFd,
}

impl Root {
    /// Opens the directory `path` as a root. The root refers to this directory even if another
    /// directory takes its name later.
    ///
    /// # Errors
    /// Returns the system's error if the path is not a directory or cannot be opened;
    /// `InvalidInput` if the path is not absolute.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Root> {
        let path: PathBuf = path.as_ref().components().collect();
        if !path.is_absolute() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an absolute path"));
        }
        let flags = NAME_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&path, flags, Mode::empty())?;
        let real = std::fs::canonicalize(&path)?;
        Ok(Root { path, real, handle })
    }

    /// A root from a directory that is already open.
    pub(crate) fn from_handle(path: PathBuf, handle: OwnedFd) -> Root {
        Root { real: path.clone(), path, handle }
    }

    /// The same directory under another name.
    pub(crate) fn with_alias(&self, name: &Path) -> io::Result<Root> {
        let handle = self.handle.try_clone()?;
        Ok(Root { path: name.to_owned(), real: self.real.clone(), handle })
    }

    /// Returns the path with which the root was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path with which the root was opened, with symlinks resolved.
    pub fn real_path(&self) -> &Path {
        &self.real
    }

    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// The rest of `path` below this root. Compares components, so `ws-old` is not below `ws`.
    pub(crate) fn strip<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(&self.path).or_else(|_| path.strip_prefix(&self.real)).ok()
    }
}

/// The path with symlinks resolved, or as given if that fails.
pub(crate) fn real_or_given(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether this open directory was removed.
pub(crate) fn is_removed(directory: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    if rustix::fs::fstat(directory)?.st_nlink != 0 {
        return Ok(false);
    }
    // Some file systems do not count links.
    let name = std::fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    Ok(name.map_or(true, |name| name.as_os_str().as_bytes().ends_with(b" (deleted)")))
}
