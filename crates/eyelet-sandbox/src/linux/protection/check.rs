//! Compares protected paths with their records, and restores those that differ.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::conflicts::{conflict_name, or_delete, set_aside};
use super::entry::{Entry, Room};
use super::folders;
use super::moved::{Search, Searched, create_path, put_back};
use super::places::Place;
use super::replaced::is_init_gone;
use super::restore::{Replaced, restore};
use super::store::{Lock, Record, Store};
use crate::message::{Fate, Reverted};

/// A path that is restored this often ...
const MAX_RESTORED: usize = 3;
/// ... within this time gets the commands killed.
const RESTORED_WITHIN_MS: u64 = 10_000;

/// How often a path may change during its restore.
const MAX_ATTEMPTS: usize = 4;

/// Who made a change: the user, or possibly a command.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The user made this change; the current state of the path becomes the record.
    Users(Option<Entry>),
    /// The path was replaced again during the decision.
    Again,
    /// A command may have made this change.
    Unknown,
}

/// Whether a path that is as recorded stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// The path was unchanged, as far as eyelet can know.
    Before,
    /// Since now: it may have changed until now.
    Now,
    /// The path was replaced in the meantime.
    Again,
    /// Someone may write to the file at any time.
    Writable,
}

/// Decides about changes.
pub(super) trait Judge {
    /// Decides who made a change. Gets the path, its current state, and the state in the record.
    fn verdict(
        &mut self,
        path: &Path,
        now: Option<&Entry>,
        recorded: Option<&Entry>,
    ) -> io::Result<Verdict>;

    /// Makes sure that a path, which is as recorded, stays so.
    fn keep(&mut self, path: &Path, entry: &Entry) -> io::Result<Kept>;
}

/// For commands that no longer run: no change is the user's.
pub(super) struct NoUser;

impl Judge for NoUser {
    fn verdict(&mut self, _: &Path, _: Option<&Entry>, _: Option<&Entry>) -> io::Result<Verdict> {
        Ok(Verdict::Unknown)
    }

    fn keep(&mut self, _: &Path, _: &Entry) -> io::Result<Kept> {
        Ok(Kept::Before)
    }
}

pub(super) struct Check<'a> {
    pub(super) store: &'a Store,
    pub(super) lock: &'a Lock,
    /// Finds folders that were moved.
    pub(super) search: &'a mut Search,
    pub(super) judge: &'a mut dyn Judge,
    pub(super) reverted: Vec<Reverted>,
    /// A path that was restored too often.
    pub(super) kept_changing: Option<PathBuf>,
}

