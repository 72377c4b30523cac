//! Folders by handle. A command may replace any folder by a symlink at any time, so that no step of a path may
//! follow one.

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Stat, openat, openat2, statat};
use rustix::io::Errno;

pub(super) const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How often the system may ask to repeat a lookup during which something was renamed.
const MAX_ATTEMPTS: usize = 64;

/// The device and inode numbers of a folder.
pub(super) type Identity = (u64, u64);

/// The folder at an absolute path, if it exists and no step to it is a symlink.
pub(super) fn open(path: &Path) -> io::Result<Option<OwnedFd>> {
    for _ in 0..MAX_ATTEMPTS {
        match openat2(CWD, path, FOLDER, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Err(Errno::AGAIN) => {}
            opened => return if_there(opened),
        }
    }
    Err(Errno::AGAIN.into())
}

/// The folder at `path`. Folders from `root` on that their owner may not enter are opened for him.
pub(super) fn open_for_owner(root: &Path, path: &Path) -> io::Result<Option<OwnedFd>> {
    match open(path) {
        // The record may have folders outside the root, from a command with another root.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && path.starts_with(root) => {
        }
        opened => return opened,
    }
    let Some(mut here) = open(root)? else { return Ok(None) };
    make_accessible(&here);
    for step in path.strip_prefix(root).into_iter().flat_map(Path::components) {
        match enter(&here, step.as_os_str())? {
            Some(entered) => here = entered,
            None => return Ok(None),
        }
        make_accessible(&here);
    }
    Ok(Some(here))
}

/// Enters one folder.
pub(super) fn enter(here: impl AsFd, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    if_there(openat(here, name, FOLDER, Mode::empty()))
}

fn if_there<T>(opened: rustix::io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Enters one folder, which is created if it is missing.
pub(super) fn enter_or_create(here: impl AsFd, name: &OsStr, mode: Mode) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(&here, name, mode) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(openat(here, name, FOLDER, Mode::empty())?)
}

/// The metadata of an entry itself, if it exists.
pub(super) fn look(here: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    if_there(statat(here, name, AtFlags::SYMLINK_NOFOLLOW))
}

/// The identity of an open folder.
pub(super) fn identity(folder: impl AsFd) -> io::Result<Identity> {
    let found = rustix::fs::fstat(folder)?;
    Ok((found.st_dev, found.st_ino))
}

/// The names in a folder.
pub(super) fn names(folder: impl AsFd) -> io::Result<Vec<OsString>> {
    use std::os::unix::ffi::OsStringExt as _;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = openat(folder, c".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(handle)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if !matches!(name.as_slice(), b"." | b"..") {
            names.push(OsString::from_vec(name));
        }
    }
    names.sort();
    Ok(names)
}

/// Gives the owner all rights to a folder. If it is someone else's, the command could not close it either.
pub(super) fn make_accessible(folder: &OwnedFd) {
    let Ok(found) = rustix::fs::fstat(folder) else { return };
    if found.st_mode & 0o700 != 0o700 {
        let mode = Permissions::from_mode(found.st_mode & 0o7777 | 0o700);
        let _ = std::fs::set_permissions(by_handle(folder), mode);
    }
}

/// The path of an open folder for functions that need one.
pub(super) fn by_handle(folder: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// The folder of `path`, and the last component.
pub(super) fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(Component::Normal(name))) => Ok((parent, name)),
        (_, _) => Err(io::ErrorKind::InvalidInput.into()),
    }
}
