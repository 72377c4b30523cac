//! Which files are looked into, and when the page is certain.
//!
//! A search starts by looking into each file where the walk finds it, which is the least work where
//! little matches. Where much does, most of that is for nothing: once a defer_threshold of the page is found,
//! the walk goes on with the times of the files alone, and the newest are looked into until the
//! page is certain. A worker does so whenever many of its files defer, and forgets those that cannot
//! matter any more: what defers is bounded, whatever the size of the tree. Both ways are exact; only
//! what they cost differs.

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
use crate::search::deferred_files::{Candidate, DeferredFiles, DeferredPart};
use crate::search::long_lines::Origin;
use crate::search::match_file::{FileMatcher, Finding};
use crate::search::outcome::SearchCounts;
use crate::search::query::Query;
use crate::search::walk::{OpenFolder, PathBuffer, SkippedEntries};
use crate::search::work_queue::WorkQueue;

/// Once this defer_threshold of the hits that a page needs is found, the rest is looked into newest first.
const DEFER_AT_SHARE: usize = 4;
/// So many hits at least.
const DEFER_AT_HITS: u64 = 4;
/// So many files defer for each worker before it looks into them. More would save looks where few of
/// them match, and take more memory than the rest of a search.
const MAX_DEFERRED: usize = 6144;
/// How many files are put in order at least before the next ones are.
const MIN_SORTED: usize = 256;
/// With so many files to matcher into, other threads are worth their start.
const PARALLEL_FROM_FILES: usize = 64;

/// What the workers of one search defer_threshold.
pub(crate) struct NewestFirst<'h> {
    query: &'h Query,
    stop_check: &'h StopCheck,
    progress: &'h Progress,
    newest: Mutex<NewestPage>,
    /// How many hits make the page certain.
    hits_needed: usize,
    /// Files defer to be looked into newest first.
    defers: AtomicBool,
    /// A file that was changed before this time does not matter any more.
    cutoff: AtomicI64,
}

/// One of those who matcher into files.
pub(crate) struct Worker<'w> {
    search: &'w NewestFirst<'w>,
    matcher: FileMatcher<'w>,
    counts: SearchCounts,
    deferred: DeferredPart,
    /// The folder of the file that was looked into last.
    last_folder: Option<(Arc<Path>, Directory, PathBuffer)>,
}

impl<'h> NewestFirst<'h> {
    pub(crate) fn new(
        query: &'h Query,
        stop_check: &'h StopCheck,
        progress: &'h Progress,
        newest: NewestPage,
    ) -> Self {
        let hits_needed = newest.hits_needed();
        NewestFirst {
            query,
            stop_check,
            progress,
            newest: Mutex::new(newest),
            hits_needed,
            defers: AtomicBool::new(false),
            cutoff: AtomicI64::new(i64::MIN),
        }
    }

    /// The page, when the search is over.
    pub(crate) fn into_newest(self) -> NewestPage {
        self.newest.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn newest(&self) -> MutexGuard<'_, NewestPage> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, hit: Hit) {
        let mut newest = self.newest();
        newest.add(hit);
        if let Some(cutoff) = newest.cutoff() {
            let modified = cutoff.modified.map_or(i64::MAX, nanoseconds);
            self.cutoff.store(modified, Ordering::Relaxed);
        }
        if newest.seen() == self.defer_threshold() {
            self.defers.store(true, Ordering::Relaxed);
        }
    }

    /// So many hits are many.
    fn defer_threshold(&self) -> u64 {
        ((self.hits_needed / DEFER_AT_SHARE) as u64).max(DEFER_AT_HITS)
    }

    /// Whether a file that was changed then is too old to matter, whatever its path.
    fn is_too_old(&self, modified: i64) -> bool {
        modified < self.cutoff.load(Ordering::Relaxed)
    }

    /// Whether a file, and all that stand behind it, cannot change the page any more.
    fn is_page_final_before(&self, modified: i128, path: &Path) -> bool {
        self.newest().cutoff().is_some_and(|cutoff| {
            let path = path.as_os_str().as_bytes();
            cutoff.modified.is_none_or(|time| {
                modified < time || (modified == time && path >= cutoff.path.as_bytes())
            })
        })
    }

