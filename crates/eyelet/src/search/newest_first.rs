//! Which files are looked into, and when the page is certain.
//!
//! A search starts by looking into each file where the walk finds it, which is the least work where
//! little matches. Where much does, most of that is for nothing: once a share of the page is found,
//! the walk goes on with the times of the files alone, and the newest are looked into until the
//! page is certain. A worker does so whenever many of its files wait, and forgets those that cannot
//! matter any more: what waits is bounded, whatever the size of the tree. Both ways are exact; only
//! what they cost differs.

use std::ffi::OsStr;
use std::fs::File;
use std::mem;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cancel::{Stop, Watch};
use crate::progress::Progress;
use crate::text::newest_page::{Hit, Newest};

use crate::fs::directory::Directory;
use crate::search::embedded::{Tally, modified};
use crate::search::match_file::{Finding, Look, Origin};
use crate::search::query::Query;
use crate::search::waiting_files::{Candidate, Part, Waiting};
use crate::search::walk::{Folder, PassedOver, Trail};
use crate::search::work_queue::Crew;

/// Once this share of the hits that a page needs is found, the rest is looked into newest first.
const SHARE_FOUND: usize = 4;
/// So many hits at least.
const MIN_FOUND: u64 = 4;
/// So many files wait for each worker before it looks into them. More would save looks where few of
/// them match, and take more memory than the rest of a search.
const MAX_WAITING: usize = 6144;
/// How many files are put in order at least before the next ones are.
const MIN_ORDERED: usize = 256;
/// With so many files to look into, other threads are worth their start.
const ENOUGH_FILES: usize = 64;

/// What the workers of one search share.
pub(crate) struct Hunt<'h> {
    query: &'h Query,
    watch: &'h Watch,
    progress: &'h Progress,
    newest: Mutex<Newest>,
    /// How many hits make the page certain.
    wanted: usize,
    /// Files wait to be looked into newest first.
    waits: AtomicBool,
    /// A file that was changed before this time does not matter any more.
    bar: AtomicI64,
}

/// One of those who look into files.
pub(crate) struct Worker<'w> {
    hunt: &'w Hunt<'w>,
    look: Look<'w>,
    tally: Tally,
    waiting: Part,
    /// The folder of the file that was looked into last.
    at_hand: Option<(Arc<Path>, Directory, Trail)>,
}

impl<'h> Hunt<'h> {
    pub(crate) fn new(
        query: &'h Query,
        watch: &'h Watch,
        progress: &'h Progress,
        newest: Newest,
    ) -> Self {
        let wanted = newest.wanted();
        Hunt {
            query,
            watch,
            progress,
            newest: Mutex::new(newest),
            wanted,
            waits: AtomicBool::new(false),
            bar: AtomicI64::new(i64::MIN),
        }
    }

    /// The page, when the search is over.
    pub(crate) fn into_newest(self) -> Newest {
        self.newest.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn newest(&self) -> MutexGuard<'_, Newest> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, hit: Hit) {
        let mut newest = self.newest();
        newest.add(hit);
        if let Some(bar) = newest.bar() {
            let modified = bar.modified.map_or(i64::MAX, nanoseconds);
            self.bar.store(modified, Ordering::Relaxed);
        }
        if newest.seen() == self.share() {
            self.waits.store(true, Ordering::Relaxed);
        }
    }

    /// So many hits are many.
    fn share(&self) -> u64 {
        ((self.wanted / SHARE_FOUND) as u64).max(MIN_FOUND)
    }

    /// Whether a file that was changed then is too old to matter, whatever its path.
    fn is_too_old(&self, modified: i64) -> bool {
        modified < self.bar.load(Ordering::Relaxed)
    }

    /// Whether a file, and all that stand behind it, cannot change the page any more.
    fn is_certain_before(&self, modified: i128, path: &Path) -> bool {
        self.newest().bar().is_some_and(|bar| {
            let path = path.as_os_str().as_bytes();
            bar.modified.is_none_or(|time| {
                modified < time || (modified == time && path >= bar.path.as_bytes())
            })
        })
    }

    /// Looks into files that wait below `top`, until the page is certain.
    pub(crate) fn newest_first(&self, mut waiting: Waiting, top: &Folder) -> Result<Tally, Stop> {
        let mut tally = Tally { searched: Some(0), ..Tally::default() };
        let mut count = self.wanted.saturating_mul(2).max(MIN_ORDERED);
        while !waiting.is_empty() {
            let mut newest = waiting.take_newest(count);
            newest.reverse();
            let crew = Crew::new(newest, ENOUGH_FILES);
            let certain = AtomicBool::new(false);
            let workers = crew.run(
                || Worker::new(self),
                |worker, next| {
                    while let Some(file) = next() {
                        let Some(candidate) = waiting.candidate(&file) else { continue };
                        if !worker.look_into_candidate(candidate, top)? {
                            certain.store(true, Ordering::Relaxed);
                            break;
                        }
                    }
                    Ok(())
                },
            )?;
            tally.add(&gather(workers).0);
            if certain.into_inner() {
                break;
            }
            count = count.saturating_mul(2);
        }
        Ok(tally)
    }
}

impl<'w> Worker<'w> {
    pub(crate) fn new(hunt: &'w Hunt<'w>) -> Self {
        let look = Look::new(hunt.query, hunt.watch);
        let tally = Tally { searched: Some(0), ..Tally::default() };
        Worker { hunt, look, tally, waiting: Part::default(), at_hand: None }
    }

