//! Looks into one file after the other: does it hold the pattern?
//!
//! The answer is that of ripgrep's searcher, which reads 64 KiB at a time and takes a file for
//! binary when a NUL comes before, or along with, the first match. Most files are small and have
//! neither: one read and one search over the buffer answer for them. Whatever could make the
//! answer depend on how a file is read goes to the searcher itself.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch,
};

use crate::cancel::{Stop, Watch};

use crate::search::query::Query;

/// How much of a file is read at once. A smaller one is searched in one go.
const WINDOW_BYTES: usize = 256 * 1024;
/// How much of a file ripgrep's searcher reads at once, unless a line is longer.
const SEARCHER_BYTES: usize = 64 * 1024;
/// A longer line is looked at byte by byte, so that a stop is heeded while it lasts. The searcher's
/// buffer has this size after it has grown twice: up to here it is read as ripgrep reads.
const MAX_WHOLE_LINE_BYTES: usize = 9 * SEARCHER_BYTES;
/// How much is looked at byte by byte between two looks at the watch.
const PIECE_BYTES: usize = 8 * 1024;
/// A file with a line above this many bytes that cannot be looked at byte by byte is left.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// How a file was found, which decides what a NUL in it means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Named as the search path: searched whatever it holds.
    Named,
    /// Found by the walk: one that holds a NUL is no text, and is left.
    Walked,
}

/// What is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Match,
    NoMatch,
    Unreadable,
    LineTooLong,
}

/// What one worker looks with.
pub(crate) struct Look<'q> {
    query: &'q Query,
    watch: &'q Watch,
    /// Its own: those who share one wait for each other.
    matcher: RegexMatcher,
    /// For text that is known to be complete and without a byte-order mark.
    plain: Searcher,
    window: Vec<u8>,
}

/// Why a file was not answered for by the plain way.
enum Hard {
    /// All of the file is in the window, of this length.
    Whole(usize),
    /// It has to be read again from its start.
    Again,
}

impl<'q> Look<'q> {
    pub(crate) fn new(query: &'q Query, watch: &'q Watch) -> Self {
        let plain = SearcherBuilder::new().line_number(false).bom_sniffing(false).build();
        Look { query, watch, matcher: query.matcher.clone(), plain, window: vec![0; WINDOW_BYTES] }
    }

    /// Whether the pattern is in a file that is open at its start and had `size` bytes.
    pub(crate) fn at(&mut self, file: &File, size: u64, origin: Origin) -> Result<Finding, Stop> {
        self.watch.check()?;
        let hard = match origin {
            Origin::Named => Hard::Again,
            Origin::Walked => match self.plainly(file, size) {
                Ok(Ok(holds)) => return Ok(Finding::of(holds)),
                Ok(Err(hard)) => hard,
                Err(error) => return self.failed(&error),
            },
        };
        match hard {
            Hard::Whole(length) => {
                let text = self.window.get(..length).unwrap_or_default();
                let source = Watched { source: text, watch: self.watch };
                let searched = search(&self.matcher, source, origin, MAX_LINE_BYTES);
                searched.map(Finding::of).or_else(|error| self.failed(&error))
            }
            Hard::Again => self.by_searcher(file, origin),
        }
    }

