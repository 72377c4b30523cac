//! Looks for a pattern in files, with ripgrep's own libraries and its default settings.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch,
};
use ignore::overrides::Override;

use crate::call::{Progress, Stop, TurnContext, Watch};
use crate::error::ToolError;

use super::confine::{ConfinedPath, OpenFailure};
use super::dir::Directory;
use super::rule_files::RuleReader;
use super::rules::{self, Level, Rules};
use super::walk::Walk;

/// A compiled pattern above this many bytes is refused. (Ripgrep's own limit is ten times that.)
const MAX_COMPILED_BYTES: usize = 10 * 1024 * 1024;
/// How much the states of a pattern may take that are worked out while it is searched for.
const MAX_CACHE_BYTES: usize = 10 * 1024 * 1024;
/// Groups nested deeper than this are refused, as in ripgrep.
const MAX_NESTING: u32 = 250;
/// How much of a file the searcher reads at once, unless a line is longer.
const BUFFER_BYTES: usize = 64 * 1024;
/// A file with a line above this many bytes is not searched further.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// A pattern and a glob that both compile.
pub(crate) struct Query {
    pub(super) pattern: String,
    pub(super) include: Option<String>,
    matcher: RegexMatcher,
    overrides: Override,
    /// The working directory without links: globs are matched against paths below it.
    cwd: PathBuf,
}

/// What is searched: opened, so that it cannot change its place any more.
pub(crate) struct Target {
    path: PathBuf,
    opened: Opened,
}

enum Opened {
    Directory(Directory),
    File(File),
}

/// A file that holds the pattern.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) path: String,
    /// In nanoseconds since 1970; none where the file is gone.
    pub(crate) modified: Option<i128>,
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

impl Query {
    /// Compiles both; the error has ripgrep's own words. It looks at the glob first.
    pub(crate) fn new(
        pattern: &str,
        include: Option<&str>,
        turn: &TurnContext,
    ) -> Result<Query, ToolError> {
        let failed = |why| ToolError::invalid_input(format!("rg failed: {why}"));
        let cwd = std::fs::canonicalize(turn.cwd()).unwrap_or_else(|_| turn.cwd().to_owned());
        let overrides = rules::include(&cwd, include).map_err(failed)?;
        let matcher = compile(pattern).map_err(failed)?;
        let (pattern, include) = (pattern.to_owned(), include.map(str::to_owned));
        Ok(Query { pattern, include, matcher, overrides, cwd })
    }
}

/// The matcher that ripgrep makes of a pattern, or its complaint with its hints.
fn compile(pattern: &str) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .case_insensitive(false)
        .line_terminator(Some(b'\n'))
        .dot_matches_new_line(false)
        .ban_byte(Some(b'\0'))
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_CACHE_BYTES)
        .nest_limit(MAX_NESTING);
    builder.build_many(&[pattern]).map_err(|error| {
        let mut why = error.to_string();
        if why.contains("the literal") && why.contains("not allowed") {
            why.push_str(
                "\n\nConsider enabling multiline mode with the --multiline flag (or -U for short).\n\
                 When multiline mode is enabled, new line characters can be matched.",
            );
        }
        if why.contains("pattern contains \"\\0\"") {
            why.push_str(
                "\n\nConsider enabling text mode with the --text flag (or -a for short). Otherwise,\n\
                 binary detection is enabled and matching a NUL byte is impossible.",
            );
        }
        why
    })
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

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Searches in this process. Hits come in no order.
pub(crate) fn search(
    query: &Query,
    target: Target,
    turn: &TurnContext,
    watch: &Watch,
    mut hit: impl FnMut(Hit),
) -> Result<Tally, SearchFailure> {
    watch.check()?;
    let mut worker = Worker::new(query, watch, &turn.progress);
    if target.path.to_str().is_none() {
        return Ok(Tally { searched: Some(0), not_utf8: 1, ..Tally::default() });
    }
    let top = match target.opened {
        Opened::Directory(top) => top,
        Opened::File(file) => {
            hit_in(&mut worker, &file, Origin::Named, &target.path, &mut hit)?;
            return Ok(worker.tally);
        }
    };
    let reader = RuleReader::new(turn, &query.cwd);
    let base = std::fs::canonicalize(&target.path).ok();
    let above = base.as_deref().map_or_else(Level::none, |base| reader.above(base));
    let rules =
        Rules { include: query.overrides.clone(), global: reader.global(), top: target.path, base };
    let passed = Walk::new(&rules, &reader, watch).run(top, &above, |candidate| match candidate
        .directory
        .open_file(candidate.name)
    {
        Ok(file) => hit_in(&mut worker, &file, Origin::Walked, candidate.path, &mut hit),
        Err(_) => {
            worker.tally.unreadable += 1;
            Ok(())
        }
    })?;
    worker.tally.unreadable += passed.unreadable;
    worker.tally.not_utf8 += passed.not_utf8;
    Ok(worker.tally)
}

