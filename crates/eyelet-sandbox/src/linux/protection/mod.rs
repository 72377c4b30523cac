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
mod store;
mod users_changes;
mod watch;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::check::Check;
use self::conflicts::drop_duplicate;
use self::marks::{Mark, MarkFile, ask_to_kill};
use self::moved::Search;
use self::places::Place;
pub(super) use self::recorder::Mounts;
use self::recorder::Recorder;
use self::recover::{Recovered, recover};
pub(super) use self::replaced::init_gone;
use self::replaced::{Mount, ReplacedFiles};
use self::reverted_list::RevertedList;
use self::store::Store;
use self::users_changes::{UsersChanges, tops};
use self::watch::{Event, Watch};
use crate::linux::file_id::{FileId, look};
use crate::message::{Fate, Reverted};
use crate::request::{RawPath, SandboxRequest, Tier};

/// How long another command may take to be rid of its changes before this one is refused.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often to look for moved folders: one in another that was moved, too, is found later.
const MAX_SEARCHES: usize = 8;
const SETTLE_INTERVAL: Duration = Duration::from_millis(5);
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
    /// When to look for changes that are not reported: writes to the memory of a mapped file, or by another name of
    /// the file. In the first tier, only to files that were replaced. Also changes in folders that their owner may not read.
    check_at: Option<Instant>,
}

impl Protection {
    /// Records the protected paths, and marks this command as running.
    ///
    /// `inotify` is the caller's instance, if there is one.
    pub(super) fn start(
        request: &SandboxRequest,
        tier: Tier,
        inotify: Option<&OwnedFd>,
    ) -> io::Result<Self> {
        let store = Store::open()?;
        let until = Instant::now() + SETTLE_TIMEOUT;
        let mut reverted = Vec::new();
        let mut mark = Mark {
            roots: request.tops(tier).map(|top| RawPath::from(&top.path)).collect(),
            identities: request.tops(tier).map(|top| top.identity).collect(),
            temp: request.private_temp.as_ref().map(|temp| RawPath::from(&temp.path)),
            tier,
            places: Vec::new(),
            mounted: Vec::new(),
            replaced: Vec::new(),
        };
        let mut search = Search::default();
        let mut searches = 0;
        loop {
            let lock = store.lock()?;
            let Recovered { marks, tops } =
                recover(&store, &lock, &mark, &mut reverted, &mut search)?;
            if !search.is_complete() {
                drop(lock);
                searches += 1;
                if searches > MAX_SEARCHES {
                    return Err(moves_again());
                }
                search.search(&tops);
                continue;
            }
            let mut recorder = Recorder {
                store: &store,
                lock: &lock,
                marks: &marks,
                tier,
                mounts: Mounts::default(),
                unsettled: None,
            };
            let known = recorder.known_repositories(request)?;
            let mut places = places::of(request, tier, &known)?;
            places.extend(recorder.removed_places(request)?);
            places.sort_by_key(|place| place.path.0.components().count());
            for place in &places {
                recorder.record(place, &places)?;
            }
            if let Some(path) = recorder.unsettled {
                // The supervisor of the other command restores it.
                drop(lock);
                if Instant::now() >= until {
                    let path = path.display();
                    return Err(io::Error::other(format!(
                        "{path}: another command has changed it"
                    )));
                }
                std::thread::sleep(SETTLE_INTERVAL);
                continue;
            }
            let mounts = recorder.mounts;
            mark.places = places;
            if tier == Tier::Namespaces {
                let mounted = mounts.read_only.iter();
                mark.mounted = mounted.map(|(path, id)| (path.into(), *id)).collect();
                mark.replaced = mounts.writable.iter().map(RawPath::from).collect();
            }
            let is_unreported = tier == Tier::Landlock || !mark.replaced.is_empty();
            if marks.iter().any(|other| mark.writable_of(other).next().is_some()) {
                store.note_writable(&lock, &mark)?;
            }
            let file = store.create_mark(&lock, &mark)?;
            drop(lock);
            let watch = watch(&file, &mark, inotify).inspect_err(|_| {
                let _ = file.remove();
            })?;
            let mut protection = Protection {
                store,
                mark,
                file,
                watch,
                reverted: RevertedList::new(reverted),
                mounts,
                events: Vec::new(),
                replaced: ReplacedFiles::default(),
                check_at: is_unreported.then(|| Instant::now() + CHECK_INTERVAL),
            };
            protection.check_if_incomplete();
            return Ok(protection);
        }
    }

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
        let is_due = self.is_due();
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
        let checked = self.check(&places, &mut mount);
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
            Ok(_) if !reverted.iter().any(has_failed) => {
                let _ = self.file.remove();
            }
            Ok(_) => {}
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

    fn check(&mut self, places: &[Place], mount: Mount<'_>) -> io::Result<Option<PathBuf>> {
        let mut search = Search::default();
        let mut kept_changing = None;
        for _ in 0..MAX_SEARCHES {
            let (path, tops) = self.check_once(places, mount, &mut search)?;
            kept_changing = kept_changing.or(path);
            if search.is_complete() {
                return Ok(kept_changing);
            }
            search.search(&tops);
        }
        Err(moves_again())
    }

    /// Checks under the lock. Also returns where moved folders can be.
    fn check_once(
        &mut self,
        places: &[Place],
        mount: Mount<'_>,
        search: &mut Search,
    ) -> io::Result<(Option<PathBuf>, Vec<PathBuf>)> {
        let lock = self.store.lock()?;
        let found = self.store.marks(&lock, Some(&self.file.path))?;
        let (paths, others): (Vec<_>, Vec<_>) =
            found.into_iter().map(|found| (found.path, found.mark)).unzip();
        let tops = tops(others.iter().chain([&self.mark]));
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
            search,
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
        Ok((kept_changing, tops))
    }
}

fn moves_again() -> io::Error {
    io::Error::other("protected directories were moved during each search for them")
}

fn watch(file: &MarkFile, mark: &Mark, inotify: Option<&OwnedFd>) -> io::Result<Watch> {
    let mut watch = Watch::new(&file.path, inotify)?;
    for place in &mark.places {
        watch.add(place)?;
    }
    Ok(watch)
}
