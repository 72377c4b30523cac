//! Finds files whose names match a glob, newest first.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ignore::overrides::Override;

use crate::cancel::StopCheck;
use crate::context::TurnContext;
use crate::fs::regular_file::modified_nanos;
use crate::paths::root::real_or_given;
use crate::progress::Progress;
use crate::search::ignore::load_rules::RuleLoader;
use crate::search::ignore::rules::Ignored;
use crate::search::outcome::{SearchCounts, SearchFailure};
use crate::search::target::{OpenTarget, Target};
use crate::search::walk::{OpenFolder, PathBuffer, Walk, Walker};
use crate::text::newest_page::{Hit, NewestPage};

/// A search by name, below one directory.
pub(crate) struct NameSearch<'s> {
    pub(crate) glob: &'s Override,
    pub(crate) target: &'s Target,
    pub(crate) turn: &'s TurnContext,
    pub(crate) stop_check: &'s StopCheck,
}

impl NameSearch<'_> {
    /// The newest files that match.
    pub(crate) fn find(
        &self,
        ignored: Ignored,
        newest: &mut NewestPage,
    ) -> Result<SearchCounts, SearchFailure> {
        let empty = || newest.empty();
        let (counts, pages) = self.walk(ignored, empty, |page, folder, name, path, counts| {
            let Ok(stat) = folder.directory.stat(name) else {
                counts.add_unreadable(&folder.path, name);
                return;
            };
            let modified = modified_nanos(&stat);
            let cutoff = page.cutoff().and_then(|cutoff| cutoff.modified);
            if cutoff.is_some_and(|cutoff| modified < cutoff) {
                page.pass();
            } else {
                let path = path.to_string_lossy().into_owned();
                page.add(Hit { path, modified: Some(modified), lines: 1 });
            }
        })?;
        pages.into_iter().for_each(|page| newest.merge(page));
        Ok(counts)
    }

    /// How many files match.
    pub(crate) fn count(&self, ignored: Ignored) -> Result<u64, SearchFailure> {
        let (_, counts) = self.walk(ignored, || 0, |count, _, _, _, _| *count += 1)?;
        Ok(counts.into_iter().sum())
    }

    /// Calls `found` for each file that matches. Returns the states of all workers.
    fn walk<S: Send>(
        &self,
        ignored: Ignored,
        new_state: impl Fn() -> S + Sync,
        found: impl Fn(&mut S, &OpenFolder, &OsStr, &Path, &mut SearchCounts) + Sync,
    ) -> Result<(SearchCounts, Vec<S>), SearchFailure> {
        self.stop_check.check()?;
        let OpenTarget::Directory(top) = &self.target.opened else {
            return Ok((SearchCounts::default(), Vec::new()));
        };
        if self.target.path.to_str().is_none() {
            return Ok((SearchCounts::of_name_not_utf8(), Vec::new()));
        }
        let cwd = real_or_given(self.turn.cwd());
        let loader = RuleLoader::new(self.turn, &cwd);
        let rules = loader.load(ignored, Override::empty(), &self.target.path);
        // Rules cost more than the glob. But if no file matches, the counts have to be complete.
        let any_found = AtomicBool::new(false);
        let filter = |path: &Path| !any_found.load(Ordering::Relaxed) || self.matches(path);
        let walk = Walk::new(top, &rules, &loader, self.stop_check).with_file_filter(&filter);
        let workers = walk.queue.run(
            || NameWorker {
                state: new_state(),
                counts: SearchCounts::default(),
                folder: LastFolder::default(),
            },
            |worker, next| {
                let counts = Walker::new(&walk).run(next, |folder, name| {
                    let NameWorker { state, counts, folder: last } = worker;
                    counts.searched += 1;
                    let path = last.path(folder, name, &self.turn.progress);
                    if self.matches(path) {
                        any_found.store(true, Ordering::Relaxed);
                        found(state, folder, name, path, counts);
                    }
                    Ok(())
                })?;
                worker.counts.add(counts);
                Ok(())
            },
        )?;
        top.check_complete()?;
        let mut counts = SearchCounts::default();
        let mut states = Vec::new();
        for worker in workers {
            counts.add(worker.counts);
            states.push(worker.state);
        }
        Ok((counts, states))
    }

    fn matches(&self, path: &Path) -> bool {
        self.glob.matched(path, false).is_whitelist()
    }
}

/// A worker with its own state and counts.
struct NameWorker<S> {
    state: S,
    counts: SearchCounts,
    folder: LastFolder,
}

/// The folder of the last files.
#[derive(Default)]
struct LastFolder {
    path: Option<(Arc<Path>, PathBuffer)>,
    files: u64,
}

impl LastFolder {
    /// The path of a file. Reports progress when the folder changes.
    fn path<'p>(
        &'p mut self,
        folder: &OpenFolder,
        name: &'p OsStr,
        progress: &Progress,
    ) -> &'p Path {
        self.files += 1;
        let (path, buffer) = match self.path.take() {
            Some(last) if Arc::ptr_eq(&last.0, &folder.path) => last,
            _ => {
                progress.add(std::mem::take(&mut self.files));
                (Arc::clone(&folder.path), PathBuffer::new(&folder.path))
            }
        };
        self.path.insert((path, buffer)).1.to(name)
    }
}
