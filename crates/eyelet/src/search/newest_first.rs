//! Decides which files to search, and when the page is final.
//!
//! A search starts by searching each file as the walk finds it, which is fastest if few files
//! match. If many match, most of that work is wasted: once enough hits are found, the walk only
//! collects modification times, and the newest files are searched until no other file can change
//! the page. A worker also searches its newest files when it has deferred many, and drops those
//! that are too old, so memory is bounded. Both ways give the same result.

use std::ffi::OsStr;
use std::fs::File;
use std::mem;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cancel::{Stop, StopCheck};
use crate::progress::Progress;
use crate::text::newest_page::{Hit, NewestPage};

use crate::fs::directory::Directory;
use crate::fs::regular_file::modified_nanos;
use crate::search::deferred_storage::{Candidate, DeferredFiles, DeferredPart};
use crate::search::goal::Goal;
use crate::search::long_lines::Origin;
use crate::search::match_file::{FileMatcher, Finding};
use crate::search::outcome::SearchCounts;
use crate::search::query::Query;
use crate::search::walk::{OpenFolder, PathBuffer};
use crate::search::work_queue::WorkQueue;

/// Files are deferred once this fraction of a page is found: one in so many.
const DEFER_AT_SHARE: u64 = 4;
/// Files are not deferred before this many files or lines are found.
const DEFER_AT_HITS: u64 = 4;
/// How many files a worker defers before it searches them. More would avoid some searches, and take
/// more memory than the rest of the search.
const MAX_DEFERRED: usize = 6144;
/// How many files are sorted at a time at least.
const MIN_SORTED: usize = 256;
/// With fewer files, one thread is faster.
const PARALLEL_FROM_FILES: usize = 64;

/// The state that the workers of one search share.
pub(crate) struct NewestFirst<'h> {
    query: &'h Query,
    stop_check: &'h StopCheck,
    progress: &'h Progress,
    newest: Mutex<NewestPage>,
    goal: Goal,
    /// How many files or lines make the page final.
    units_needed: u64,
    /// Whether files are deferred.
    defers: AtomicBool,
    /// Older files cannot change the page.
    cutoff: AtomicI64,
}

/// A worker with its own matcher and counts.
pub(crate) struct Worker<'w> {
    search: &'w NewestFirst<'w>,
    matcher: FileMatcher<'w>,
    pub(crate) counts: SearchCounts,
    deferred: DeferredPart,
    /// The folder of the file that was searched last.
    last_folder: Option<(Arc<Path>, Directory, PathBuffer)>,
}

impl<'h> NewestFirst<'h> {
    pub(crate) fn new(
        query: &'h Query,
        goal: Goal,
        stop_check: &'h StopCheck,
        progress: &'h Progress,
        newest: NewestPage,
    ) -> Self {
        let units_needed = newest.units_needed();
        NewestFirst {
            query,
            stop_check,
            progress,
            newest: Mutex::new(newest),
            goal,
            units_needed,
            defers: AtomicBool::new(false),
            cutoff: AtomicI64::new(i64::MIN),
        }
    }

    /// The page, after the search.
    pub(crate) fn into_newest(self) -> NewestPage {
        self.newest.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn newest(&self) -> MutexGuard<'_, NewestPage> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, hit: Hit) {
        let mut newest = self.newest();
        let before = newest.seen();
        newest.add(hit);
        if let Some(cutoff) = newest.cutoff() {
            let modified = cutoff.modified.map_or(i64::MAX, nanoseconds);
            self.cutoff.store(modified, Ordering::Relaxed);
        }
        if (before..newest.seen()).contains(&(self.defer_threshold() - 1)) {
            self.defers.store(true, Ordering::Relaxed);
        }
    }

    /// How many files or lines start deferring.
    fn defer_threshold(&self) -> u64 {
        (self.units_needed / DEFER_AT_SHARE).max(DEFER_AT_HITS)
    }

