//! Searches a tree in this process: which files hold the pattern, the newest first.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cancel::{Stop, StopCheck};
use crate::context::TurnContext;
use crate::error::ToolError;
use crate::text::newest_page::NewestPage;

use crate::fs::directory::Directory;
use crate::paths::confined_path::{ConfinedPath, OpenFailure};
use crate::search::ignore::load_rules::RuleLoader;
use crate::search::ignore::rules::{RuleLevel, Rules};
pub(crate) use crate::search::match_file::MAX_LINE_BYTES;
use crate::search::newest_first::{self, NewestFirst, Worker};
pub(crate) use crate::search::query::Query;
use crate::search::walk::{OpenFolder, Walk, Walker};

/// What is searched: opened, so that it cannot change its place any more.
pub(crate) struct Target {
    path: PathBuf,
    opened: OpenTarget,
}

enum OpenTarget {
    Directory(Directory),
    File(File),
}

/// What a search looked at.
#[derive(Debug, Default)]
pub(crate) struct SearchCounts {
    /// None where the engine does not tell.
    pub(crate) searched: Option<u64>,
    pub(crate) unreadable: u64,
    pub(crate) not_utf8: u64,
    pub(crate) line_too_long: u64,
}

/// Why there is no answer.
pub(crate) enum SearchFailure {
    Stopped(Stop),
    Failed(ToolError),
}

impl From<Stop> for SearchFailure {
    fn from(stop: Stop) -> Self {
        SearchFailure::Stopped(stop)
    }
}

impl Target {
    /// Opens a directory, or else a regular file.
    pub(crate) fn open(path: &ConfinedPath) -> Result<Target, OpenFailure> {
        let opened = match Directory::open(path) {
            Ok(directory) => OpenTarget::Directory(directory),
            Err(OpenFailure::Io(error)) if error.kind() == io::ErrorKind::NotADirectory => {
                OpenTarget::File(path.open_file()?)
            }
            Err(failure) => return Err(failure),
        };
        Ok(Target { path: path.shown().to_owned(), opened })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Searches in this process, on all cores where there is work for them.
pub(crate) fn search(
    query: &Query,
    target: Target,
    turn: &TurnContext,
    stop_check: &StopCheck,
    newest: NewestPage,
) -> Result<(SearchCounts, NewestPage), SearchFailure> {
    stop_check.check()?;
    if target.path.to_str().is_none() {
        return Ok((
            SearchCounts { searched: Some(0), not_utf8: 1, ..SearchCounts::default() },
            newest,
        ));
    }
    let search = NewestFirst::new(query, stop_check, &turn.progress, newest);
    let directory = match target.opened {
        OpenTarget::Directory(directory) => directory,
        OpenTarget::File(file) => {
            let mut worker = Worker::new(&search);
            worker.search_named(&file, &target.path)?;
            let (counts, _) = newest_first::merge_workers(vec![worker]);
            return Ok((counts, search.into_newest()));
        }
    };
    let loader = RuleLoader::new(turn, &query.cwd);
    let base = std::fs::canonicalize(&target.path).ok();
    let above = base.as_deref().map_or_else(RuleLevel::none, |base| loader.load_above(base));
    let top = Arc::new(OpenFolder { directory, path: target.path.as_path().into() });
    let rules = Rules {
        include: query.overrides.clone(),
        global: loader.load_global(),
        top: target.path,
        base,
    };
    let walk = Walk::new(&top, &rules, &loader, &above, stop_check);

    let workers = walk.queue.run(
        || Worker::new(&search),
        |worker, next| {
            let walker = Walker::new(&walk);
            let skipped = walker.run(next, |folder, name| worker.visit(&top, folder, name))?;
            worker.add_skipped(&skipped);
            Ok(())
        },
    )?;
    let (mut counts, deferred) = newest_first::merge_workers(workers);
    counts.add(&search.search_newest(deferred, &top)?);
    if let Err(error) = top.directory.check_complete() {
        let error = ToolError::io("path could not be searched whole", &error);
        return Err(SearchFailure::Failed(error));
    }
    Ok((counts, search.into_newest()))
}

impl SearchCounts {
    pub(crate) fn add(&mut self, other: &SearchCounts) {
        self.searched = self.searched.zip(other.searched).map(|(one, other)| one + other);
        self.unreadable += other.unreadable;
        self.not_utf8 += other.not_utf8;
        self.line_too_long += other.line_too_long;
    }
}

/// When a file was changed last, in nanoseconds since 1970.
pub(crate) fn modified(stat: &rustix::fs::Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}
