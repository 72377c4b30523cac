//! Reads the matching lines of a page, after the search has found their files.
//!
//! A page has few files, so reading them again is cheap. The search itself then keeps only numbers.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use grep_matcher::Matcher as _;
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch,
};

use crate::cancel::StopCheck;
use crate::error::{ErrorCode, ToolError};
use crate::search::goal::Goal;
use crate::search::long_lines::{MAX_LINE_BYTES, Origin};
use crate::search::match_file::{FileMatcher, Finding, StoppableReader};
use crate::search::outcome::SearchFailure;
use crate::search::query::Query;
use crate::search::target::{OpenTarget, Target};
use crate::text::escape;
use crate::text::matched_lines::{FileMatches, LineMatch, LineText, without_ending};
use crate::text::newest_page::PageHit;

const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads the matching lines of the `hits` of a page, with `context` lines around each. Of each file that
/// the walk found, pages show `most` lines.
pub(crate) fn read(
    query: &Query,
    target: &Target,
    hits: Vec<PageHit>,
    context: usize,
    most: u64,
    stop_check: &StopCheck,
) -> Result<Vec<FileMatches>, SearchFailure> {
    let is_empty = hits.is_empty();
    let mut has_long_line = false;
    let mut counter = FileMatcher::new(query, Goal::Lines { most: u64::MAX }, stop_check);
    let mut files = Vec::new();
    for hit in hits {
        stop_check.check()?;
        let path = PathBuf::from(&hit.path);
        let below = path.strip_prefix(&target.path).unwrap_or(Path::new(""));
        let (opened, origin) = match &target.opened {
            OpenTarget::File(file) => (file.try_clone().map(|file| (file, 0)), Origin::Named),
            OpenTarget::Directory(top) => {
                let folder = below.parent().unwrap_or(Path::new(""));
                let opened = top.directory.open_below(folder.iter()).and_then(|folder| {
                    let (file, stat) =
                        folder.open_regular(below.file_name().unwrap_or_default())?;
                    Ok((file, u64::try_from(stat.st_size).unwrap_or_default()))
                });
                (opened, Origin::Walked)
            }
        };
        let (mut file, size) = match opened {
            Ok(opened) => opened,
            // A file that is gone now has no lines to show.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unreadable(&path, &error)),
        };
        let shows_last = origin == Origin::Walked && hit.on_page.end == most;
        let (matches, end) = read_file(query, &file, origin, hit.on_page, context, stop_check)
            .map_err(|error| unreadable(&path, &error))?;
        stop_check.check()?;
        has_long_line |= end == FileEnd::LongLine;
        if matches.is_empty() {
            continue;
        }
        let mut more = 0;
        if shows_last && file.rewind().is_ok() {
            if let Finding::Searched { lines } | Finding::LineTooLong { lines } =
                counter.search(&file, size, origin)?
            {
                more = lines.saturating_sub(most);
            }
        }
        let heading = escape::name(below.as_os_str()).into_owned();
        files.push(FileMatches { path: hit.path, heading, matches, more });
    }
    if files.is_empty() && !is_empty {
        let message = match has_long_line {
            // Only the engine `rg` counts matches there.
            true => format!(
                "the matches are in or after a line longer than {} MiB, which cannot be shown; use show: \
                 \"files\" or \"count\"",
                MAX_LINE_BYTES >> 20
            ),
            false => "the files changed during the search; search again".to_owned(),
        };
        return Err(ToolError::new(ErrorCode::SearchFailed, message).into());
    }
    Ok(files)
}

fn unreadable(path: &Path, error: &io::Error) -> SearchFailure {
    let path = escape::name(path.as_os_str());
    SearchFailure::Failed(ToolError::io(format!("unable to access `{path}`"), error))
}

/// Where reading a file ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileEnd {
    /// After the last line that the page needs.
    PageOrFile,
    /// Before a line that is too long.
    LongLine,
}

