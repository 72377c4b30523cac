//! `grep_files`: finds files that contain a pattern, newest first, a page at a time.
//!
//! Both engines return what ripgrep returns.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use super::input_schema::{object, string, whole_number};
use crate::args;
use crate::cancel::{Stop, StopCheck};
use crate::context::{SearchEngine, TurnContext};
use crate::error::{ErrorCode, ToolError};
use crate::limits::{Limit, TIME_LIMIT};
use crate::output::{Report, TextData};
use crate::paths::confined_path::{ConfinedPath, OpenFailure};
use crate::search::embedded;
use crate::search::long_lines::MAX_LINE_BYTES;
pub use crate::search::outcome::SkippedFiles;
use crate::search::outcome::{SearchCounts, SearchFailure};
use crate::search::query::Query;
use crate::search::rg_process;
use crate::search::target::Target;
use crate::text::escape;
use crate::text::newest_page::NewestPage;
use crate::text::reply_budget::ReplyBudget;
use crate::text::truncate;
use crate::tool::{Load, Tool, ToolDefinition};

/// The default number of files per page.
pub const DEFAULT_LIMIT: u64 = 100;
/// The maximum number of files per page. Higher limits are reduced to this.
pub const MAX_LIMIT: u64 = 2000;
/// The maximum length of a pattern or glob, in bytes.
pub const MAX_PATTERN_BYTES: usize = 8 * 1024;

/// Finds files by content.
#[derive(Clone, Copy, Debug)]
pub struct GrepFiles;

/// The arguments of `grep_files`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrepFilesArgs {
    /// The regular expression, in ripgrep's syntax.
    pub pattern: String,
    /// A glob of the files to search; with a leading `!`, of the files to skip.
    #[serde(default, deserialize_with = "args::blank_as_none")]
    pub include: Option<String>,
    /// The directory or file to search. Default: the working directory.
    #[serde(default, deserialize_with = "args::blank_as_none")]
    pub path: Option<String>,
    /// The maximum number of files on the page.
    #[serde(default, deserialize_with = "args::number")]
    pub limit: Option<u64>,
    /// The first match of the page, counting from 1.
    #[serde(default, deserialize_with = "args::number")]
    pub offset: Option<u64>,
}

impl GrepFilesArgs {
    /// Searches the working directory for `pattern`, with defaults for everything else.
    pub fn new(pattern: impl Into<String>) -> Self {
        GrepFilesArgs { pattern: pattern.into(), ..GrepFilesArgs::default() }
    }
}

/// The result of `grep_files`: one page, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrepFilesReport {
    /// The paths of the page, absolute, escaped for display.
    pub files: Vec<String>,
    /// The first match of the page, counting from 1.
    pub offset: u64,
    /// The offset of the next page, if more files match.
    pub next_offset: Option<u64>,
    /// How many files were searched; `None` if the engine does not report it. A search stops as soon
    /// as the page is certain, so it may not search every file.
    pub searched: Option<u64>,
    /// How many files were skipped for other reasons than the ignore rules.
    pub skipped: SkippedFiles,
    /// How many bytes of paths did not fit into the reply budget.
    pub withheld_bytes: u64,
}

