//! Decides whether a file contains the pattern, or counts its matching lines.
//!
//! The result is that of ripgrep's searcher, which reads 64 KiB at a time and treats a file as
//! binary if a NUL comes before, or in the same buffer as, the first match. Most files are small
//! and have neither: one read and one search decide. If the result could depend on how the file is
//! read, ripgrep's searcher itself decides.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch,
};

use crate::cancel::{Stop, StopCheck};

use crate::search::goal::Goal;
use crate::search::long_lines::{MAX_LINE_BYTES, Origin};
use crate::search::query::Query;

/// How much is read at a time. A smaller file is searched at once.
const WINDOW_BYTES: usize = 256 * 1024;
/// How much ripgrep's searcher reads at a time, unless a line is longer.
const SEARCHER_BYTES: usize = 64 * 1024;
/// Longer lines go through the automaton, which checks for a stop meanwhile. The searcher's buffer
/// has this size after growing twice; up to here eyelet reads as ripgrep does.
const MAX_BUFFERED_LINE_BYTES: usize = 9 * SEARCHER_BYTES;
/// How much the automaton reads between two stop checks.
const AUTOMATON_READ_BYTES: usize = 8 * 1024;

/// The result for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// How many lines match; the search may stop after the first ones.
    Searched {
        lines: u64,
    },
    Binary,
    Unreadable,
    /// How many lines match before one that is too long.
    LineTooLong {
        lines: u64,
    },
}

/// The matcher and buffers of one worker.
pub(crate) struct FileMatcher<'q> {
    query: &'q Query,
    goal: Goal,
    stop_check: &'q StopCheck,
    /// Not shared: workers that share a matcher wait for each other.
    matcher: RegexMatcher,
    /// For complete text without a byte-order mark.
    fast_searcher: Searcher,
    window: Vec<u8>,
}

/// Why the fast path could not decide.
enum Fallback {
    /// The whole file is in the window and has this length.
    InWindow(usize),
    /// The file has to be read again from the start.
    Reread,
}

impl<'q> FileMatcher<'q> {
    pub(crate) fn new(query: &'q Query, goal: Goal, stop_check: &'q StopCheck) -> Self {
        let fast_searcher = SearcherBuilder::new().line_number(false).bom_sniffing(false).build();
        FileMatcher {
            query,
            goal,
            stop_check,
            matcher: query.matcher.clone(),
            fast_searcher,
            window: vec![0; WINDOW_BYTES],
        }
    }

    /// Searches a file, which is open at its start and had `size` bytes.
    pub(crate) fn search(
        &mut self,
        file: &File,
        size: u64,
        origin: Origin,
    ) -> Result<Finding, Stop> {
        self.stop_check.check()?;
        let fallback = match origin {
            Origin::Named => Fallback::Reread,
            Origin::Walked => match self.search_fast(file, size) {
                Ok(Ok(finding)) => return Ok(finding),
                Ok(Err(fallback)) => fallback,
                Err(error) => return self.finding_from_error(&error, 0),
            },
        };
        match fallback {
            Fallback::InWindow(length) => {
                let text = self.window.get(..length).unwrap_or_default();
                self.search_whole(text, origin)
            }
            Fallback::Reread => self.search_with_searcher(file, origin),
        }
    }

