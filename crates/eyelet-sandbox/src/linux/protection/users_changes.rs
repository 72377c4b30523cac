//! Tells the user's changes from those of commands.
//!
//! In the first tier, protected files that exist are mounted read-only before the command starts. As long as the same file
//! is there, every change is the user's. If the user replaces such a file, the kernel drops the mounts, and a command may
//! write to the new file or keep a handle of it. Its content is then the user's only if it does not matter whose it is: if a
//! git config changed in settings that cannot start programs.

use std::io;
use std::path::{Path, PathBuf};

use super::check::{Judge, Kept, Verdict, take};
use super::entry::Entry;
use super::folders;
use super::git_config::differs_harmlessly;
use super::marks::{Mark, MarkFile};
use super::replaced::{Mount, ReplacedFiles, is_writable, note_replaced};
use super::watch::{Event, Watch};
use crate::linux::file_id::FileId;
use crate::request::Tier;

pub(super) struct UsersChanges<'a> {
    pub(super) own: &'a mut Mark,
    pub(super) file: &'a MarkFile,
    /// The marks of the other commands that run.
    pub(super) others: &'a [Mark],
    pub(super) watch: &'a mut Watch,
    /// Changes that happen during the check.
    pub(super) events: &'a mut Vec<Event>,
    pub(super) replaced: &'a mut ReplacedFiles,
    pub(super) mount: Mount<'a>,
}

impl Judge for UsersChanges<'_> {
    fn verdict(
        &mut self,
        path: &Path,
        now: Option<&Entry>,
        recorded: Option<&Entry>,
    ) -> io::Result<Verdict> {
        let Some(recorded) = recorded else { return Ok(Verdict::Unknown) };
        self.read_events()?;
        match (self.never_replaced(path), now) {
            (Some(_), None) if self.replaced.is_removed(path) => return Ok(Verdict::Users(None)),
            (Some(id), Some(now)) if now.id == id && !now.is_linked() => {
                return Ok(Verdict::Users(Some(now.clone())));
            }
            (_, _) => {}
        }
        note_replaced(self.own, self.file, path)?;
        match now {
            Some(now) if self.is_harmless(path, now, recorded) => self.accept(path, now),
            Some(_) | None => Ok(Verdict::Unknown),
        }
    }

    /// Mounts a file again that was replaced or restored.
    fn keep(&mut self, path: &Path, entry: &Entry) -> io::Result<Kept> {
        let is_needed = self.own.tier == Tier::Namespaces && !entry.is_link();
        if !is_needed || self.never_replaced(path) == Some(entry.id) {
            return Ok(Kept::Before);
        }
        note_replaced(self.own, self.file, path)?;
        if self.is_first(path, entry) {
            return Ok(Kept::Before);
        }
        let mounted = self.replaced.mount(path, self.mount)?;
        if mounted != entry.id {
            return Ok(Kept::Again);
        }
        if is_writable(path)? {
            return Ok(Kept::Writable);
        }
        if self.replaced.is_checked(path, mounted) {
            return Ok(Kept::Before);
        }
        self.replaced.set_checked(path, mounted);
        Ok(Kept::Now)
    }
}

impl UsersChanges<'_> {
    /// The commands, other than this one, that can change the path.
    fn near(&self, path: &Path) -> impl Iterator<Item = &Mark> {
        self.others.iter().filter(move |mark| mark.touches(path))
    }

    /// Whether no command can write to the path unless the user replaces the file.
    fn is_mounted_for_all(&self, path: &Path) -> bool {
        let is_mounted = |mark: &Mark| mark.mounted(path).is_some();
        is_mounted(self.own) && self.near(path).all(is_mounted)
    }

    /// The file at this path to which no command ever could write.
    fn never_replaced(&self, path: &Path) -> Option<FileId> {
        let own = self.own.never_replaced(path);
        own.filter(|_| self.near(path).all(|mark| mark.never_replaced(path) == own))
    }

    /// Whether it is still the file that was mounted before the command started.
    fn is_first(&self, path: &Path, entry: &Entry) -> bool {
        self.own.mounted(path) == Some(entry.id) && !self.replaced.contains(path)
    }

    /// Whether the file is new, and the change cannot start programs.
    fn is_harmless(&self, path: &Path, now: &Entry, recorded: &Entry) -> bool {
        self.own.is_git_config(path)
            && self.is_mounted_for_all(path)
            && !self.is_first(path, now)
            && !self.replaced.is_checked(path, now.id)
            && now.has_mode_of(recorded)
            && now
                .bytes()
                .zip(recorded.bytes())
                .is_some_and(|(now, recorded)| differs_harmlessly(recorded, now))
    }

    /// Takes a harmless version, if nobody can write to it any more.
    fn accept(&mut self, path: &Path, now: &Entry) -> io::Result<Verdict> {
        if self.replaced.mount(path, self.mount)? != now.id {
            return Ok(Verdict::Again);
        }
        if is_writable(path)? {
            return Ok(Verdict::Unknown);
        }
        let (parent, name) = folders::split(path)?;
        let Some(parent) = folders::open(parent)? else { return Ok(Verdict::Again) };
        // It may have been read before it was mounted.
        match take(&parent, name, None)? {
            Some(again) if again.id == now.id && again == *now => {
                self.replaced.set_checked(path, now.id);
                Ok(Verdict::Users(Some(again)))
            }
            Some(_) | None => Ok(Verdict::Again),
        }
    }

    /// Notes files that were replaced since the last look.
    fn read_events(&mut self) -> io::Result<()> {
        let more = self.watch.read()?;
        self.replaced.mount_again(self.own, self.file, more.as_deref(), self.mount)?;
        self.events.extend(more.unwrap_or_default());
        Ok(())
    }
}

impl Mark {
    fn is_git_config(&self, path: &Path) -> bool {
        let (folder, name) = (path.parent(), path.file_name());
        let is_config = name.is_some_and(|name| name == "config" || name == "config.worktree");
        let mut places = self.places.iter().filter(|place| Some(place.path.0.as_path()) == folder);
        is_config && places.any(|place| place.is_repository())
    }
}

/// Where moved folders can be: everything that the commands can write to.
pub(super) fn tops<'m>(marks: impl Iterator<Item = &'m Mark>) -> Vec<PathBuf> {
    let mut tops = Vec::new();
    for mark in marks {
        tops.extend(mark.roots.iter().chain(&mark.elsewhere).map(|path| path.0.clone()));
    }
    tops.sort();
    tops.dedup();
    tops
}