    /// Whether a file of that age cannot change the page, whatever its path is.
    fn is_too_old(&self, modified: i64) -> bool {
        modified < self.cutoff.load(Ordering::Relaxed)
    }

    /// Whether neither this file nor those sorted after it can change the page.
    fn is_page_final_before(&self, modified: i128, path: &Path) -> bool {
        self.newest().cutoff().is_some_and(|cutoff| {
            let path = path.as_os_str().as_bytes();
            cutoff.modified.is_none_or(|time| {
                modified < time || (modified == time && path >= cutoff.path.as_bytes())
            })
        })
    }

    /// Searches deferred files below `top` until the page is final.
    pub(crate) fn search_newest(
        &self,
        mut deferred: DeferredFiles,
        top: &OpenFolder,
    ) -> Result<SearchCounts, Stop> {
        let mut counts = SearchCounts::default();
        let needed = usize::try_from(self.units_needed).unwrap_or(usize::MAX);
        let mut count = needed.saturating_mul(2).max(MIN_SORTED);
        while !deferred.is_empty() {
            let mut newest = deferred.take_newest(count);
            newest.reverse();
            let queue = WorkQueue::new(newest, PARALLEL_FROM_FILES);
            let certain = AtomicBool::new(false);
            let workers = queue.run(
                || Worker::new(self),
                |worker, next| {
                    while let Some(file) = next() {
                        let Some(candidate) = deferred.candidate(&file) else { continue };
                        if !worker.search_candidate(candidate, top)? {
                            certain.store(true, Ordering::Relaxed);
                            break;
                        }
                    }
                    Ok(())
                },
            )?;
            counts.add(merge_workers(workers).0);
            if certain.into_inner() {
                break;
            }
            count = count.saturating_mul(2);
        }
        Ok(counts)
    }
}

impl<'w> Worker<'w> {
    pub(crate) fn new(search: &'w NewestFirst<'w>) -> Self {
        let matcher = FileMatcher::new(search.query, search.goal, search.stop_check);
        let counts = SearchCounts::default();
        Worker { search, matcher, counts, deferred: DeferredPart::default(), last_folder: None }
    }

    /// Searches the file that is the search path itself.
    pub(crate) fn search_named(&mut self, file: &File, path: &Path) -> Result<(), Stop> {
        let modified = rustix::fs::fstat(file).ok().map(|stat| modified_nanos(&stat));
        let finding = self.matcher.search(file, 0, Origin::Named)?;
        let shown = || path.to_string_lossy().into_owned();
        self.add_finding(finding, modified, path, OsStr::new(""), shown);
        Ok(())
    }

    /// Searches a file that the walk found, or defers it.
    pub(crate) fn visit(
        &mut self,
        top: &OpenFolder,
        folder: &OpenFolder,
        name: &OsStr,
    ) -> Result<(), Stop> {
        if self.search.defers.load(Ordering::Relaxed) && self.defer(folder, name)? {
            return if self.deferred.len() < MAX_DEFERRED {
                Ok(())
            } else {
                self.search_deferred(top)
            };
        }
        let Ok((file, stat)) = folder.directory.open_regular(name) else {
            self.counts.add_unreadable(&folder.path, name);
            return Ok(());
        };
        let changed = modified_nanos(&stat);
        if self.search.is_too_old(nanoseconds(changed)) {
            return Ok(());
        }
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let finding = self.matcher.search(&file, size, Origin::Walked)?;
        let path = || PathBuffer::new(&folder.path).to(name).to_string_lossy().into_owned();
        self.add_finding(finding, Some(changed), &folder.path, name, path);
        Ok(())
    }

    /// Defers a file, or drops it if it is too old. False if there is no room.
    fn defer(&mut self, folder: &OpenFolder, name: &OsStr) -> Result<bool, Stop> {
        self.search.stop_check.check()?;
        let Ok(stat) = folder.directory.stat(name) else {
            self.counts.add_unreadable(&folder.path, name);
            return Ok(true);
        };
        let modified = modified_nanos(&stat);
        if self.search.is_too_old(nanoseconds(modified)) {
            return Ok(true);
        }
        let candidate = Candidate { modified, folder: &folder.path, name };
        Ok(self.deferred.add(candidate, MAX_DEFERRED).is_some())
    }

