//! The report of `grep_files`, and its text.

use std::path::Path;

use serde::{Serialize, Serializer};

use super::search_page::{NOTHING, fit_paths, more_files_line, searched_line, total};
use crate::facts::Facts;
use crate::output::{Report, TextData};
pub use crate::search::outcome::SkippedFiles;
use crate::text::escape;
use crate::text::matched_lines::{FileMatches, Groups, MatchData};
use crate::text::newest_page::PageHit;
use crate::text::number::counted;
use crate::text::reply_budget::ReplyBudget;
use crate::text::truncate;

/// The result of `grep_files`: one page of files, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepFilesReport {
    /// The absolute paths of the files on the page, escaped for display.
    pub files: Vec<String>,
    /// The part of the files that the page shows.
    pub found: Found,
    /// The number of the first match of the page, counting from 1.
    pub offset: u64,
    /// The offset of the next page, if there is one.
    pub next_offset: Option<u64>,
    /// How many files were searched; `None` if the engine does not report it. A search stops as
    /// soon as no further file can change the page, so not every file may be searched.
    pub searched: Option<u64>,
    /// The numbers of skipped files, by reason.
    pub skipped: SkippedFiles,
    /// The paths of the first files and directories that could not be read, escaped for display.
    pub unreadable: Vec<String>,
    /// How many bytes of the page did not fit into the reply budget.
    pub withheld_bytes: u64,
    /// The search path, escaped for display; of a file searched with `count`, its directory.
    pub(super) path: String,
    pub(super) hint: Option<&'static str>,
}

/// The part of the matching files that a page of `grep_files` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// The paths of the files.
    Files,
    /// The matching lines of the files.
    Lines(MatchPage),
    /// The number of matching lines of each file.
    Count(Vec<FileCount>),
}

/// The matching lines of a page of `grep_files`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatchPage {
    /// The files, newest first.
    pub files: Vec<FileMatches>,
    /// Whether the search path is a file.
    pub in_one_file: bool,
    pub(super) groups: Groups,
}

/// A file and the number of its matching lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileCount {
    /// The absolute path of the file, not escaped.
    pub path: String,
    /// The path of the file relative to the search path, escaped for display.
    #[serde(skip)]
    pub heading: String,
    /// The number of matching lines.
    pub lines: u64,
}

impl Report for GrepFilesReport {
    fn content(&self) -> String {
        match &self.found {
            Found::Files if self.files.is_empty() => NOTHING.to_owned(),
            Found::Files => self.files.join("\n"),
            Found::Lines(_) | Found::Count(_) => self.page_text(self.units()),
        }
    }

    fn success(&self) -> bool {
        !self.files.is_empty()
    }

    fn reply(&self) -> String {
        let mut reply = self.content();
        if matches!(self.found, Found::Files) {
            if self.files.is_empty() {
                self.write_absence(&mut reply);
            }
            if let Some(offset) = self.next_offset {
                reply.push_str(&more_files_line(self.files.len(), offset));
            }
        }
        reply
    }

    fn withheld_bytes(&self) -> u64 {
        self.withheld_bytes
    }

    fn next_offset(&self) -> Option<u64> {
        self.next_offset
    }

    fn facts(&self) -> Facts {
        let found = self.units() as u64;
        Facts::page(self.offset, found).with_found(found)
    }
}

impl GrepFilesReport {
    /// How many matches or files are on the page.
    fn units(&self) -> usize {
        match &self.found {
            Found::Files => self.files.len(),
            Found::Lines(page) => page.files.iter().map(|file| file.matches.len()).sum(),
            Found::Count(counts) => counts.len(),
        }
    }

    /// How many there are on all pages, if this is the last page.
    fn total(&self) -> Option<u64> {
        total(self.offset, self.units() as u64, self.next_offset)
    }

    fn write_absence(&self, out: &mut String) {
        if let Some(searched) = self.searched {
            out.push('\n');
            out.push_str(&searched_line(searched, &self.skipped));
        }
        if let Some(hint) = self.hint {
            out.push('\n');
            out.push_str(hint);
        }
    }

    /// The text of the first `count` matches or files.
    fn page_text(&self, count: usize) -> String {
        if !self.success() {
            let mut text = NOTHING.to_owned();
            self.write_absence(&mut text);
            return text;
        }
        let last = (self.offset - 1).saturating_add(count as u64);
        let is_cut = count < self.units();
        let next = if is_cut { Some(last.saturating_add(1)) } else { self.next_offset };
        let range = format!("{}-{last}", self.offset);
        let of = next.map_or_else(|| format!(" of {last}"), |_| String::new());
        let more =
            next.map_or_else(String::new, |next| format!("; more follow, next offset {next}"));
        let mut body = String::new();
        let header = match &self.found {
            Found::Files => String::new(),
            Found::Lines(page) => {
                let files = page.write(count, &mut body);
                let place = match page.in_one_file {
                    true => format!("in {}", self.path),
                    false => format!("in {} under {}", counted(files, "file", "files"), self.path),
                };
                format!("[matches {range}{of} {place}{more}]")
            }
            Found::Count(counts) => {
                let counts = counts.get(..count).unwrap_or(counts);
                for FileCount { heading, lines, .. } in counts {
                    body.push_str(&format!("{lines} {heading}\n"));
                }
                let lines = counts.iter().map(|count| count.lines).sum();
                let lines = counted(lines, "matching line", "matching lines");
                format!("[files {range}{of} under {}; {lines}{more}]", self.path)
            }
        };
        body.truncate(body.trim_end_matches('\n').len());
        format!("{header}\n{body}")
    }