    /// Counts what the walk had to pass over.
    pub(crate) fn pass(&mut self, passed: &PassedOver) {
        self.tally.unreadable += passed.unreadable;
        self.tally.not_utf8 += passed.not_utf8;
    }

    /// Looks into the file that is the search path.
    pub(crate) fn look_into_named(&mut self, file: &File, path: &Path) -> Result<(), Stop> {
        let modified = rustix::fs::fstat(file).ok().map(|stat| modified(&stat));
        let finding = self.look.at(file, 0, Origin::Named)?;
        if self.note(finding) {
            self.hunt.add(Hit { path: path.to_string_lossy().into_owned(), modified });
        }
        Ok(())
    }

    /// Looks into a file that the walk has found, or lets it wait.
    pub(crate) fn visit(
        &mut self,
        top: &Folder,
        folder: &Folder,
        name: &OsStr,
    ) -> Result<(), Stop> {
        if self.hunt.waits.load(Ordering::Relaxed) && self.wait(folder, name)? {
            return if self.waiting.len() < MAX_WAITING { Ok(()) } else { self.settle(top) };
        }
        let Ok((file, stat)) = folder.directory.open_regular(name) else {
            self.tally.unreadable += 1;
            return Ok(());
        };
        let changed = modified(&stat);
        if self.hunt.is_too_old(nanoseconds(changed)) {
            return Ok(());
        }
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let finding = self.look.at(&file, size, Origin::Walked)?;
        if self.note(finding) {
            let path = Trail::new(&folder.path).to(name).to_string_lossy().into_owned();
            self.hunt.add(Hit { path, modified: Some(changed) });
        }
        Ok(())
    }

    /// Lets a file wait, or leaves it where it does not matter. False where there is no room.
    fn wait(&mut self, folder: &Folder, name: &OsStr) -> Result<bool, Stop> {
        self.hunt.watch.check()?;
        let Ok(stat) = folder.directory.stat(name) else {
            self.tally.unreadable += 1;
            return Ok(true);
        };
        let modified = modified(&stat);
        if self.hunt.is_too_old(nanoseconds(modified)) {
            return Ok(true);
        }
        let candidate = Candidate { modified, folder: &folder.path, name };
        Ok(self.waiting.add(candidate, MAX_WAITING).is_some())
    }

    /// Looks into the newest of those that wait until the others do not matter. Where all did and
    /// few of them were hits, waiting is for nothing.
    fn settle(&mut self, top: &Folder) -> Result<(), Stop> {
        let mut waiting: Waiting = [mem::take(&mut self.waiting)].into_iter().collect();
        let seen = self.hunt.newest().seen();
        for file in waiting.take_newest(usize::MAX) {
            let Some(candidate) = waiting.candidate(&file) else { continue };
            if !self.look_into_candidate(candidate, top)? {
                return Ok(());
            }
        }
        if self.hunt.newest().seen() - seen < self.hunt.share() {
            self.hunt.waits.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Looks into a file that waited. False where neither it nor those behind it matter.
    fn look_into_candidate(
        &mut self,
        candidate: Candidate<'_>,
        top: &Folder,
    ) -> Result<bool, Stop> {
        let Candidate { modified, folder, name } = candidate;
        if !self.at_hand.as_ref().is_some_and(|(path, ..)| Arc::ptr_eq(path, folder)) {
            let below = folder.strip_prefix(&top.path).unwrap_or(folder);
            let Ok(directory) = top.directory.open_below(below.iter()) else {
                self.tally.unreadable += 1;
                return Ok(true);
            };
            self.at_hand = Some((Arc::clone(folder), directory, Trail::new(folder)));
        }
        let Some((_, directory, trail)) = &mut self.at_hand else { return Ok(true) };
        let path = trail.to(name);
        if self.hunt.is_certain_before(modified, path) {
            return Ok(false);
        }
        let Ok((file, stat)) = directory.open_regular(name) else {
            self.tally.unreadable += 1;
            return Ok(true);
        };
        let path = path.to_string_lossy().into_owned();
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let finding = self.look.at(&file, size, Origin::Walked)?;
        if self.note(finding) {
            self.hunt.add(Hit { path, modified: Some(modified) });
        }
        Ok(true)
    }

    /// Counts a file. Whether it is a hit.
    fn note(&mut self, finding: Finding) -> bool {
        match finding {
            Finding::Match | Finding::NoMatch => {
                self.hunt.progress.add(1);
                self.tally.searched = self.tally.searched.map(|count| count + 1);
            }
            Finding::Unreadable => self.tally.unreadable += 1,
            Finding::LineTooLong => self.tally.line_too_long += 1,
        }
        finding == Finding::Match
    }
}

/// What all workers have counted, and the files that wait.
pub(crate) fn gather(workers: Vec<Worker<'_>>) -> (Tally, Waiting) {
    let mut tally = Tally { searched: Some(0), ..Tally::default() };
    let count = |worker: Worker<'_>| {
        tally.add(&worker.tally);
        worker.waiting
    };
    let waiting = workers.into_iter().map(count).collect();
    (tally, waiting)
}

/// A time as it fits into an atomic: those before 1677 and after 2262 are taken as these.
fn nanoseconds(modified: i128) -> i64 {
    i64::try_from(modified).unwrap_or(if modified < 0 { i64::MIN } else { i64::MAX })
}