    /// The plain way.
    fn plainly(&mut self, mut file: &File, size: u64) -> io::Result<Result<bool, Hard>> {
        let (mut filled, mut read) = (0_usize, 0_u64);
        loop {
            let space = self.window.get_mut(filled..).unwrap_or_default();
            let length = match file.read(space) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                length => length?,
            };
            let first = read == 0;
            read += length as u64;
            if first && has_mark(&self.window) {
                return Ok(Err(Hard::Again));
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
                let holds = self.plain_match(filled)?;
                let text = self.window.get(..filled).unwrap_or_default();
                let binary = holds && memchr::memchr(0, text).is_some();
                return Ok(if binary { Err(Hard::Whole(filled)) } else { Ok(holds) });
            }
            // Where a match and a NUL may come close, or a line is long, the searcher decides.
            let lines =
                if at_end { Some(filled) } else { memchr::memrchr(b'\n', text).map(|at| at + 1) };
            let Some(lines) = lines else { return Ok(Err(Hard::Again)) };
            if memchr::memchr(0, text).is_some() || self.plain_match(lines)? {
                return Ok(Err(Hard::Again));
            }
            if at_end {
                return Ok(Ok(false));
            }
            if self.watch.check().is_err() {
                return Err(io::Error::other("stopped"));
            }
            self.window.copy_within(lines..filled, 0);
            filled -= lines;
        }
    }

    /// Whether a line matches in the first `length` bytes of the window.
    fn plain_match(&mut self, length: usize) -> io::Result<bool> {
        let text = self.window.get(..length).unwrap_or_default();
        let mut sink = FirstMatch { origin: Origin::Named, found: false };
        self.plain.search_slice(&self.matcher, text, &mut sink)?;
        Ok(sink.found)
    }

    /// By ripgrep's own searcher; lines that are too long for it, by the automaton.
    fn by_searcher(&mut self, file: &File, origin: Origin) -> Result<Finding, Stop> {
        let attempt = |most| -> io::Result<bool> {
            let mut source = file;
            source.rewind()?;
            search(&self.matcher, Watched { source, watch: self.watch }, origin, most)
        };
        match attempt(MAX_WHOLE_LINE_BYTES) {
            Ok(holds) => return Ok(Finding::of(holds)),
            Err(error) if error.raw_os_error().is_some() => return Ok(Finding::Unreadable),
            Err(_) => self.watch.check()?,
        }
        match self.by_automaton(file, origin) {
            Ok(Some(holds)) => return Ok(Finding::of(holds)),
            Ok(None) => {}
            Err(error) => return self.failed(&error),
        }
        let mut source = file;
        let searched = source.rewind().and_then(|()| {
            search(&self.matcher, Watched { source, watch: self.watch }, origin, MAX_LINE_BYTES)
        });
        searched.map(Finding::of).or_else(|error| self.failed(&error))
    }

    fn by_automaton(&mut self, mut file: &File, origin: Origin) -> io::Result<Option<bool>> {
        let Some(automaton) = self.query.long_lines() else { return Ok(None) };
        file.rewind()?;
        let mut start = [0; 3];
        let length = file.read(&mut start)?;
        if has_mark(start.get(..length).unwrap_or_default()) {
            return Ok(None);
        }
        file.rewind()?;
        let piece = self.window.get_mut(..PIECE_BYTES).unwrap_or_default();
        automaton.hold(Watched { source: file, watch: self.watch }, origin, piece)
    }

    /// What an error means: the system's, a stop, or a line that is too long.
    fn failed(&self, error: &io::Error) -> Result<Finding, Stop> {
        if error.raw_os_error().is_some() {
            return Ok(Finding::Unreadable);
        }
        self.watch.check()?;
        Ok(Finding::LineTooLong)
    }
}

impl Finding {
    fn of(holds: bool) -> Finding {
        if holds { Finding::Match } else { Finding::NoMatch }
    }
}

/// Whether text starts with a byte-order mark, which the searcher may decode by.
fn has_mark(text: &[u8]) -> bool {
    [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| text.starts_with(mark))
}

/// Ripgrep's own search. How far it has read decides whether a match or a NUL comes first, so each
/// file gets a searcher whose buffer has not grown yet.
fn search(
    matcher: &RegexMatcher,
    source: impl io::Read,
    origin: Origin,
    most_in_line: usize,
) -> io::Result<bool> {
    let mut searcher = SearcherBuilder::new()
        .line_number(false)
        .memory_map(MmapChoice::never())
        .heap_limit(Some(most_in_line.max(SEARCHER_BYTES)))
        .binary_detection(match origin {
            Origin::Named => BinaryDetection::convert(b'\0'),
            Origin::Walked => BinaryDetection::quit(b'\0'),
        })
        .build();
    let mut sink = FirstMatch { origin, found: false };
    searcher.search_reader(matcher, source, &mut sink)?;
    Ok(sink.found)
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

/// What is read while the watch is looked at before every read.
struct Watched<'w, S> {
    source: S,
    watch: &'w Watch,
}

impl<S: io::Read> io::Read for Watched<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.watch.check().map_err(|_| io::Error::other("stopped"))?;
            match self.source.read(buffer) {
                // Not everyone between here and the searcher goes on by itself.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}