    /// Limits the page to what a reply can show, at least one match or file.
    pub(super) fn fit(&mut self, budget: ReplyBudget) {
        if matches!(self.found, Found::Files) {
            return self.fit_files(budget);
        }
        let units = self.units();
        let whole = self.page_text(units).len();
        let fits = |report: &Self, count| budget.fits(&report.page_text(count));
        // The largest page that fits, between one that does and one that does not.
        let (mut fitting, mut too_many) = (0, units + 1);
        while too_many - fitting > 1 {
            let middle = fitting + (too_many - fitting) / 2;
            if fits(self, middle) { fitting = middle } else { too_many = middle }
        }
        if fitting == units {
            return;
        }
        self.keep(fitting.max(1));
        if fitting == 0 {
            self.without_context();
        }
        if !fits(self, 1) {
            self.shorten_paths(budget.bytes() / 4);
        }
        self.withheld_bytes = whole.saturating_sub(self.content().len()) as u64;
    }

    /// Drops everything after the first `count` matches or files.
    fn keep(&mut self, count: usize) {
        if count < self.units() {
            self.next_offset = Some(self.offset.saturating_add(count as u64));
        }
        let files = match &mut self.found {
            Found::Files => count,
            Found::Lines(page) => page.keep(count),
            Found::Count(counts) => {
                counts.truncate(count);
                counts.len()
            }
        };
        self.files.truncate(files);
    }

    /// Shows the first match without its context.
    fn without_context(&mut self) {
        if let Found::Lines(page) = &mut self.found {
            let first = page.files.first_mut().and_then(|file| file.matches.first_mut());
            if let Some(first) = first {
                first.before.clear();
                first.after.clear();
            }
        }
    }

    fn shorten_paths(&mut self, bytes: usize) {
        let shorten = |path: &mut String| *path = truncate::middle(std::mem::take(path), bytes);
        shorten(&mut self.path);
        match &mut self.found {
            Found::Files => {}
            Found::Lines(page) => page.files.iter_mut().for_each(|file| shorten(&mut file.heading)),
            Found::Count(counts) => counts.iter_mut().for_each(|file| shorten(&mut file.heading)),
        }
    }

    fn fit_files(&mut self, budget: ReplyBudget) {
        self.withheld_bytes = fit_paths(&mut self.files, budget);
        if self.withheld_bytes > 0 {
            self.next_offset = Some(self.offset.saturating_add(self.files.len() as u64));
        }
    }
}

impl FileCount {
    pub(super) fn new(hit: PageHit, top: &Path) -> Self {
        let below = Path::new(&hit.path).strip_prefix(top).unwrap_or(Path::new(&hit.path));
        let heading = escape::name(below.as_os_str()).into_owned();
        FileCount { heading, path: hit.path, lines: hit.lines }
    }
}

impl MatchPage {
    /// Writes the first `count` matches. Returns how many files they are in.
    fn write(&self, count: usize, out: &mut String) -> u64 {
        let (mut left, mut files) = (count, 0);
        for file in self.files.iter().filter(|file| !file.matches.is_empty()) {
            if left == 0 {
                break;
            }
            if files > 0 {
                out.push('\n');
            }
            if !self.in_one_file {
                out.push_str(&file.heading);
                out.push('\n');
            }
            let shown = left.min(file.matches.len());
            file.write(shown, self.groups, out);
            left -= shown;
            files += 1;
        }
        files
    }

    /// Drops everything after the first `count` matches. Returns how many files are left.
    fn keep(&mut self, count: usize) -> usize {
        let mut left = count;
        for file in &mut self.files {
            if left < file.matches.len() {
                file.matches.truncate(left);
                file.more = 0;
            }
            left -= file.matches.len();
        }
        self.files.retain(|file| !file.matches.is_empty());
        self.files.len()
    }
}

/// The `data` of pages of lines.
#[derive(Serialize)]
struct LinesData<'r> {
    matches: Vec<MatchData<'r>>,
    files: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    more: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    success: bool,
}

/// The `data` of pages of counts.
#[derive(Serialize)]
struct CountData<'r> {
    counts: &'r [FileCount],
    files: usize,
    lines: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    success: bool,
}

impl Serialize for GrepFilesReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (files, total, success) = (self.files.len(), self.total(), self.success());
        let next_offset = self.next_offset;
        match &self.found {
            Found::Files => TextData::new(self).serialize(serializer),
            Found::Lines(page) => {
                let matches = MatchData::of(&page.files);
                let more = page.files.iter().map(|file| file.more).sum();
                LinesData { matches, files, total, more, next_offset, success }
                    .serialize(serializer)
            }
            Found::Count(counts) => {
                let lines = counts.iter().map(|count| count.lines).sum();
                CountData { counts, files, lines, total, next_offset, success }
                    .serialize(serializer)
            }
        }
    }
}