    /// Searches the newest deferred files until the others cannot change the page. Stops deferring
    /// if it had to search all of them and found few hits.
    fn search_deferred(&mut self, top: &OpenFolder) -> Result<(), Stop> {
        let mut deferred: DeferredFiles = [mem::take(&mut self.deferred)].into_iter().collect();
        let seen = self.search.newest().seen();
        for file in deferred.take_newest(usize::MAX) {
            let Some(candidate) = deferred.candidate(&file) else { continue };
            if !self.search_candidate(candidate, top)? {
                return Ok(());
            }
        }
        if self.search.newest().seen() - seen < self.search.defer_threshold() {
            self.search.defers.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Searches a deferred file. False if neither it nor those after it can change the page.
    fn search_candidate(
        &mut self,
        candidate: Candidate<'_>,
        top: &OpenFolder,
    ) -> Result<bool, Stop> {
        let Candidate { modified, folder, name } = candidate;
        if !self.last_folder.as_ref().is_some_and(|(path, ..)| Arc::ptr_eq(path, folder)) {
            let below = folder.strip_prefix(&top.path).unwrap_or(folder);
            let Ok(directory) = top.directory.open_below(below.iter()) else {
                self.counts.add_unreadable(folder, name);
                return Ok(true);
            };
            self.last_folder = Some((Arc::clone(folder), directory, PathBuffer::new(folder)));
        }
        let Some((_, directory, path_buffer)) = &mut self.last_folder else { return Ok(true) };
        let path = path_buffer.to(name);
        if self.search.is_page_final_before(modified, path) {
            return Ok(false);
        }
        let Ok((file, stat)) = directory.open_regular(name) else {
            self.counts.add_unreadable(folder, name);
            return Ok(true);
        };
        let path = path.to_string_lossy().into_owned();
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let finding = self.matcher.search(&file, size, Origin::Walked)?;
        self.add_finding(finding, Some(modified), folder, name, || path);
        Ok(true)
    }

    /// Counts the file `name` in `folder`, and adds it to the page if it is a hit.
    fn add_finding(
        &mut self,
        finding: Finding,
        modified: Option<i128>,
        folder: &Path,
        name: &OsStr,
        path: impl FnOnce() -> String,
    ) {
        if finding == Finding::Unreadable {
            self.counts.add_unreadable(folder, name);
        } else if let Some(lines) = self.count_file(finding) {
            self.search.add(Hit { path: path(), modified, lines });
        }
    }

    /// Counts a file that was read. Returns the number of its matching lines if it is a hit.
    fn count_file(&mut self, finding: Finding) -> Option<u64> {
        let lines = match finding {
            Finding::Searched { lines } => {
                self.search.progress.add(1);
                self.counts.searched += 1;
                lines
            }
            Finding::LineTooLong { lines } => {
                self.counts.skipped.line_too_long += 1;
                lines
            }
            Finding::Binary => {
                self.search.progress.add(1);
                self.counts.skipped.binary += 1;
                0
            }
            Finding::Unreadable => 0,
        };
        (lines > 0).then_some(lines)
    }
}

/// The sum of all counts, and all deferred files.
pub(crate) fn merge_workers(workers: Vec<Worker<'_>>) -> (SearchCounts, DeferredFiles) {
    let mut counts = SearchCounts::default();
    let count = |worker: Worker<'_>| {
        counts.add(worker.counts);
        worker.deferred
    };
    let deferred = workers.into_iter().map(count).collect();
    (counts, deferred)
}

/// A time as an atomic can hold it: clamped to the years 1677 to 2262.
fn nanoseconds(modified: i128) -> i64 {
    i64::try_from(modified).unwrap_or(if modified < 0 { i64::MIN } else { i64::MAX })
}