fn hit_in(
    worker: &mut Worker<'_>,
    file: &File,
    origin: Origin,
    path: &Path,
    hit: &mut impl FnMut(Hit),
) -> Result<(), Stop> {
    if worker.holds(file, origin)? {
        let modified = rustix::fs::fstat(file).ok().map(|stat| modified(&stat));
        hit(Hit { path: path.to_string_lossy().into_owned(), modified });
    }
    Ok(())
}

/// When a file was changed last, in nanoseconds since 1970.
pub(super) fn modified(stat: &rustix::fs::Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}

/// How a file was found, which decides what a NUL in it means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Named as the search path: searched whatever it holds.
    Named,
    /// Found by the walk: one that holds a NUL is no text, and is left.
    Walked,
}

/// What searches one file after the other.
struct Worker<'w> {
    matcher: &'w RegexMatcher,
    searcher: Searcher,
    watch: &'w Watch,
    progress: &'w Progress,
    tally: Tally,
}

impl<'w> Worker<'w> {
    fn new(query: &'w Query, watch: &'w Watch, progress: &'w Progress) -> Self {
        let tally = Tally { searched: Some(0), ..Tally::default() };
        Worker { matcher: &query.matcher, searcher: searcher(), watch, progress, tally }
    }

    /// Whether the pattern is in the file.
    fn holds(&mut self, file: &File, origin: Origin) -> Result<bool, Stop> {
        self.searcher.set_binary_detection(match origin {
            Origin::Named => BinaryDetection::convert(b'\0'),
            Origin::Walked => BinaryDetection::quit(b'\0'),
        });
        let mut sink = FirstMatch { origin, found: false };
        let mut reader = Watched { file, watch: self.watch, largest: 0 };
        let searched = self.searcher.search_reader(self.matcher, &mut reader, &mut sink);
        if reader.largest > BUFFER_BYTES {
            // Its buffer has grown with a long line. How far it reads at once decides whether a
            // match or a NUL comes first, and no file's answer may depend on the one before.
            self.searcher = searcher();
        }
        match searched {
            Ok(()) => {
                self.progress.add(1);
                self.tally.searched = self.tally.searched.map(|count| count + 1);
                return Ok(sink.found);
            }
            Err(error) if error.raw_os_error().is_some() => self.tally.unreadable += 1,
            Err(_) => {
                // Either the watch ran out, or the line was too long.
                self.watch.check()?;
                self.tally.line_too_long += 1;
            }
        }
        Ok(false)
    }
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_number(false)
        .memory_map(MmapChoice::never())
        .heap_limit(Some(MAX_LINE_BYTES))
        .build()
}

/// Stops at the first match.
struct FirstMatch {
    origin: Origin,
    found: bool,
}

impl Sink for FirstMatch {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.found = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        if self.origin == Origin::Walked && finish.binary_byte_offset().is_some() {
            self.found = false;
        }
        Ok(())
    }
}

/// A file whose every read looks at the watch first.
struct Watched<'f> {
    file: &'f File,
    watch: &'f Watch,
    /// The largest buffer that was to be filled.
    largest: usize,
}

impl io::Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.watch.check().map_err(|_| io::Error::other("stopped"))?;
        self.largest = self.largest.max(buffer.len());
        self.file.read(buffer)
    }
}
