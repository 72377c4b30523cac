//! Puts folders back that a command moved: repositories, work trees and the folders around them. They are known by
//! device and inode.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::Permissions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, RenameFlags, renameat_with};
use rustix::process::geteuid;

use super::conflicts::{conflict_name, set_aside};
use super::folders::{self, Identity};
use super::restore::Replaced;

/// Looks for moved folders. That may take long, so it happens without the store's lock: a check that misses a folder
/// notes it here, and is repeated after the search.
#[derive(Default)]
pub(super) struct Search {
    wanted: Vec<Identity>,
    /// What was found, and in which top; none if there is no such folder.
    found: HashMap<Identity, Option<(PathBuf, PathBuf)>>,
}

/// Whether every moved folder of a place was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Searched {
    All,
    NotYet,
}

/// Makes sure that the folder at `path` is the one with this identity, if that still exists. Returns what stood in its
/// place; none if nothing had to be done.
pub(super) fn put_back(
    root: &Path,
    path: &Path,
    identity: Identity,
    search: &mut Search,
) -> io::Result<Option<Replaced>> {
    let (parent, name) = folders::split(path)?;
    let parent_folder = folders::open_for_owner(root, parent)?;
    let stands = match &parent_folder {
        Some(parent) => folders::look(parent, name)?,
        None => None,
    };
    let is_own = |found: &rustix::fs::Stat| (found.st_dev, found.st_ino) == identity;
    if stands.as_ref().is_some_and(is_own) {
        return Ok(None);
    }
    let found = search.find(identity)?;
    let is_folder = |found: &rustix::fs::Stat| {
        rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Directory
    };
    // If the folder was removed, another one may stand there. Its protected paths are restored.
    if found.is_none() && stands.as_ref().is_none_or(is_folder) {
        return Ok(None);
    }
    let parent_folder = match parent_folder {
        Some(folder) => folder,
        None => create_path(root, parent)?,
    };
    folders::make_accessible(&parent_folder);
    let mut replaced = Replaced::default();
    if stands.is_some() {
        let aside = set_aside(&parent_folder, name, &parent_folder, &conflict_name(name))?;
        replaced = Replaced::at(path, aside);
    }
    if let Some((from, old)) = found {
        folders::make_accessible(&from);
        if let Some(folder) = folders::enter(&from, &old)? {
            folders::make_accessible(&folder);
        }
        renameat_with(&from, &old, &parent_folder, name, RenameFlags::NOREPLACE)?;
    }
    Ok(Some(replaced))
}

/// Creates the folders from `root` to `path`.
pub(super) fn create_path(root: &Path, path: &Path) -> io::Result<OwnedFd> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let mut here = folders::open(root)?.ok_or_else(missing)?;
    for step in path.strip_prefix(root).map_err(io::Error::other)?.components() {
        folders::make_accessible(&here);
        here = folders::enter_or_create(&here, step.as_os_str(), Mode::from_raw_mode(0o755))?;
    }
    Ok(here)
}

impl Search {
    /// Whether this folder has to be looked for.
    pub(super) fn is_wanted(&self, identity: Identity) -> bool {
        self.wanted.contains(&identity)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The folder that holds the one with this identity, and its name there. Fails if nobody has looked for it yet, or
    /// if it was moved again.
    fn find(&mut self, identity: Identity) -> io::Result<Option<(OwnedFd, OsString)>> {
        match self.found.get(&identity) {
            Some(None) => return Ok(None),
            Some(Some((path, top))) => {
                let (parent, name) = folders::split(path)?;
                if let Some(folder) = folders::open_for_owner(top, parent)? {
                    folders::make_accessible(&folder);
                    let stands = folders::look(&folder, name)?;
                    if stands.is_some_and(|found| (found.st_dev, found.st_ino) == identity) {
                        return Ok(Some((folder, name.to_owned())));
                    }
                }
            }
            None => {}
        }
        if !self.is_wanted(identity) {
            self.wanted.push(identity);
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Looks for all wanted folders in the roots and temp folders of the commands.
    pub(super) fn search(&mut self, tops: &[PathBuf]) {
        let mut wanted = std::mem::take(&mut self.wanted);
        self.found.extend(wanted.iter().map(|identity| (*identity, None)));
        let mut opened = Vec::new();
        let mut todo: Vec<_> = tops.iter().map(|top| (top.clone(), top)).collect();
        while let Some((path, top)) = todo.pop().filter(|_| !wanted.is_empty()) {
            // What cannot be entered counts as removed: its record stays.
            let Ok(Some(folder)) = folders::open(&path) else { continue };
            opened.extend(Opened::new(&path, &folder).ok().flatten());
            let Ok(names) = folders::names(&folder) else { continue };
            for name in names {
                let Ok(Some(found)) = folders::look(&folder, &name) else { continue };
                let identity = (found.st_dev, found.st_ino);
                if let Some(index) = wanted.iter().position(|wanted| *wanted == identity) {
                    wanted.swap_remove(index);
                    self.found.insert(identity, Some((path.join(&name), top.clone())));
                }
                let kind = rustix::fs::FileType::from_raw_mode(found.st_mode);
                if kind == rustix::fs::FileType::Directory {
                    todo.push((path.join(name), top));
                }
            }
        }
        // Inner folders first: the way to them leads through the outer ones.
        for folder in opened.iter().rev() {
            // A folder that was moved meanwhile stays open to its owner.
            let _ = folder.close();
        }
    }
}

/// A folder that its owner may not search, opened for the search.
struct Opened {
    path: PathBuf,
    identity: Identity,
    mode: u32,
}

impl Opened {
    /// None if the folder is open already, or someone else's.
    fn new(path: &Path, folder: &OwnedFd) -> io::Result<Option<Self>> {
        let found = rustix::fs::fstat(folder)?;
        if found.st_mode & 0o500 == 0o500 || found.st_uid != geteuid().as_raw() {
            return Ok(None);
        }
        folders::make_accessible(folder);
        let identity = (found.st_dev, found.st_ino);
        Ok(Some(Opened { path: path.to_owned(), identity, mode: found.st_mode & 0o7777 }))
    }

    fn close(&self) -> io::Result<()> {
        let folder = folders::open(&self.path)?.ok_or(io::ErrorKind::NotFound)?;
        if folders::identity(&folder)? == self.identity {
            let mode = Permissions::from_mode(self.mode);
            std::fs::set_permissions(folders::by_handle(&folder), mode)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "moved_tests.rs"]
mod tests;
