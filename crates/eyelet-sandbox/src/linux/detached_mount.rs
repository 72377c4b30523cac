//! Copies of mounts that are attached after everything else became read-only.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};

use super::file_id::FileId;
use super::setup_failure::SetupFailure;
use super::sys;
use super::tmp_paths::{TMP, TmpPaths};
use crate::request::Place;

pub(super) const RECURSIVE: libc::c_int = libc::AT_RECURSIVE;
pub(super) const REPLACED: &str = "it was replaced while the sandbox was set up; try again";

/// A detached copy of a directory's mounts, from before anything was mounted on top.
pub(super) struct DetachedMount {
    pub(super) path: PathBuf,
    identity: (u64, u64),
    pub(super) tree: OwnedFd,
}

impl DetachedMount {
    /// A copy of this directory. Fails if it is not the one that was checked.
    pub(super) fn new(place: &Place) -> Result<Self, SetupFailure> {
        let mount = DetachedMount::of(&place.path)?;
        if mount.identity != place.identity {
            let what = format!("cannot use {}", place.path.display());
            return Err(SetupFailure::new(&what, REPLACED));
        }
        Ok(mount)
    }

    /// A copy of the file or directory that is there now.
    fn of(path: &Path) -> Result<Self, SetupFailure> {
        if path.parent().is_none() {
            return Err(SetupFailure::new("cannot use `/`", "it contains every file"));
        }
        let tree = copy(path)?;
        let found = rustix::fs::fstat(&tree)
            .map_err(SetupFailure::at(format!("cannot open {}", path.display())))?;
        let identity = (found.st_dev, found.st_ino);
        Ok(DetachedMount { path: path.to_owned(), identity, tree })
    }

    pub(super) fn restrict(&self, attributes: u64) -> Result<(), SetupFailure> {
        let flags = libc::AT_EMPTY_PATH | RECURSIVE;
        let what = format!("cannot set the mount options of {}", self.path.display());
        sys::add_mount_attributes(self.tree.as_fd(), c"", flags, attributes)
            .map_err(SetupFailure::at(what))
    }

    /// Mounts the directory at its original path. If the private temp directory covers `/tmp`, creates
    /// the path there first.
    pub(super) fn attach(self, layout: &TmpPaths<'_>) -> Result<(), SetupFailure> {
        let what = format!("cannot mount {}", self.path.display());
        match self.path.strip_prefix(TMP).ok().filter(|_| layout.covers_tmp) {
            Some(below) => {
                let target = make_path(below).map_err(|error| SetupFailure::new(&what, error))?;
                move_onto(&self.tree, target.as_fd()).map_err(SetupFailure::at(what))
            }
            None => self.attach_on_itself(),
        }
    }

    /// Mounts the file or directory at its path. Fails if another one is there now.
    fn attach_on_itself(self) -> Result<(), SetupFailure> {
        let what = format!("cannot mount {}", self.path.display());
        let target = open_without_links(&self.path).map_err(SetupFailure::at(&what))?;
        let found = rustix::fs::fstat(&target).map_err(SetupFailure::at(&what))?;
        if (found.st_dev, found.st_ino) != self.identity {
            return Err(SetupFailure::new(&what, REPLACED));
        }
        move_onto(&self.tree, target.as_fd()).map_err(SetupFailure::at(what))
    }
}

/// Makes a path read-only. Returns which file it is.
pub(super) fn make_read_only(path: &Path) -> Result<FileId, SetupFailure> {
    let failed = || format!("cannot protect {}", path.display());
    let (handle, tree) = copy_protected(path)?;
    let id = FileId::of(&tree).map_err(SetupFailure::at(failed()))?;
    let flags = libc::AT_EMPTY_PATH | RECURSIVE;
    sys::add_mount_attributes(tree.as_fd(), c"", flags, libc::MOUNT_ATTR_RDONLY)
        .map_err(SetupFailure::at(failed()))?;
    attach_protected(&tree, &handle, path)?;
    Ok(id)
}

/// A handle to a path, and a copy of its mounts.
pub(super) fn copy_protected(path: &Path) -> Result<(OwnedFd, OwnedFd), SetupFailure> {
    let failed = || format!("cannot protect {}", path.display());
    let handle = open_without_links(path).map_err(SetupFailure::at(failed()))?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(&handle, c"", flags).map_err(SetupFailure::at(failed()))?;
    Ok((handle, tree))
}

pub(super) fn attach_protected(
    tree: &OwnedFd,
    handle: &OwnedFd,
    path: &Path,
) -> Result<(), SetupFailure> {
    move_onto(tree, handle.as_fd())
        .map_err(SetupFailure::at(format!("cannot protect {}", path.display())))
}

pub(super) fn copy(path: &Path) -> Result<OwnedFd, SetupFailure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(CWD, path, flags).map_err(SetupFailure::at(format!("cannot open {}", path.display())))
}

pub(super) fn move_onto(tree: &OwnedFd, target: BorrowedFd<'_>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", target, "", flags)?)
}

pub(super) fn mount_tree(tree: &OwnedFd, target: &Path) -> Result<(), SetupFailure> {
    open_without_links(target)
        .and_then(|handle| move_onto(tree, handle.as_fd()))
        .map_err(SetupFailure::at(format!("cannot mount {}", target.display())))
}

pub(super) fn open_without_links(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// Creates the directories of `below` in the private `/tmp`. Earlier commands may have created anything
/// there, so this enters only directories and removes other files that are in the way.
fn make_path(below: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = openat(CWD, TMP, flags, Mode::empty())?;
    for component in below.components() {
        let Component::Normal(name) = component else { return Err(Errno::INVAL.into()) };
        match rustix::fs::mkdirat(&here, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let mut entered = openat(&here, name, flags, Mode::empty());
        if matches!(entered, Err(Errno::LOOP | Errno::NOTDIR)) {
            rustix::fs::unlinkat(&here, name, AtFlags::empty())?;
            rustix::fs::mkdirat(&here, name, Mode::RWXU)?;
            entered = openat(&here, name, flags, Mode::empty());
        }
        here = entered?;
    }
    Ok(here)
}