impl Check<'_> {
    /// Checks everything in a place.
    pub(super) fn place(&mut self, place: &Place) {
        match self.store.load(self.lock, &place.path.0) {
            Ok(Some(record)) => {
                let mut now = record.clone();
                let searched = self.folders(place, &mut now);
                // Until a moved folder is found, another one in its place must have no plant either.
                self.objects(place, &mut now, searched);
                if now.is_changed_from(&record) && self.store.save(self.lock, &now).is_err() {
                    self.report(&place.path.0, Fate::Failed);
                }
            }
            Ok(None) | Err(_) => self.report(&place.path.0, Fate::Failed),
        }
    }

    fn folders(&mut self, place: &Place, record: &mut Record) -> Searched {
        for (path, identity) in &record.folders.clone() {
            let now = folders::open(&path.0).ok().flatten();
            if record.is_removed && now.is_none() {
                // It was not found before; looking for it again and again would take long.
                continue;
            }
            let done = tried(|| put_back(&place.root.0, &path.0, *identity, self.search));
            if self.search.is_wanted(*identity) {
                return Searched::NotYet;
            }
            let is_done = matches!(done, Ok(None));
            self.note(record, &path.0, done);
            // If another folder stands there for good, it is the one to be kept.
            if let Some(now) = now.filter(|_| is_done).and_then(|now| folders::identity(now).ok()) {
                record.replace_folder(&path.0, now);
            }
        }
        Searched::All
    }

    fn objects(&mut self, place: &Place, record: &mut Record, searched: Searched) {
        let folder = match folders::open_for_owner(&place.root.0, &place.path.0) {
            Ok(folder) => folder,
            Err(_) => return self.report(&place.path.0, Fate::Failed),
        };
        if searched == Searched::All {
            record.is_removed = folder.is_none();
        }
        let Some(folder) = folder else { return };
        for below in &place.objects {
            let Some(recorded) = record.object(&below.0).cloned() else { continue };
            let path = place.path.0.join(&below.0);
            let mut replaced = None;
            let now =
                tried(|| self.object(&folder, place, &below.0, recorded.as_ref(), &mut replaced));
            let done = match now {
                Ok(now) => {
                    // Not if only the time stamp differs: a command may still write to the file's memory unnoticed.
                    if now != recorded {
                        record.set(&below.0, now);
                    }
                    Ok(replaced)
                }
                Err(error) => {
                    // It was restored, but failed later.
                    if let Some(replaced) = replaced {
                        self.report(&path, fate(replaced));
                    }
                    Err(error)
                }
            };
            self.note(record, &path, done);
        }
    }

    /// Checks one path. Returns its current state. If the path was restored, `replaced` is the
    /// version that the restore replaced.
    fn object(
        &mut self,
        folder: &OwnedFd,
        place: &Place,
        below: &Path,
        recorded: Option<&Entry>,
        replaced: &mut Option<Replaced>,
    ) -> io::Result<Option<Entry>> {
        let path = place.path.0.join(below);
        let (parent, blocking) = self.parent(folder, place, below, recorded)?;
        let name = below.file_name().unwrap_or_default();
        if blocking.is_some() {
            *replaced = blocking;
        }
        let Some(parent) = parent else { return Ok(None) };
        for _ in 0..MAX_ATTEMPTS {
            if recorded.is_none() {
                // What appeared is not read: a command may have made it large. It is never the user's.
                if !exists(&parent, name)? {
                    return Ok(None);
                }
                self.restored(&path, replaced, restore(&parent, name, &path, None)?);
                continue;
            }
            let now = take(&parent, name, recorded)?;
            if now.as_ref() == recorded {
                let kept = now.as_ref().map_or(Ok(Kept::Before), |now| self.judge.keep(&path, now));
                match kept? {
                    Kept::Before => return Ok(now),
                    Kept::Now if take(&parent, name, None)?.as_ref() == recorded => return Ok(now),
                    Kept::Now | Kept::Again => {}
                    Kept::Writable => {
                        let done = restore(&parent, name, &path, recorded)?;
                        if done.is_version() {
                            self.restored(&path, replaced, done);
                        }
                    }
                }
                continue;
            }
            match self.judge.verdict(&path, now.as_ref(), recorded)? {
                Verdict::Users(entry) => return Ok(entry),
                Verdict::Again => {}
                Verdict::Unknown => {
                    self.restored(&path, replaced, restore(&parent, name, &path, recorded)?);
                }
            }
        }
        Err(io::Error::other("it changed again"))
    }

    /// Notes what a restore replaced. A path may be restored several times in one check.
    fn restored(&mut self, path: &Path, replaced: &mut Option<Replaced>, done: Replaced) {
        if let Some(earlier) = replaced.replace(done).filter(Replaced::is_version) {
            self.report(&earlier.changed.clone().unwrap_or_else(|| path.to_owned()), fate(earlier));
        }
    }

    /// The folder that holds `below`. If other files are in the way, moves them away.
    fn parent(
        &mut self,
        folder: &OwnedFd,
        place: &Place,
        below: &Path,
        recorded: Option<&Entry>,
    ) -> io::Result<(Option<OwnedFd>, Option<Replaced>)> {
        let mut here = folder.try_clone()?;
        let mut path = place.path.0.clone();
        let mut blocking = None;
        for step in below.parent().into_iter().flat_map(Path::components) {
            path.push(step);
            let entered = enter(&here, step.as_os_str())?;
            if let Some(entered) = entered {
                here = entered;
                continue;
            }
            if folders::look(&here, step.as_os_str())?.is_some() {
                folders::make_accessible(&here);
                let base = conflict_name(step.as_os_str());
                let aside = set_aside(&here, step.as_os_str(), &here, &base);
                let aside = or_delete(aside, &here, step.as_os_str())?;
                self.report(&path, fate(Replaced::at(&path, aside)));
                blocking = None;
            }
            if recorded.is_none() {
                return Ok((None, blocking));
            }
            let parent = below.parent().unwrap_or(Path::new(""));
            return Ok((Some(create_path(&place.root.0, &place.path.0.join(parent))?), blocking));
        }
        Ok((Some(here), blocking))
    }

    /// Reports a restored path, and remembers when it was restored.
    fn note(&mut self, record: &mut Record, path: &Path, done: io::Result<Option<Replaced>>) {
        match done {
            Ok(None) => return,
            Ok(Some(mut replaced)) => {
                let changed = replaced.changed.take();
                self.report(changed.as_deref().unwrap_or(path), fate(replaced));
            }
            // The last check of this command decides.
            Err(error) if is_init_gone(&error) => return,
            Err(_) => self.report(path, Fate::Failed),
        }
        let now = milliseconds();
        let times = match record.restored.iter_mut().find(|(own, _)| own.0 == path) {
            Some((_, times)) => times,
            None => {
                record.restored.push((path.into(), Vec::new()));
                match record.restored.last_mut() {
                    Some((_, times)) => times,
                    None => return,
                }
            }
        };
        times.retain(|time| now.saturating_sub(*time) < RESTORED_WITHIN_MS);
        times.push(now);
        if times.len() >= MAX_RESTORED {
            self.kept_changing = Some(path.to_owned());
        }
    }

    fn report(&mut self, path: &Path, fate: Fate) {
        let reverted = Reverted { path: path.into(), fate };
        if !self.reverted.contains(&reverted) {
            self.reverted.push(reverted);
        }
    }
}

