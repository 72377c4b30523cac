//! Searches a tree in this process: which files hold the pattern, the newest first.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cancel::{Stop, Watch};
use crate::context::TurnContext;
use crate::error::ToolError;
use crate::text::newest_page::Newest;

use crate::fs::directory::Directory;
use crate::paths::confined_path::{ConfinedPath, OpenFailure};
use crate::search::ignore::load_rules::RuleReader;
use crate::search::ignore::rules::{Level, Rules};
pub(crate) use crate::search::match_file::MAX_LINE_BYTES;
use crate::search::newest_first::{self, Hunt, Worker};
pub(crate) use crate::search::query::Query;
use crate::search::walk::{Folder, Walk, Walker};

/// What is searched: opened, so that it cannot change its place any more.
pub(crate) struct Target {
    path: PathBuf,
    opened: Opened,
}

enum Opened {
    Directory(Directory),
    File(File),
}

/// What a search looked at.
#[derive(Debug, Default)]
pub(crate) struct Tally {
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
            Ok(directory) => Opened::Directory(directory),
            Err(OpenFailure::Io(error)) if error.kind() == io::ErrorKind::NotADirectory => {
                Opened::File(path.open_file()?)
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
    watch: &Watch,
    newest: Newest,
) -> Result<(Tally, Newest), SearchFailure> {
    watch.check()?;
    if target.path.to_str().is_none() {
        return Ok((Tally { searched: Some(0), not_utf8: 1, ..Tally::default() }, newest));
    }
    let hunt = Hunt::new(query, watch, &turn.progress, newest);
    let directory = match target.opened {
        Opened::Directory(directory) => directory,
        Opened::File(file) => {
            let mut worker = Worker::new(&hunt);
            worker.look_into_named(&file, &target.path)?;
            let (tally, _) = newest_first::gather(vec![worker]);
            return Ok((tally, hunt.into_newest()));
        }
    };
    let reader = RuleReader::new(turn, &query.cwd);
    let base = std::fs::canonicalize(&target.path).ok();
    let above = base.as_deref().map_or_else(Level::none, |base| reader.above(base));
    let top = Arc::new(Folder { directory, path: target.path.as_path().into() });
    let rules =
        Rules { include: query.overrides.clone(), global: reader.global(), top: target.path, base };
    let walk = Walk::new(&top, &rules, &reader, &above, watch);

    let workers = walk.crew.run(
        || Worker::new(&hunt),
        |worker, next| {
            let walker = Walker::new(&walk);
            let passed = walker.run(next, |folder, name| worker.visit(&top, folder, name))?;
            worker.pass(&passed);
            Ok(())
        },
    )?;
    let (mut tally, waiting) = newest_first::gather(workers);
    tally.add(&hunt.newest_first(waiting, &top)?);
    if let Err(error) = top.directory.check_whole() {
        let error = ToolError::io("path could not be searched whole", &error);
        return Err(SearchFailure::Failed(error));
    }
    Ok((tally, hunt.into_newest()))
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
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
