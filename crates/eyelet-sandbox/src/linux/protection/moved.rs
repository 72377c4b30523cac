//! Puts folders back that a command moved: repositories, work trees and the folders around them.
//! The folders are identified by device and inode.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::Permissions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{Mode, RenameFlags, renameat_with};
use rustix::process::geteuid;

use super::conflicts::{conflict_name, set_aside};
use super::folders::{self, Identity};
use super::restore::Replaced;

/// Looks for moved folders. That may take long, so it happens without the store's lock, and in parts while a command runs:
/// a check that misses a folder notes it here, and is repeated after the search.
#[derive(Default)]
pub(super) struct Search {
    /// The folders to search for.
    wanted: Vec<Identity>,
    /// The folders that were missed since the search began.
    next: Vec<Identity>,
    /// The folders that were found, and in which top. `None` if there is no such folder.
    found: HashMap<Identity, Option<(PathBuf, PathBuf)>>,
    /// The folders that are left to search, and in which top they are.
    todo: Vec<(PathBuf, PathBuf)>,
    opened: Vec<Opened>,
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
        let flags = RenameFlags::NOREPLACE;
        folders::reopening(&[&from, &parent_folder], || {
            Ok(renameat_with(&from, &old, &parent_folder, name, flags)?)
        })?;
    }
    Ok(Some(replaced))
}

/// Creates the folders from `root` to `path`.
pub(super) fn create_path(root: &Path, path: &Path) -> io::Result<OwnedFd> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let mut here = folders::open_root(root)?.ok_or_else(missing)?;
    for step in path.strip_prefix(root).map_err(io::Error::other)?.components() {
        folders::make_accessible(&here);
        here = folders::enter_or_create(&here, step.as_os_str(), Mode::from_raw_mode(0o755))?;
    }
    Ok(here)
}

impl Search {
    /// Whether this folder has to be looked for.
    pub(super) fn is_wanted(&self, identity: Identity) -> bool {
        self.wanted.contains(&identity) || self.next.contains(&identity)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.wanted.is_empty() && self.next.is_empty()
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
            self.next.push(identity);
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Looks for all wanted folders in `tops`, until this time.
    pub(super) fn search(&mut self, tops: &[PathBuf], until: Instant) {
        while !self.is_complete() {
            if self.wanted.is_empty() {
                self.wanted = std::mem::take(&mut self.next);
                self.todo = tops.iter().map(|top| (top.clone(), top.clone())).collect();
            }
            while let Some((path, top)) = self.todo.pop().filter(|_| !self.wanted.is_empty()) {
                self.look_in(path, top);
                if Instant::now() >= until && !self.wanted.is_empty() {
                    return;
                }
            }
            self.end();
        }
    }

    /// Looks for all wanted folders in `tops`; gives up at this time.
    pub(super) fn search_once(&mut self, tops: &[PathBuf], until: Instant) {
        self.search(tops, until);
        if !self.is_complete() {
            self.give_up();
        }
    }

    /// Treats folders that were not found as removed. Their records stay.
    fn give_up(&mut self) {
        let next = std::mem::take(&mut self.next);
        self.wanted.extend(next);
        self.end();
    }

    /// Ends the current search, and forgets its results.
    pub(super) fn forget(&mut self) {
        self.give_up();
        self.found.clear();
    }

    fn end(&mut self) {
        self.todo.clear();
        for identity in self.wanted.drain(..) {
            self.found.insert(identity, None);
        }
        // Inner folders first: the way to them leads through the outer ones.
        for folder in self.opened.drain(..).rev() {
            // A folder that was moved meanwhile stays open to its owner.
            let _ = folder.close();
        }
    }

    fn look_in(&mut self, path: PathBuf, top: PathBuf) {
        // What cannot be entered counts as removed.
        let Ok(Some(folder)) = folders::open(&path) else { return };
        let Ok(identity) = folders::identity(&folder) else { return };
        self.opened.extend(Opened::new(&path, &folder).ok().flatten());
        // Their identities are looked at one by one: there may be very many.
        for name in folders::names_of_folders(&folder).unwrap_or_default() {
            self.todo.push((path.join(name), top.clone()));
        }
        let index = self.wanted.iter().position(|wanted| *wanted == identity);
        if let Some(index) = index.filter(|_| path != top) {
            self.wanted.swap_remove(index);
            self.found.insert(identity, Some((path, top)));
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
