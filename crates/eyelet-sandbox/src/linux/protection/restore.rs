//! Restores a protected path from its record. The version that was at the path becomes a conflict
//! copy.
//!
//! A restored file replaces the other file by a rename. Therefore a process that has the other file
//! open cannot write to the restored file.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::conflicts::{
    self, SetAside, conflict_name, lacks_space, or_delete, set_aside, temporary_name,
};
use super::entry::{Entry, Room, remove};
use super::folders::{enter, look, make_accessible, reopening};

/// If more entries are new in a protected folder, the whole folder is replaced.
const MAX_NEW_ENTRIES: usize = 100;

/// The fate of the version that was replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Replaced {
    /// Where it is; none if there was none or it had the same content.
    pub(super) copy: Option<PathBuf>,
    /// How many older copies were removed for it.
    pub(super) removed: u32,
    /// Whether it, or a part of it, was deleted because the disk is full.
    pub(super) is_deleted: bool,
    /// In a folder: the only path in it that differed.
    pub(super) changed: Option<PathBuf>,
}

impl Replaced {
    pub(super) fn at(path: &Path, aside: SetAside) -> Self {
        let is_deleted = aside.name.is_none();
        let copy = aside.name.map(|name| path.with_file_name(name));
        Replaced { copy, removed: aside.removed, is_deleted, changed: None }
    }

    /// Whether there was a version with another content.
    pub(super) fn is_version(&self) -> bool {
        self.copy.is_some() || self.is_deleted
    }
}

/// Restores `name` of the folder `parent`, which has the path `path`.
pub(super) fn restore(
    parent: &OwnedFd,
    name: &OsStr,
    path: &Path,
    recorded: Option<&Entry>,
) -> io::Result<Replaced> {
    make_accessible(parent);
    let Some(recorded) = recorded else {
        if look(parent, name)?.is_none() {
            return Ok(Replaced::default());
        }
        let aside = set_aside(parent, name, parent, &conflict_name(name));
        return or_delete(aside, parent, name).map(|aside| Replaced::at(path, aside));
    };
    match Entry::take(parent, name, None, &mut Room::new())? {
        Some(now) if recorded.is_folder() && enter(parent, name)?.is_some() => {
            // One by one, its entries would take too long.
            if now.has_unrecorded() || now.count() > recorded.count() + MAX_NEW_ENTRIES {
                match whole(parent, name, path, Some(&now), recorded) {
                    Err(error) if Errno::from_io_error(&error) == Some(Errno::BUSY) => {}
                    replaced => return replaced,
                }
            }
            let replaced = Replaced::default();
            let mut merge = Merge { beside: parent, name, path, replaced, changed: Vec::new() };
            if let Some(folder) = enter(parent, name)? {
                let merged = merge.folder(&folder, recorded, &mut Vec::new());
                // What was moved so far is reported; the next check restores the rest.
                let is_moved = merge.replaced.is_version();
                merged.or_else(|error| if is_moved { Ok(()) } else { Err(error) })?;
            }
            let is_only = merge.changed.len() == 1;
            merge.replaced.changed = merge.changed.pop().filter(|_| is_only);
            Ok(merge.replaced)
        }
        now => whole(parent, name, path, now.as_ref(), recorded),
    }
}

/// Replaces whatever stands there by the recorded version.
fn whole(
    parent: &OwnedFd,
    name: &OsStr,
    path: &Path,
    now: Option<&Entry>,
    recorded: &Entry,
) -> io::Result<Replaced> {
    let base = conflict_name(name);
    let aside = replace(parent, name, now, recorded, |other| {
        let aside = or_delete(set_aside(parent, other, parent, &base), parent, other);
        // If a command prevents another name, the version keeps the one that it has.
        Ok(aside.unwrap_or_else(|_| SetAside { name: Some(other.to_owned()), removed: 0 }))
    })?;
    Ok(aside.map_or(Replaced::default(), |aside| Replaced::at(path, aside)))
}