    /// Looks into files that defer below `top`, until the page is certain.
    pub(crate) fn search_newest(
        &self,
        mut deferred: DeferredFiles,
        top: &OpenFolder,
    ) -> Result<SearchCounts, Stop> {
        let mut counts = SearchCounts { searched: Some(0), ..SearchCounts::default() };
        let mut count = self.hits_needed.saturating_mul(2).max(MIN_SORTED);
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
            counts.add(&merge_workers(workers).0);
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
        let matcher = FileMatcher::new(search.query, search.stop_check);
        let counts = SearchCounts { searched: Some(0), ..SearchCounts::default() };
        Worker { search, matcher, counts, deferred: DeferredPart::default(), last_folder: None }
    }

    /// Counts what the walk had to add_skipped over.
    pub(crate) fn add_skipped(&mut self, skipped: &SkippedEntries) {
        self.counts.unreadable += skipped.unreadable;
        self.counts.not_utf8 += skipped.not_utf8;
    }

    /// Looks into the file that is the search path.
    pub(crate) fn search_named(&mut self, file: &File, path: &Path) -> Result<(), Stop> {
        let modified = rustix::fs::fstat(file).ok().map(|stat| modified_nanos(&stat));
        let finding = self.matcher.search(file, 0, Origin::Named)?;
        if self.count_file(finding) {
            self.search.add(Hit { path: path.to_string_lossy().into_owned(), modified });
        }
        Ok(())
    }

    /// Looks into a file that the walk has found, or lets it defer.
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
            self.counts.unreadable += 1;
            return Ok(());
        };
        let changed = modified_nanos(&stat);
        if self.search.is_too_old(nanoseconds(changed)) {
            return Ok(());
        }
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let finding = self.matcher.search(&file, size, Origin::Walked)?;
        if self.count_file(finding) {
            let path = PathBuffer::new(&folder.path).to(name).to_string_lossy().into_owned();
            self.search.add(Hit { path, modified: Some(changed) });
        }
        Ok(())
    }

    /// Lets a file defer, or leaves it where it does not matter. False where there is no room.
    fn defer(&mut self, folder: &OpenFolder, name: &OsStr) -> Result<bool, Stop> {
        self.search.stop_check.check()?;
        let Ok(stat) = folder.directory.stat(name) else {
            self.counts.unreadable += 1;
            return Ok(true);
        };
        let modified = modified_nanos(&stat);
        if self.search.is_too_old(nanoseconds(modified)) {
            return Ok(true);
        }
        let candidate = Candidate { modified, folder: &folder.path, name };
        Ok(self.deferred.add(candidate, MAX_DEFERRED).is_some())
    }

    /// Looks into the newest of those that defer until the others do not matter. Where all did and
    /// few of them were hits, deferred is for nothing.
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

    /// Looks into a file that waited. False where neither it nor those behind it matter.
    fn search_candidate(
        &mut self,
        candidate: Candidate<'_>,
        top: &OpenFolder,
    ) -> Result<bool, Stop> {
        let Candidate { modified, folder, name } = candidate;
        if !self.last_folder.as_ref().is_some_and(|(path, ..)| Arc::ptr_eq(path, folder)) {
            let below = folder.strip_prefix(&top.path).unwrap_or(folder);
            let Ok(directory) = top.directory.open_below(below.iter()) else {
                self.counts.unreadable += 1;
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
            self.counts.unreadable += 1;
            return Ok(true);
        };
        let path = path.to_string_lossy().into_owned();
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let finding = self.matcher.search(&file, size, Origin::Walked)?;
        if self.count_file(finding) {
            self.search.add(Hit { path, modified: Some(modified) });
        }
        Ok(true)
    }

    /// Counts a file. Whether it is a hit.
    fn count_file(&mut self, finding: Finding) -> bool {
        match finding {
            Finding::Match | Finding::NoMatch => {
                self.search.progress.add(1);
                self.counts.searched = self.counts.searched.map(|count| count + 1);
            }
            Finding::Unreadable => self.counts.unreadable += 1,
            Finding::LineTooLong => self.counts.line_too_long += 1,
        }
        finding == Finding::Match
    }
}

/// What all workers have counted, and the files that defer.
pub(crate) fn merge_workers(workers: Vec<Worker<'_>>) -> (SearchCounts, DeferredFiles) {
    let mut counts = SearchCounts { searched: Some(0), ..SearchCounts::default() };
    let count = |worker: Worker<'_>| {
        counts.add(&worker.counts);
        worker.deferred
    };
    let deferred = workers.into_iter().map(count).collect();
    (counts, deferred)
}

/// A time as it fits into an atomic: those before 1677 and after 2262 are taken as these.
fn nanoseconds(modified: i128) -> i64 {
    i64::try_from(modified).unwrap_or(if modified < 0 { i64::MIN } else { i64::MAX })
}