impl Tool for GrepFiles {
    type Args = GrepFilesArgs;
    type Report = GrepFilesReport;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "grep_files",
            title: "Find files by content",
            description: format!(
                "Searches file contents for a regular expression and returns the paths of the \
                 matching files, newest first, {DEFAULT_LIMIT} per page by default (maximum \
                 {MAX_LIMIT}). Works like ripgrep: skips hidden and binary files and files \
                 ignored by .gitignore, a match cannot span lines, and case matters unless the \
                 pattern starts with (?i). If a page is full, continue with offset increased by the number of \
                 files returned. To see the matching lines, call read on a returned file."
            ),
            input_schema: object(
                "pattern",
                json!({
                    "pattern": string("Regular expression in ripgrep's syntax."),
                    "include": string(
                        "Glob of the files to search, such as *.rs or *.{ts,tsx}; \
                         a leading ! excludes files, as in !*.md."
                    ),
                    "path": string("Directory or file to search. Default: the working directory."),
                    "limit": whole_number(&format!(
                        "Maximum number of files to return. Default {DEFAULT_LIMIT}, maximum \
                         {MAX_LIMIT}."
                    )),
                    "offset": whole_number("First match to return, counting from 1. Default 1.")
                }),
            ),
            read_only: true,
            load: Load::Walk,
            counts: "files searched",
            limits: vec![
                Limit::new("files per page, by default", DEFAULT_LIMIT, "files")
                    .beyond("continue with offset"),
                Limit::new("files per page, maximum", MAX_LIMIT, "files")
                    .beyond("a higher limit is reduced to the maximum; continue with offset"),
                Limit::new("length of a pattern or glob", MAX_PATTERN_BYTES as u64, "bytes")
                    .beyond("fails with `invalid_input`"),
                Limit::new(
                    "length of a line that must be held in memory",
                    MAX_LINE_BYTES as u64,
                    "bytes",
                )
                .beyond("the rest of the file is skipped"),
            ],
        }
    }

    fn run(&self, args: GrepFilesArgs, turn: &TurnContext) -> Result<GrepFilesReport, ToolError> {
        let pattern = args.pattern.trim();
        let limit = args.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
        let offset = args.offset.unwrap_or(1);
        let include = args.include.as_deref().map(str::trim).filter(|glob| !glob.is_empty());
        if pattern.is_empty() {
            return Err(ToolError::invalid_input("pattern must not be empty"));
        }
        if limit == 0 {
            return Err(ToolError::invalid_input("limit must be greater than zero"));
        }
        if offset == 0 {
            return Err(ToolError::invalid_input("offset must be a 1-indexed match number"));
        }
        searchable("pattern", pattern)?;
        include.map_or(Ok(()), |include| searchable("include", include))?;
        let stop_check = turn.stop_check(TIME_LIMIT);
        let requested = args.path.as_deref().or(turn.cwd().to_str()).unwrap_or_default();
        let path = turn.resolve_path("path", requested)?;
        let target = Target::open(&path).map_err(|failure| match failure {
            OpenFailure::Refused(error) => error,
            OpenFailure::Io(error) => ToolError::io(unable(&path), &error),
            OpenFailure::NotAFile => ToolError::new(
                ErrorCode::NotAFile,
                format!("{}: neither a regular file nor a directory", unable(&path)),
            ),
        })?;
        let query = Query::new(pattern, include, turn)?;

        let newest = NewestPage::new(offset, limit);
        let found = find(&query, target, turn, &stop_check, newest);
        let (counts, newest) = found.map_err(|failure| match failure {
            SearchFailure::Failed(error) => error,
            SearchFailure::Stopped(stop @ Stop::TimedOut) => stop.error("rg", &stop_check),
            SearchFailure::Stopped(stop @ Stop::Cancelled) => stop.error("grep_files", &stop_check),
        })?;
        if (1..offset).contains(&newest.seen()) {
            return Err(ToolError::invalid_input("offset exceeds match count"));
        }
        let (files, mut next_offset) = newest.into_page();
        let mut files: Vec<_> = files.iter().map(|path| escape::text(path).into_owned()).collect();
        let withheld_bytes = turn.reply_budget.map_or(0, |budget| fit(&mut files, budget));
        if withheld_bytes > 0 {
            next_offset = Some(offset.saturating_add(files.len() as u64));
        }
        Ok(GrepFilesReport {
            files,
            offset,
            next_offset,
            // `rg` does not report it.
            searched: (turn.search_engine == SearchEngine::Embedded).then_some(counts.searched),
            skipped: counts.skipped,
            withheld_bytes,
        })
    }
}

impl Report for GrepFilesReport {
    fn content(&self) -> String {
        if self.files.is_empty() {
            return "No matches found.".to_owned();
        }
        self.files.join("\n")
    }

    fn success(&self) -> bool {
        !self.files.is_empty()
    }

    fn reply(&self) -> String {
        let mut reply = self.content();
        if let Some(offset) = self.next_offset {
            let files = self.files.len();
            reply.push_str(&format!("\nMore than {files} files match; next offset {offset}"));
        }
        reply
    }

    fn withheld_bytes(&self) -> u64 {
        self.withheld_bytes
    }

    fn next_offset(&self) -> Option<u64> {
        self.next_offset
    }
}

impl Serialize for GrepFilesReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TextData::new(self).serialize(serializer)
    }
}

fn searchable(argument: &str, text: &str) -> Result<(), ToolError> {
    if text.len() > MAX_PATTERN_BYTES {
        return Err(ToolError::invalid_input(format!(
            "{argument} must be at most {MAX_PATTERN_BYTES} bytes"
        )));
    }
    if text.contains('\0') {
        return Err(ToolError::invalid_input(format!(
            "{argument} must not contain a NUL character"
        )));
    }
    Ok(())
}

fn unable(path: &ConfinedPath) -> String {
    format!("unable to access `{}`", escape::name(path.shown().as_os_str()))
}

fn find(
    query: &Query,
    target: Target,
    turn: &TurnContext,
    stop_check: &StopCheck,
    mut newest: NewestPage,
) -> Result<(SearchCounts, NewestPage), SearchFailure> {
    match turn.search_engine {
        SearchEngine::Embedded => embedded::search(query, target, turn, stop_check, newest),
        SearchEngine::Rg => {
            let counts =
                rg_process::search(query, &target, turn, stop_check, |hit| newest.add(hit))?;
            Ok((counts, newest))
        }
    }
}

/// Limits the files to what a reply can show, at least one. Returns how many bytes were removed.
fn fit(files: &mut Vec<String>, budget: ReplyBudget) -> u64 {
    // Two numbers and the words of the last line.
    let room = budget.beside(100, 1);
    let mut used = 0;
    let fitting = files.iter().take(room.lines).take_while(|file| {
        used += file.len() + 1;
        used <= room.bytes
    });
    let fitting = fitting.count().max(1);
    let removed = files.drain(fitting.min(files.len())..).map(|file| file.len() as u64 + 1).sum();
    if let Some(only) = files.first_mut().filter(|file| file.len() > room.bytes) {
        *only = truncate::at_most(only, room.bytes).to_owned();
    }
    removed
}