/// Creates the recorded version under another name and renames it. `keep` gets the name that the other version has
/// then.
fn replace(
    parent: &OwnedFd,
    name: &OsStr,
    now: Option<&Entry>,
    recorded: &Entry,
    keep: impl FnOnce(&OsStr) -> io::Result<SetAside>,
) -> io::Result<Option<SetAside>> {
    let temporary = temporary_name()?;
    let create = || conflicts::create(recorded, parent, &temporary);
    let rename = |flags| {
        reopening(&[parent], || Ok(renameat_with(parent, &temporary, parent, name, flags)?))
    };
    match create() {
        Err(error) if lacks_space(&error) && now.is_some() => {
            // Without space for both, the other version goes first: it may be a plant.
            reopening(&[parent], || remove(parent, name))?;
            create()?;
            rename(RenameFlags::NOREPLACE)?;
            return Ok(Some(SetAside { name: None, removed: 0 }));
        }
        created => created?,
    }
    let flags = if now.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    match rename(flags) {
        Ok(()) => match now {
            None => Ok(None),
            // Only its mode was changed.
            Some(now) if now.has_content_of(recorded) => {
                reopening(&[parent], || remove(parent, &temporary)).map(|()| None)
            }
            Some(_) => keep(&temporary).map(Some),
        },
        Err(error) => {
            let _ = reopening(&[parent], || remove(parent, &temporary));
            match (Errno::from_io_error(&error), now) {
                (Some(Errno::BUSY), Some(now)) if now.is_file() && recorded.is_file() => {
                    let aside = match conflicts::create(now, parent, &temporary) {
                        Err(error) if lacks_space(&error) => SetAside { name: None, removed: 0 },
                        created => created.and_then(|()| keep(&temporary))?,
                    };
                    recorded.write_in_place(parent, name)?;
                    Ok(Some(aside))
                }
                (_, _) => Err(error),
            }
        }
    }
}

/// Restores the entries of a folder, one by one: other ones move to a folder beside it, because programs would load
/// them inside.
struct Merge<'a> {
    beside: &'a OwnedFd,
    name: &'a OsStr,
    path: &'a Path,
    replaced: Replaced,
    /// The paths that differed, at most two.
    changed: Vec<PathBuf>,
}

impl Merge<'_> {
    fn folder(
        &mut self,
        folder: &OwnedFd,
        recorded: &Entry,
        below: &mut Vec<OsString>,
    ) -> io::Result<()> {
        make_accessible(folder);
        for name in super::folders::names(folder)? {
            if recorded.entry(&name).is_none() {
                self.note(&name, below);
                let aside = self.keep(folder, &name, &name, below);
                self.add(&or_delete(aside, folder, &name)?);
            }
        }
        for (name, recorded) in recorded.entries() {
            let now = Entry::take(folder, name, Some(recorded), &mut Room::new())?;
            if now.as_ref() == Some(recorded) {
                continue;
            }
            match enter(folder, name)?.filter(|_| recorded.is_folder()) {
                Some(own) => {
                    below.push(name.to_owned());
                    self.folder(&own, recorded, below)?;
                    below.pop();
                }
                None => {
                    self.note(name, below);
                    let aside = replace(folder, name, now.as_ref(), recorded, |other| {
                        or_delete(self.keep(folder, other, name, below), folder, other)
                    })?;
                    if let Some(aside) = aside {
                        self.add(&aside);
                    }
                }
            }
        }
        let own = Entry::take(folder, OsStr::new("."), None, &mut Room::new())?;
        match own.is_some_and(|own| own.has_mode_of(recorded)) {
            true => Ok(()),
            false => {
                let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
                recorded.set_attributes(rustix::fs::openat(folder, c".", flags, Mode::empty())?)
            }
        }
    }

    fn add(&mut self, aside: &SetAside) {
        self.replaced.removed += aside.removed;
        self.replaced.is_deleted |= aside.name.is_none();
    }

    /// Notes that an entry differs.
    fn note(&mut self, name: &OsStr, below: &[OsString]) {
        if self.changed.len() < 2 {
            let folder = below.iter().fold(self.path.to_owned(), |path, step| path.join(step));
            self.changed.push(folder.join(name));
        }
    }

    /// Moves an entry to the folder beside the protected one.
    fn keep(
        &mut self,
        from: &OwnedFd,
        name: &OsStr,
        own_name: &OsStr,
        below: &[OsString],
    ) -> io::Result<SetAside> {
        let (mut to, conflict) = reopening(&[self.beside], || {
            conflicts::folder(self.beside, &conflict_name(self.name))
        })?;
        for step in below {
            (to, _) = reopening(&[&to], || conflicts::folder(&to, step))?;
        }
        self.replaced.copy = Some(self.path.with_file_name(conflict));
        set_aside(from, name, &to, own_name)
    }
}

#[cfg(test)]
#[path = "restore_tests.rs"]
mod tests;
