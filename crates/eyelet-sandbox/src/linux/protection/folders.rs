//! Folders by handle. A command may replace any folder by a symlink at any time. Therefore no step
//! of a path may follow a symlink.

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, openat, openat2, statat,
};
use rustix::io::Errno;

use crate::closed_folder::closed_folder;

pub(super) const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How often the system may ask to repeat a lookup during which something was renamed.
const MAX_ATTEMPTS: usize = 64;
/// How often a folder is opened again for one action.
const MAX_REOPENED: usize = 4;

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

/// The folder at `path`, which is a root. The way to it is opened for its owner.
pub(super) fn open_root(path: &Path) -> io::Result<Option<OwnedFd>> {
    match open(path) {
        Err(error) if is_refused(&error) && open_way(path) => open(path),
        opened => opened,
    }
}

/// Gives the owner access to the folders on the way to `path` that the owner may not enter. In the
/// second tier, commands can remove the access to any folder of this user. Returns whether there
/// was one.
pub(super) fn open_way(path: &Path) -> bool {
    let mut has_opened = false;
    while let Some(closed) = closed_folder(path) {
        let Ok(found) = closed.metadata() else { break };
        let mode = found.permissions().mode() & 0o7777;
        let is_open = mode & 0o700 == 0o700;
        if is_open
            || std::fs::set_permissions(&closed, Permissions::from_mode(mode | 0o700)).is_err()
        {
            break;
        }
        has_opened = true;
    }
    has_opened
}

fn is_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// The folder at `path`. Folders from `root` on that their owner may not enter are opened for him.
pub(super) fn open_for_owner(root: &Path, path: &Path) -> io::Result<Option<OwnedFd>> {
    match open(path) {
        // The record may have folders outside the root, from a command with another root.
        Err(error) if is_refused(&error) && path.starts_with(root) => {}
        opened => return opened,
    }
    let Some(mut here) = open_root(root)? else { return Ok(None) };
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
    let mut names = names_with(folder, |_| true)?;
    names.sort();
    Ok(names)
}

/// The names of the folders in a folder, and of what the file system does not tell from a folder.
pub(super) fn names_of_folders(folder: impl AsFd) -> io::Result<Vec<OsString>> {
    names_with(folder, |kind| matches!(kind, FileType::Directory | FileType::Unknown))
}

fn names_with(folder: impl AsFd, is_meant: fn(FileType) -> bool) -> io::Result<Vec<OsString>> {
    use std::os::unix::ffi::OsStringExt as _;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = openat(folder, c".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(handle)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes().to_vec();
        if is_meant(entry.file_type()) && !matches!(name.as_slice(), b"." | b"..") {
            names.push(OsString::from_vec(name));
        }
    }
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

/// Repeats an action that fails because a command closed one of these folders in the meantime.
pub(super) fn reopening<T>(
    folders: &[&OwnedFd],
    mut action: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    for _ in 0..MAX_REOPENED {
        match action() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                folders.iter().for_each(|folder| make_accessible(folder));
            }
            done => return done,
        }
    }
    action()
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
