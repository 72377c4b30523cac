//! Decides whether a file contains the pattern.
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
    Match,
    NoMatch,
    Unreadable,
    LineTooLong,
}

/// The matcher and buffers of one worker.
pub(crate) struct FileMatcher<'q> {
    query: &'q Query,
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
    pub(crate) fn new(query: &'q Query, stop_check: &'q StopCheck) -> Self {
        let fast_searcher = SearcherBuilder::new().line_number(false).bom_sniffing(false).build();
        FileMatcher {
            query,
            stop_check,
            matcher: query.matcher.clone(),
            fast_searcher,
            window: vec![0; WINDOW_BYTES],
        }
    }

    /// Whether a file contains the pattern. It is open at its start and had `size` bytes.
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
                Ok(Ok(matches)) => return Ok(Finding::from_match(matches)),
                Ok(Err(fallback)) => fallback,
                Err(error) => return self.finding_from_error(&error),
            },
        };
        match fallback {
            Fallback::InWindow(length) => {
                let text = self.window.get(..length).unwrap_or_default();
                let searched = self.search_reader(text, origin, MAX_LINE_BYTES);
                searched.map(Finding::from_match).or_else(|error| self.finding_from_error(&error))
            }
            Fallback::Reread => self.search_with_searcher(file, origin),
        }
    }

    /// The fast path: one read for a small file, whole lines at a time for others.
    fn search_fast(&mut self, mut file: &File, size: u64) -> io::Result<Result<bool, Fallback>> {
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
                let matches = self.any_line_matches(filled)?;
                let text = self.window.get(..filled).unwrap_or_default();
                let binary = matches && memchr::memchr(0, text).is_some();
                return Ok(if binary { Err(Fallback::InWindow(filled)) } else { Ok(matches) });
            }
            // If there is a NUL or a match, or a line is too long, the searcher decides.
            let lines =
                if at_end { Some(filled) } else { memchr::memrchr(b'\n', text).map(|at| at + 1) };
            let Some(lines) = lines else { return Ok(Err(Fallback::Reread)) };
            if memchr::memchr(0, text).is_some() || self.any_line_matches(lines)? {
                return Ok(Err(Fallback::Reread));
            }
            if at_end {
                return Ok(Ok(false));
            }
            if self.stop_check.check().is_err() {
                return Err(io::Error::other("stopped"));
            }
            self.window.copy_within(lines..filled, 0);
            filled -= lines;
        }
    }

    /// Whether a line matches in the first `length` bytes of the window.
    fn any_line_matches(&mut self, length: usize) -> io::Result<bool> {
        let text = self.window.get(..length).unwrap_or_default();
        let mut sink = FirstMatchSink { origin: Origin::Named, found: false };
        self.fast_searcher.search_slice(&self.matcher, text, &mut sink)?;
        Ok(sink.found)
    }

    /// Uses ripgrep's searcher; the automaton if a line is too long for it.
    fn search_with_searcher(&mut self, file: &File, origin: Origin) -> Result<Finding, Stop> {
        let mut source = file;
        let attempt = source
            .rewind()
            .and_then(|()| self.search_reader(source, origin, MAX_BUFFERED_LINE_BYTES));
        match attempt {
            Ok(matches) => return Ok(Finding::from_match(matches)),
            Err(error) if error.raw_os_error().is_some() => return Ok(Finding::Unreadable),
            Err(_) => self.stop_check.check()?,
        }
        match self.search_with_automaton(file, origin) {
            Ok(Some(matches)) => return Ok(Finding::from_match(matches)),
            Ok(None) => {}
            Err(error) => return self.finding_from_error(&error),
        }
        let searched =
            source.rewind().and_then(|()| self.search_reader(source, origin, MAX_LINE_BYTES));
        searched.map(Finding::from_match).or_else(|error| self.finding_from_error(&error))
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

    /// Uses ripgrep's searcher. Its read position decides whether a match or a NUL comes first, so
    /// each file gets a searcher with a fresh buffer.
    fn search_reader(
        &self,
        source: impl io::Read,
        origin: Origin,
        max_line_bytes: usize,
    ) -> io::Result<bool> {
        let mut searcher = SearcherBuilder::new()
            .line_number(false)
            .memory_map(MmapChoice::never())
            .heap_limit(Some(max_line_bytes.max(SEARCHER_BYTES)))
            .binary_detection(match origin {
                Origin::Named => BinaryDetection::convert(b'\0'),
                Origin::Walked => BinaryDetection::quit(b'\0'),
            })
            .build();
        let source = StoppableReader { source, stop_check: self.stop_check };
        let mut sink = FirstMatchSink { origin, found: false };
        searcher.search_reader(&self.matcher, source, &mut sink)?;
        Ok(sink.found)
    }

    /// The result for an error: a system error, a stop, or a line that is too long.
    fn finding_from_error(&self, error: &io::Error) -> Result<Finding, Stop> {
        if error.raw_os_error().is_some() {
            return Ok(Finding::Unreadable);
        }
        self.stop_check.check()?;
        Ok(Finding::LineTooLong)
    }
}

impl Finding {
    fn from_match(matches: bool) -> Finding {
        if matches { Finding::Match } else { Finding::NoMatch }
    }
}

/// Whether text starts with a byte-order mark, which changes how the searcher decodes it.
fn has_bom(text: &[u8]) -> bool {
    [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| text.starts_with(mark))
}

/// Stops at the first match.
struct FirstMatchSink {
    origin: Origin,
    found: bool,
}

impl Sink for FirstMatchSink {
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

/// Checks for a stop before every read.
struct StoppableReader<'w, S> {
    source: S,
    stop_check: &'w StopCheck,
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