impl Record {
    fn replace_folder(&mut self, path: &Path, identity: folders::Identity) {
        for (_, own) in self.folders.iter_mut().filter(|(own, _)| own.0 == path) {
            *own = identity;
        }
    }

    /// Whether it has to be saved again.
    pub(super) fn is_changed_from(&self, other: &Record) -> bool {
        let is_same = |(own, other): (&(_, Option<Entry>), &(_, Option<Entry>))| {
            is_identical(own.1.as_ref(), other.1.as_ref())
        };
        self != other || !self.objects.iter().zip(&other.objects).all(is_same)
    }
}

/// Whether there is such an entry, even if its owner may not enter the folder.
fn exists(folder: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    let found = folders::reopening(&[folder], || folders::look(folder, name));
    found.map(|found| found.is_some())
}

/// The entry as it is now, even if its owner may not read the folder.
pub(super) fn take(
    folder: &OwnedFd,
    name: &OsStr,
    known: Option<&Entry>,
) -> io::Result<Option<Entry>> {
    folders::reopening(&[folder], || Entry::take(folder, name, known, &mut Room::new()))
}

fn enter(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    folders::reopening(&[folder], || folders::enter(folder, name))
}

fn is_identical(one: Option<&Entry>, other: Option<&Entry>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.is_identical(other),
        (_, _) => false,
    }
}

/// Repeats what failed once: the system may have lacked something for a moment.
fn tried<T>(mut action: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    action().or_else(|_| action())
}

fn fate(replaced: Replaced) -> Fate {
    match replaced.copy {
        _ if replaced.is_deleted => Fate::Deleted,
        Some(to) => Fate::Conflict { to: to.into(), removed: replaced.removed },
        None => Fate::PutBack,
    }
}

/// Milliseconds since the machine started: the same for all processes.
fn milliseconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000_000
}
