//! Protected paths: whatever commands do to them is undone, from a record of what the user made of them.
//!
//! - A *place* is a folder with protected paths: a folder of git, or the top of a root or work tree (`places.rs`).
//! - The *record* of a place says what its protected paths are according to the user. Records are in a store that no
//!   command can access and that all eyelet processes share (`store.rs`, `entry.rs`).
//! - Every running command has a *mark* in the store. While no mark is near a path, every change is the user's and
//!   becomes the record. Otherwise the path is restored from the record (`check.rs`, `restore.rs`, `moved.rs`), and the
//!   other version becomes a conflict copy (`conflicts.rs`).
//! - If a supervisor is killed, its mark stays. The next command on the same paths restores them first.
//!
//! A command can therefore never create a record, whatever runs at the same time or is killed.

mod check;
mod conflicts;
mod entry;
mod folders;
mod git_config;
mod marks;
mod moved;
mod places;
mod recorder;
mod recover;
mod replaced;
mod restore;
mod reverted_list;
mod start;
mod store;
mod users_changes;
mod watch;

use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::check::Check;
use self::conflicts::drop_duplicate;
use self::marks::{Mark, MarkFile, ask_to_kill};
use self::moved::Search;
use self::places::Place;
pub(super) use self::recorder::Mounts;
pub(super) use self::replaced::init_gone;
use self::replaced::{Mount, ReplacedFiles};
use self::reverted_list::RevertedList;
use self::store::Store;
use self::users_changes::{UsersChanges, tops};
use self::watch::{Event, Watch};
use crate::linux::file_id::{FileId, look};
use crate::message::{Fate, Reverted};
use crate::request::RawPath;

/// How often to look for moved folders: one in another that was moved, too, is found later.
const MAX_SEARCHES: usize = 8;
/// How long to look for moved folders when no command waits for it.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to look for them at a time while the command runs: other paths have to be restored, too.
const SEARCH_PART: Duration = Duration::from_millis(50);
/// How often paths are checked whose changes may not be reported.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The folder with the store, if it exists: commands must not read it.
pub(super) fn store_folder() -> Option<PathBuf> {
    Store::open().ok().map(|store| store.hidden().to_owned())
}

/// The protection of one command.
pub(super) struct Protection {
    store: Store,
    mark: Mark,
    file: MarkFile,
    watch: Watch,
    reverted: RevertedList,
    mounts: Mounts,
    /// Changes that were noticed during a check, for the next one.
    events: Vec<Event>,
    /// Files that were replaced since the command started.
    replaced: ReplacedFiles,
    /// The search for moved folders, and where they can be.
    search: Search,
    tops: Vec<PathBuf>,
    /// When to check for changes that inotify does not report: writes to the memory of a mapped
    /// file, writes by another name of the file, and changes in folders that their owner may not
    /// read. In the first tier, such writes can only affect files that were replaced.
    check_at: Option<Instant>,
}

impl Protection {
    pub(super) fn mounts(&self) -> &Mounts {
        &self.mounts
    }

    /// Removes the mark of a command that was not started.
    pub(super) fn abandon(mut self) {
        self.watch.clear();
        let _ = self.file.remove();
    }