/// The matching lines `wanted` of a file, counting from 0.
fn read_file(
    query: &Query,
    mut file: &File,
    origin: Origin,
    wanted: Range<u64>,
    context: usize,
    stop_check: &StopCheck,
) -> io::Result<(Vec<LineMatch>, FileEnd)> {
    let mut start = Vec::new();
    file.rewind()?;
    file.take(3).read_to_end(&mut start)?;
    file.rewind()?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .memory_map(MmapChoice::never())
        // The lines of context are in memory too.
        .heap_limit(Some(MAX_LINE_BYTES * (context + 1)))
        .binary_detection(BinaryDetection::none())
        .before_context(context)
        .after_context(context)
        .build();
    let mut sink = LineSink {
        query,
        origin,
        wanted,
        context,
        has_bom: start == UTF8_BOM,
        seen: 0,
        recent: VecDeque::new(),
        found: Vec::new(),
    };
    let source = StoppableReader { source: file, stop_check };
    match searcher.search_reader(&query.matcher, source, &mut sink) {
        Err(error) if error.raw_os_error().is_some() => Err(error),
        Ok(()) => Ok((sink.found, FileEnd::PageOrFile)),
        Err(_) => Ok((sink.found, FileEnd::LongLine)),
    }
}

/// Collects matching lines with their context.
struct LineSink<'q> {
    query: &'q Query,
    origin: Origin,
    wanted: Range<u64>,
    context: usize,
    /// A byte-order mark is not part of the text here, but `read` counts it as a character.
    has_bom: bool,
    /// How many matches were seen.
    seen: u64,
    /// The last lines, for the context before the next match.
    recent: VecDeque<(u64, LineText)>,
    found: Vec<LineMatch>,
}

impl LineSink<'_> {
    /// Adds a line to the context of the matches around it. False if nothing is missing after it.
    fn add_context(&mut self, number: u64, line: &[u8]) -> bool {
        if self.context == 0 {
            return self.seen < self.wanted.end;
        }
        let text = LineText::start(without_ending(line));
        let mut is_needed = self.seen < self.wanted.end;
        for found in self.found.iter_mut().rev() {
            let last = found.line + self.context as u64;
            if number > last {
                break;
            }
            if number > found.line {
                found.after.push(text.clone());
            }
            is_needed |= number < last;
        }
        if self.recent.len() == self.context {
            self.recent.pop_front();
        }
        self.recent.push_back((number, text));
        is_needed
    }

    fn add_match(&mut self, number: u64, line: &[u8]) {
        // Like ripgrep, a pattern can match the `\r` of a line ending.
        let searched = line.strip_suffix(b"\n").unwrap_or(line);
        let found = self.query.matcher.find(searched).ok().flatten();
        let found = found.map_or(0..0, |found| found.start()..found.end());
        let (text, mut column) = LineText::around(without_ending(line), found);
        column += u64::from(self.has_bom && number == 1);
        let mut spans = Vec::new();
        let _ = self.query.matcher.find_iter(text.text.as_bytes(), |span| {
            spans.push(span.start()..span.end());
            true
        });
        let first = number.saturating_sub(self.context as u64);
        let before = self.recent.iter().filter(|(number, _)| *number >= first);
        let before = before.map(|(_, line)| line.clone()).collect();
        self.found.push(LineMatch { line: number, column, text, spans, before, after: Vec::new() });
    }
}

impl Sink for LineSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        let number = line.line_number().unwrap_or_default();
        let is_wanted = self.wanted.contains(&self.seen);
        self.seen += 1;
        if is_wanted {
            self.add_match(number, line.bytes());
        } else if self.origin == Origin::Walked && memchr::memchr(0, line.bytes()).is_some() {
            return Ok(false);
        }
        Ok(self.add_context(number, line.bytes()))
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        // Ripgrep does not show what is behind a NUL.
        if self.origin == Origin::Walked && memchr::memchr(0, line.bytes()).is_some() {
            return Ok(false);
        }
        Ok(self.add_context(line.line_number().unwrap_or_default(), line.bytes()))
    }
}
