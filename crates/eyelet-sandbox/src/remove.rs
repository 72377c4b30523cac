//! Removes files that a command created.
//!
//! A command may have made the tree as deep as it likes, may have closed its directories, and may still replace parts
//! of it by symlinks. So every step is by handle, and what lies too deep is moved up before it is entered.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

/// Directories below this depth are moved to the top first.
const MAX_DEPTH: usize = 30;

/// Removes a file or a whole directory, including directories to which their owner has no write
/// permission.
pub fn remove_all(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let parent = openat(CWD, parent, flags, Mode::empty())?;
    match is_directory(&parent, name)? {
        true => remove_directory(&parent, name),
        false => Ok(unlinkat(&parent, name, AtFlags::empty())?),
    }
}

/// Removes the directory `name` of `parent` and everything in it.
pub(crate) fn remove_directory(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let top = open(parent, name)?;
    let mut moved = 0;
    loop {
        let before = moved;
        empty(&top, &top, MAX_DEPTH, &mut moved)?;
        if moved == before {
            return Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?);
        }
    }
}

/// Removes everything in `directory`. Directories at the end of `depth` go to `top` instead.
fn empty(top: &OwnedFd, directory: &OwnedFd, depth: usize, moved: &mut u64) -> io::Result<()> {
    for name in names(directory)? {
        if !is_directory(directory, &name)? {
            unlinkat(directory, &name, AtFlags::empty())?;
        } else if depth == 0 {
            *moved += 1;
            renameat(directory, &name, top, format!(".eyelet-removed-{moved}"))?;
        } else {
            empty(top, &open(directory, &name)?, depth - 1, moved)?;
            unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
        }
    }
    Ok(())
}

fn is_directory(parent: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    let found = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

/// Opens a directory, even if its owner may not read it.
fn open(parent: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(parent, name, flags, Mode::empty());
    let is_closed = match &opened {
        Ok(handle) => rustix::fs::fstat(handle)?.st_mode & 0o700 != 0o700,
        Err(Errno::ACCESS) => true,
        Err(_) => false,
    };
    if !is_closed {
        return Ok(opened?);
    }
    make_accessible(parent, name)?;
    Ok(openat(parent, name, flags, Mode::empty())?)
}

#[cfg(target_os = "linux")]
fn make_accessible(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(parent, name, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    Ok(rustix::fs::chmod(path, Mode::RWXU)?)
}

#[cfg(not(target_os = "linux"))]
fn make_accessible(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    Ok(rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn names(directory: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if !matches!(name.as_slice(), b"." | b"..") {
            names.push(OsString::from_vec(name));
        }
    }
    Ok(names)
}

#[cfg(test)]
#[path = "remove_tests.rs"]
mod tests;