    /// The fast path: one read for a small file, whole lines at a time for others.
    fn search_fast(&mut self, mut file: &File, size: u64) -> io::Result<Result<Finding, Fallback>> {
        let (mut filled, mut read) = (0_usize, 0_u64);
        loop {
            let space = self.window.get_mut(filled..).unwrap_or_default();
            let length = match file.read(space) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                length => length?,
            };
            let first = read == 0;
            read += length as u64;
            if first && has_bom(&self.window) {
                return Ok(Err(Fallback::Reread));
            }
            filled += length;
            let at_end = length == 0 || (read == size && size > 0);
            let windowed = read > filled as u64;
            let full = filled == self.window.len();
            if !at_end && !full {
                continue;
            }
            let text = self.window.get(..filled).unwrap_or_default();
            if at_end && !windowed {
                let lines = self.count_lines(filled, self.goal.most())?;
                let text = self.window.get(..filled).unwrap_or_default();
                let has_nul = memchr::memchr(0, text).is_some();
                return Ok(match (has_nul, lines) {
                    (false, _) => Ok(Finding::Searched { lines }),
                    (true, 0) => Ok(Finding::Binary),
                    (true, _) => Err(Fallback::InWindow(filled)),
                });
            }
            // If there is a NUL or a match, or a line is too long, the searcher decides.
            let lines =
                if at_end { Some(filled) } else { memchr::memrchr(b'\n', text).map(|at| at + 1) };
            let Some(lines) = lines else { return Ok(Err(Fallback::Reread)) };
            if memchr::memchr(0, text).is_some() || self.count_lines(lines, 1)? > 0 {
                return Ok(Err(Fallback::Reread));
            }
            if at_end {
                return Ok(Ok(Finding::Searched { lines: 0 }));
            }
            if self.stop_check.check().is_err() {
                return Err(io::Error::other("stopped"));
            }
            self.window.copy_within(lines..filled, 0);
            filled -= lines;
        }
    }

    /// How many lines match in the first `length` bytes of the window, up to `most`.
    fn count_lines(&mut self, length: usize, most: u64) -> io::Result<u64> {
        let text = self.window.get(..length).unwrap_or_default();
        let mut sink = CountingSink::new(most);
        self.fast_searcher.search_slice(&self.matcher, text, &mut sink)?;
        Ok(sink.lines)
    }

    /// Uses ripgrep's searcher; for the goal `Files` the automaton, if a line is too long for it.
    fn search_with_searcher(&mut self, file: &File, origin: Origin) -> Result<Finding, Stop> {
        let mut source = file;
        if self.goal == Goal::Files {
            let mut sink = CountingSink::new(1);
            let attempt = source.rewind().and_then(|()| {
                self.search_reader(source, origin, MAX_BUFFERED_LINE_BYTES, &mut sink)
            });
            match attempt {
                Ok(()) => return Ok(self.finding(&sink, origin)),
                Err(error) if error.raw_os_error().is_some() => return Ok(Finding::Unreadable),
                Err(_) => self.stop_check.check()?,
            }
            match self.search_with_automaton(file, origin) {
                Ok(Some(matches)) => return Ok(Finding::Searched { lines: matches.into() }),
                Ok(None) => {}
                Err(error) => return self.finding_from_error(&error, 0),
            }
        }
        if let Err(error) = source.rewind() {
            return self.finding_from_error(&error, 0);
        }
        self.search_whole(source, origin)
    }

    fn search_with_automaton(
        &mut self,
        mut file: &File,
        origin: Origin,
    ) -> io::Result<Option<bool>> {
        let Some(automaton) = self.query.long_lines() else { return Ok(None) };
        file.rewind()?;
        let mut start = [0; 3];
        let length = file.read(&mut start)?;
        if has_bom(start.get(..length).unwrap_or_default()) {
            return Ok(None);
        }
        file.rewind()?;
        let piece = self.window.get_mut(..AUTOMATON_READ_BYTES).unwrap_or_default();
        let source = StoppableReader { source: file, stop_check: self.stop_check };
        automaton.search(source, origin, piece)
    }

    /// Searches all of `source`, with lines as long as fit into memory.
    fn search_whole(&self, source: impl io::Read, origin: Origin) -> Result<Finding, Stop> {
        let mut sink = CountingSink::new(self.goal.most());
        match self.search_reader(source, origin, MAX_LINE_BYTES, &mut sink) {
            Ok(()) => Ok(self.finding(&sink, origin)),
            Err(error) => self.finding_from_error(&error, sink.lines),
        }
    }

    /// Uses ripgrep's searcher. Its read position decides whether a match or a NUL comes first, so
    /// each file gets a searcher with a fresh buffer.
    fn search_reader(
        &self,
        source: impl io::Read,
        origin: Origin,
        max_line_bytes: usize,
        sink: &mut CountingSink,
    ) -> io::Result<()> {
        let mut searcher = SearcherBuilder::new()
            .line_number(false)
            .memory_map(MmapChoice::never())
            .heap_limit(Some(max_line_bytes.max(SEARCHER_BYTES)))
            .binary_detection(match (origin, self.goal) {
                (Origin::Named, Goal::Lines { .. }) => BinaryDetection::none(),
                (Origin::Named, Goal::Files | Goal::Count) => BinaryDetection::convert(b'\0'),
                (Origin::Walked, _) => BinaryDetection::quit(b'\0'),
            })
            .build();
        let source = StoppableReader { source, stop_check: self.stop_check };
        searcher.search_reader(&self.matcher, source, sink)
    }

    fn finding(&self, sink: &CountingSink, origin: Origin) -> Finding {
        // Lines before a NUL are shown, but a number of lines or a file would mislead.
        let shows_lines = matches!(self.goal, Goal::Lines { .. }) && sink.lines > 0;
        if origin == Origin::Walked && sink.is_binary && !shows_lines {
            return Finding::Binary;
        }
        Finding::Searched { lines: sink.lines }
    }

    /// The result for an error: a system error, a stop, or a line that is too long.
    fn finding_from_error(&self, error: &io::Error, lines: u64) -> Result<Finding, Stop> {
        if error.raw_os_error().is_some() {
            return Ok(Finding::Unreadable);
        }
        self.stop_check.check()?;
        // A NUL may follow, and then the file has no matches.
        let lines = if matches!(self.goal, Goal::Lines { .. }) { lines } else { 0 };
        Ok(Finding::LineTooLong { lines })
    }
}

/// Whether text starts with a byte-order mark, which changes how the searcher decodes it.
fn has_bom(text: &[u8]) -> bool {
    [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| text.starts_with(mark))
}

/// Counts matching lines, up to a number.
struct CountingSink {
    most: u64,
    lines: u64,
    is_binary: bool,
}

impl CountingSink {
    fn new(most: u64) -> Self {
        CountingSink { most, lines: 0, is_binary: false }
    }
}

impl Sink for CountingSink {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.lines += 1;
        Ok(self.lines < self.most)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// Checks for a stop before every read.
pub(super) struct StoppableReader<'w, S> {
    pub(super) source: S,
    pub(super) stop_check: &'w StopCheck,
}

impl<S: io::Read> io::Read for StoppableReader<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.stop_check.check().map_err(|_| io::Error::other("stopped"))?;
            match self.source.read(buffer) {
                // Not every reader above this one retries.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}