    /// Becomes readable when a protected path changes.
    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.watch.handle()
    }

    /// The changes that were reverted since the last time.
    pub(super) fn newly_reverted(&mut self) -> Vec<Reverted> {
        self.reverted.tell()
    }

    /// When to check the protected paths even if no change was reported.
    pub(super) fn next_check(&self) -> Option<Duration> {
        if !self.search.is_complete() {
            return Some(Duration::ZERO);
        }
        self.check_at.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Checks regularly from now on if the watch is incomplete.
    fn check_if_incomplete(&mut self) {
        if self.watch.is_incomplete && self.check_at.is_none() {
            self.check_at = Some(Instant::now() + CHECK_INTERVAL);
        }
    }

    /// Whether to check the protected paths even if no change was reported.
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.check_at.is_some_and(|at| now >= at);
        if is_due {
            self.check_at = self.check_at.map(|_| now + CHECK_INTERVAL);
        }
        is_due
    }

    /// Restores protected paths that have changed. If the command has to be killed for it, returns the path that kept
    /// changing.
    pub(super) fn on_change(&mut self, mount: Mount<'_>) -> io::Result<Option<PathBuf>> {
        let mut events = self.watch.read()?;
        let read = events.as_deref();
        self.replaced.mount_again(&mut self.mark, &self.file, read, mount)?;
        let earlier = std::mem::take(&mut self.events);
        if let Some(events) = &mut events {
            events.splice(0..0, earlier);
        }
        let is_for_mark = |event: &Event| event.path == self.file.path;
        if events.as_ref().is_none_or(|events| events.iter().any(is_for_mark)) {
            let notes = self.file.notes()?;
            self.add_replaced(notes.replaced);
            if notes.killed_for.is_some() {
                return Ok(notes.killed_for);
            }
        }
        let is_near = |place: &Place| {
            let is_near = |event: &Event| {
                event.path.starts_with(&place.path.0) || place.path.0.starts_with(&event.path)
            };
            events.as_ref().is_none_or(|events| events.iter().any(is_near))
        };
        let is_due = self.is_due() || self.search_for_a_while();
        let places = self.mark.places.iter().filter(|place| is_due || is_near(place));
        let places: Vec<_> = places.cloned().collect();
        if places.is_empty() {
            return Ok(None);
        }
        for place in &places {
            self.watch.add(place)?;
        }
        let reported = self.reverted.new.len();
        let kept_changing = self.check(&places, mount)?;
        if is_due && self.search.is_complete() {
            // They may be moved to where others were found.
            self.search.forget();
        }
        if self.reverted.new.len() > reported {
            for place in &places {
                self.watch.add(place)?;
            }
        }
        self.check_if_incomplete();
        Ok(kept_changing)
    }

    /// Restores the protected paths after all processes of the command are gone.
    pub(super) fn finish(mut self) -> Vec<Reverted> {
        let places = self.mark.places.clone();
        // Another process may have watched.
        let notes = self.file.notes().unwrap_or_default();
        self.add_replaced(notes.replaced);
        let earlier = std::mem::take(&mut self.reverted).all(notes.reverted);
        replaced::wait_for_git(&self.mark.places);
        let events = self.watch.read().ok().flatten();
        // Its own mounts are gone, and nobody is left who could write.
        let mut mount = |path: &Path| {
            let (parent, name) = folders::split(path)?;
            let parent = folders::open(parent)?.ok_or(io::ErrorKind::NotFound)?;
            let found = look(parent, name)?.ok_or(io::ErrorKind::NotFound)?;
            Ok(FileId::new(&found))
        };
        let _ =
            self.replaced.mount_again(&mut self.mark, &self.file, events.as_deref(), &mut mount);
        let checked = self.check_to_the_end(&places, &mut mount);
        self.watch.clear();
        let mut reverted: Vec<Reverted> = Vec::new();
        for mut one in earlier.into_iter().chain(self.reverted.new) {
            // Both copies stay if this fails.
            let _ = drop_duplicate(&mut one);
            if !reverted.contains(&one) {
                reverted.push(one);
            }
        }
        let has_failed = |reverted: &Reverted| reverted.fate == Fate::Failed;
        match checked {
            // The next command tries again if something failed.
            Ok(()) if !reverted.iter().any(has_failed) => {
                let _ = self.file.remove();
            }
            Ok(()) => {}
            Err(_) => {
                let unseen = |root: &RawPath| Reverted { path: root.clone(), fate: Fate::Unseen };
                reverted.extend(self.mark.roots.iter().map(unseen));
            }
        }
        reverted
    }

    /// Adds paths at which commands may write to the file.
    fn add_replaced(&mut self, paths: Vec<RawPath>) {
        let is_new = |path: &RawPath| self.mark.never_replaced(&path.0).is_some();
        let new: Vec<_> = paths.into_iter().filter(is_new).collect();
        self.mark.replaced.extend(new);
        if !self.mark.replaced.is_empty() {
            self.check_at.get_or_insert_with(|| Instant::now() + CHECK_INTERVAL);
        }
    }

    /// Continues the search for moved folders. Returns true if it has ended.
    fn search_for_a_while(&mut self) -> bool {
        if self.search.is_complete() {
            return false;
        }
        self.search.search(&self.tops, Instant::now() + SEARCH_PART);
        self.search.is_complete()
    }

    /// Checks until no moved folder has to be looked for.
    fn check_to_the_end(&mut self, places: &[Place], mount: Mount<'_>) -> io::Result<()> {
        // Where something was found while the command ran may be wrong by now.
        self.search.forget();
        let until = Instant::now() + SEARCH_TIMEOUT;
        for _ in 0..MAX_SEARCHES {
            self.check(places, mount)?;
            if self.search.is_complete() {
                return Ok(());
            }
            self.search.search_once(&self.tops, until);
        }
        Err(moves_again())
    }

    /// Checks under the lock. Returns the path for which the command has to be killed.
    fn check(&mut self, places: &[Place], mount: Mount<'_>) -> io::Result<Option<PathBuf>> {
        let lock = self.store.lock()?;
        let found = self.store.marks(&lock, Some(&self.file.path))?;
        let (paths, others): (Vec<_>, Vec<_>) =
            found.into_iter().map(|found| (found.path, found.mark)).unzip();
        self.tops = tops(others.iter().chain([&self.mark]));
        let mut judge = UsersChanges {
            own: &mut self.mark,
            file: &self.file,
            others: &others,
            watch: &mut self.watch,
            events: &mut self.events,
            replaced: &mut self.replaced,
            mount,
        };
        let mut check = Check {
            store: &self.store,
            lock: &lock,
            search: &mut self.search,
            judge: &mut judge,
            reverted: std::mem::take(&mut self.reverted.new),
            kept_changing: None,
        };
        for place in places {
            check.place(place);
        }
        let Check { reverted, kept_changing, .. } = check;
        self.reverted.new = reverted;
        for reverted in self.reverted.take_unnoted() {
            self.file.note_reverted(&reverted)?;
        }
        self.add_replaced(Vec::new());
        if let Some(path) = &kept_changing {
            // The commands cannot be told apart.
            for (mark, _) in paths.iter().zip(&others).filter(|(_, mark)| mark.touches(path)) {
                ask_to_kill(mark, path)?;
            }
        }
        Ok(kept_changing)
    }
}

fn moves_again() -> io::Error {
    io::Error::other(
        "protected directories kept moving while eyelet searched for them; run the command again",
    )
}
