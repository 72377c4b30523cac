//! Lines that match a pattern, as a reply shows them.

use std::ops::Range;

use serde::{Serialize, Serializer};

use crate::text::escape;
use crate::text::number::counted;

/// The maximum number of characters that a reply shows of a matching line.
pub const MAX_LINE_CHARS: usize = 200;

/// A line of a file, or the part of the line that the reply shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineText {
    /// The text of the line: at most [`MAX_LINE_CHARS`] characters, without the line ending and not
    /// escaped.
    pub text: String,
    /// Whether the line has text before the shown part.
    pub follows_more: bool,
    /// Whether the line has text after the shown part.
    pub precedes_more: bool,
}

/// A matching line with its context.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineMatch {
    /// The number of the line, counting from 1.
    pub line: u64,
    /// The column of the first match: the number of its first character in the line, counting from
    /// 1.
    pub column: u64,
    /// The text of the line.
    pub text: LineText,
    /// The positions of the matches in `text`, as byte ranges.
    pub spans: Vec<Range<usize>>,
    /// The lines before the match, as many as the caller requested.
    pub before: Vec<LineText>,
    /// The lines after the match, as many as the caller requested.
    pub after: Vec<LineText>,
}

/// The matching lines of one file that are on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileMatches {
    /// The absolute path of the file, not escaped.
    pub path: String,
    /// The path of the file relative to the search path, escaped for display.
    pub heading: String,
    /// The matching lines on the page.
    pub matches: Vec<LineMatch>,
    /// How many matches of the file no page shows, because pages show only the first matches of
    /// each file. Set on the page with the last shown match of the file, otherwise 0.
    pub more: u64,
}

/// A line to show: a match or a line of context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownLine<'m> {
    /// The number of the line, counting from 1.
    pub number: u64,
    /// The text of the line.
    pub text: &'m LineText,
    /// The column of the first match, if this line is a match.
    pub column: Option<u64>,
    /// The positions of the matches in `text`, as byte ranges.
    pub spans: &'m [Range<usize>],
    /// Whether lines of the file are missing between this line and the previous shown line.
    pub starts_group: bool,
}

impl LineText {
    /// The start of a line.
    pub(crate) fn start(line: &[u8]) -> Self {
        LineText::window(line, 0)
    }

    /// The part of a line around the bytes `found`, and the column of their first character.
    pub(crate) fn around(line: &[u8], found: Range<usize>) -> (Self, u64) {
        let found = found.start.min(line.len())..found.end.min(line.len());
        let column = count_chars(line.get(..found.start).unwrap_or_default());
        let length = count_chars(line.get(found).unwrap_or_default()).min(MAX_LINE_CHARS);
        let last_start = count_chars(line).saturating_sub(MAX_LINE_CHARS);
        let start = column.saturating_sub((MAX_LINE_CHARS - length) / 2).min(last_start);
        (LineText::window(line, start), column as u64 + 1)
    }

    /// The part of a line that starts at a character.
    fn window(line: &[u8], start: usize) -> Self {
        let mut rest = chars(line).skip(start);
        let text = rest.by_ref().take(MAX_LINE_CHARS).collect();
        LineText { text, follows_more: start > 0, precedes_more: rest.next().is_some() }
    }

    fn is_part(&self) -> bool {
        self.follows_more || self.precedes_more
    }

    fn write(&self, out: &mut String) {
        out.push_str(if self.follows_more { "…" } else { "" });
        out.push_str(&escape::line(&self.text));
        out.push_str(if self.precedes_more { "…" } else { "" });
    }
}

/// A line without its ending.
pub(crate) fn without_ending(line: &[u8]) -> &[u8] {
    match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => line,
    }
}

/// The characters of a line; U+FFFD stands for bytes that are not UTF-8, as in `read`.
fn chars(line: &[u8]) -> impl Iterator<Item = char> {
    line.utf8_chunks().flat_map(|chunk| {
        let invalid = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        chunk.valid().chars().chain(invalid)
    })
}

fn count_chars(line: &[u8]) -> usize {
    let count = |chunk: std::str::Utf8Chunk<'_>| {
        chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty())
    };
    line.utf8_chunks().map(count).sum()
}

impl FileMatches {
    /// Returns the lines to show, in order. Each line occurs once. A match that belongs to another
    /// page appears as a context line.
    pub fn lines(&self) -> Vec<ShownLine<'_>> {
        self.lines_of(self.matches.len())
    }

    /// The same for the first `count` matches.
    fn lines_of(&self, count: usize) -> Vec<ShownLine<'_>> {
        let matches = self.matches.get(..count).unwrap_or(&self.matches);
        let mut lines: Vec<ShownLine<'_>> = Vec::new();
        let mut last = 0;
        for (place, found) in matches.iter().enumerate() {
            let first = found.line.saturating_sub(found.before.len() as u64);
            let starts_group = last > 0 && first > last + 1;
            let next = matches.get(place + 1).map_or(u64::MAX, |next| next.line);
            let before = (first..).zip(&found.before).filter(|(number, _)| *number > last);
            let after = (found.line + 1..next).zip(&found.after);
            let context = |(number, text)| ShownLine {
                number,
                text,
                column: None,
                spans: &[],
                starts_group: starts_group && number == first,
            };
            lines.extend(before.map(context));
            lines.push(ShownLine {
                number: found.line,
                text: &found.text,
                column: Some(found.column),
                spans: &found.spans,
                starts_group: starts_group && found.line == first,
            });
            lines.extend(after.map(context));
            last = lines.last().map_or(0, |line| line.number);
        }
        lines
    }

    /// Writes the lines of the first `count` matches, each with a newline.
    pub(crate) fn write(&self, count: usize, groups: Groups, out: &mut String) {
        for line in self.lines_of(count) {
            if groups == Groups::Separated && line.starts_group {
                out.push_str("--\n");
            }
            out.push_str(&line.prefix());
            line.text.write(out);
            out.push('\n');
        }
        if let Some(note) = self.more_note().filter(|_| count >= self.matches.len()) {
            out.push_str(&note);
            out.push('\n');
        }
    }

    /// Returns a line that says how many matches are not shown, or `None` if all are shown.
    pub fn more_note(&self) -> Option<String> {
        let matches = counted(self.more, "more match", "more matches");
        (self.more > 0).then(|| format!("… {matches} in this file; to see them, set path to it"))
    }
}

impl ShownLine<'_> {
    /// Returns the text before the line: `10:` for a match, `10:120:` for a part of a long line,
    /// `10-` for context.
    pub fn prefix(&self) -> String {
        match self.column {
            Some(column) if self.text.is_part() => format!("{}:{column}:", self.number),
            Some(_) => format!("{}:", self.number),
            None => format!("{}-", self.number),
        }
    }
}

/// Whether groups of lines that are not adjacent are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    Separated,
    Joined,
}

/// A match in the envelope.
#[derive(Serialize)]
pub(crate) struct MatchData<'m> {
    path: &'m str,
    line: u64,
    column: u64,
    text: &'m LineText,
    before: &'m [LineText],
    after: &'m [LineText],
}

impl<'m> MatchData<'m> {
    /// All matches of a page.
    pub(crate) fn of(files: &'m [FileMatches]) -> Vec<MatchData<'m>> {
        let data = |file: &'m FileMatches| {
            file.matches.iter().map(|found| {
                let LineMatch { line, column, text, before, after, .. } = found;
                let (line, column) = (*line, *column);
                MatchData { path: &file.path, line, column, text, before, after }
            })
        };
        files.iter().flat_map(data).collect()
    }
}

impl Serialize for LineText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}
