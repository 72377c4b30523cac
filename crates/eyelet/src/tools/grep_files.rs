//! `grep_files`: finds files that contain a pattern, newest first, a page at a time.
//!
//! Both engines return what ripgrep returns.

use serde::Deserialize;
use serde_json::json;

pub use super::grep_report::{FileCount, Found, GrepFilesReport, MatchPage, SkippedFiles};
use super::input_schema::{name, object, string, whole_number};
pub use super::search_page::{DEFAULT_LIMIT, MAX_LIMIT, MAX_PATTERN_BYTES};
use super::search_page::{check_page, check_text, not_opened, shown};
use crate::args;
use crate::cancel::{Stop, StopCheck};
use crate::context::{SearchEngine, TurnContext};
use crate::error::ToolError;
use crate::limits::{Limit, TIME_LIMIT};
use crate::names::{named, named_argument};
use crate::output::Report as _;
use crate::search::goal::Goal;
use crate::search::long_lines::MAX_LINE_BYTES;
use crate::search::outcome::SearchFailure;
use crate::search::query::{NulPattern, Query};
use crate::search::regex_limits::MAX_COMPILED_BYTES;
use crate::search::target::Target;
use crate::search::{embedded, page_lines, rg_process};
use crate::text::escape;
use crate::text::matched_lines::{Groups, MAX_LINE_CHARS};
use crate::text::newest_page::{NewestPage, PageUnit};
use crate::tool::{Load, Tool, ToolDefinition};

/// The maximum number of matching lines that eyelet shows of each file. If the search path is a file,
/// this limit does not apply.
pub const MAX_LINES_PER_FILE: u64 = 20;
/// The maximum number of lines of context before and after a match.
pub const MAX_CONTEXT: u64 = 5;

/// The tool `grep_files`: finds files by content.
#[derive(Clone, Copy, Debug)]
pub struct GrepFiles;

/// The arguments of `grep_files`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrepFilesArgs {
    /// The regular expression to search for, in ripgrep's syntax.
    pub pattern: String,
    /// A glob that selects the files to search. With a leading `!`, the glob selects the files to
    /// skip.
    #[serde(default, deserialize_with = "args::blank_as_none")]
    pub include: Option<String>,
    /// The directory or file to search. The default is the working directory.
    #[serde(default, deserialize_with = "args::blank_as_none")]
    pub path: Option<String>,
    /// The maximum number of files or lines on the page.
    #[serde(default, deserialize_with = "args::number")]
    pub limit: Option<u64>,
    /// The number of the first match of the page, counting from 1.
    #[serde(default, deserialize_with = "args::number")]
    pub offset: Option<u64>,
    /// The part of the matching files to show: paths, lines or counts.
    #[serde(default, deserialize_with = "args::blank_name_as_none")]
    pub show: Option<Show>,
    /// How many lines to show before and after each match. Allowed only with [`Show::Lines`].
    #[serde(default, deserialize_with = "args::number")]
    pub context: Option<u64>,
}

impl GrepFilesArgs {
    /// Creates arguments that search the working directory for `pattern`, with the default for
    /// every other argument.
    pub fn new(pattern: impl Into<String>) -> Self {
        GrepFilesArgs { pattern: pattern.into(), ..GrepFilesArgs::default() }
    }
}

/// The part of the matching files that `grep_files` shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Show {
    /// The paths of the files.
    #[default]
    Files,
    /// The matching lines of the files.
    Lines,
    /// The number of matching lines of each file.
    Count,
}

named!(Show, "result of a search", { Files = "files", Lines = "lines", Count = "count" });
named_argument!(Show);

impl Tool for GrepFiles {
    type Args = GrepFilesArgs;
    type Report = GrepFilesReport;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("grep_files", format!(
                "Searches file contents for a regular expression, newest files first, \
                 {DEFAULT_LIMIT} results per page by default (maximum {MAX_LIMIT}). Returns paths, \
                 matching lines (the first {MAX_LINES_PER_FILE} of each file, unless path is that file) or \
                 the number of matching lines per file. Like ripgrep, it skips hidden, binary and ignored \
                 files (.gitignore), and a match cannot span lines; (?i) at the start of the pattern ignores \
                 case. To continue, increase offset by the number of results."
            ))
        .with_title("Search file contents")
        .with_input_schema(object(
                "pattern",
                json!({
                    "pattern": string("Regular expression in ripgrep's syntax."),
                    "include": string(
                        "Glob such as *.{ts,tsx}; !*.md excludes files. With a / it starts at the working \
                         directory, not at path."
                    ),
                    "path": string("Directory or file. Default: the working directory."),
                    "limit": whole_number("Results per page."),
                    "offset": whole_number("First result, from 1."),
                    "show": name(Show::NAMES, "Default files."),
                    "context": whole_number(&format!(
                        "With show lines: lines around each match, at most {MAX_CONTEXT}."
                    ))
                }),
            ))
        .read_only()
        .with_load(Load::Walk)
        .with_counts("files searched")
        .with_limits(vec![
                Limit::new("files or matching lines per page, by default", DEFAULT_LIMIT, "files")
                    .beyond("continue with offset"),
                Limit::new("files or matching lines per page, maximum", MAX_LIMIT, "files")
                    .beyond("a higher limit is reduced to the maximum; continue with offset"),
                Limit::new("matching lines per file", MAX_LINES_PER_FILE, "lines")
                    .beyond("the reply says how many more match; to see them, set path to the file"),
                Limit::new("lines of context before and after a match", MAX_CONTEXT, "lines")
                    .beyond("fails with `invalid_input`"),
                Limit::new("length of a shown line", MAX_LINE_CHARS as u64, "characters")
                    .beyond("the part around the first match is shown, with its column"),
                Limit::new("length of a pattern or glob", MAX_PATTERN_BYTES as u64, "bytes")
                    .beyond("fails with `invalid_input`"),
                Limit::new("size of a compiled pattern", MAX_COMPILED_BYTES as u64, "bytes")
                    .beyond("fails with `invalid_input`; use a simpler pattern, or (?-u:\\w) instead of \\w"),
                Limit::new("length of a line in a searched file", MAX_LINE_BYTES as u64, "bytes")
                    .beyond(
                        "the rest of the file is skipped; for show: files, most patterns have no such limit",
                    ),
            ])
    }

    fn run(&self, args: GrepFilesArgs, turn: &TurnContext) -> Result<GrepFilesReport, ToolError> {
        let pattern = args.pattern.trim();
        let limit = args.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
        let offset = args.offset.unwrap_or(1);
        let include = args.include.as_deref().map(str::trim).filter(|glob| !glob.is_empty());
        let show = args.show.unwrap_or_default();
        check_page(pattern, limit, offset)?;
        let context = checked_context(args.context.unwrap_or(0), show)?;
        check_text("pattern", pattern)?;
        include.map_or(Ok(()), |include| check_text("include", include))?;
        let stop_check = turn.stop_check(TIME_LIMIT);
        let requested = args.path.as_deref().or(turn.cwd().to_str()).unwrap_or_default();
        let path = turn.resolve_path("path", requested)?;
        let target = Target::open(&path).map_err(|failure| not_opened(&path, failure))?;

        let request = Request { pattern, include, show, context, offset, limit };
        let mut report =
            request.search(&target, turn, &stop_check).map_err(|failure| match failure {
                SearchFailure::Failed(error) => error,
                SearchFailure::Stopped(stop @ Stop::TimedOut) => stop.error("rg", &stop_check),
                SearchFailure::Stopped(stop @ Stop::Cancelled) => {
                    stop.error("grep_files", &stop_check)
                }
            })?;
        if let Some(budget) = turn.reply_budget.filter(|_| report.success()) {
            report.fit(budget);
        }
        Ok(report)
    }
}

/// Checked arguments.
struct Request<'a> {
    pattern: &'a str,
    include: Option<&'a str>,
    show: Show,
    context: usize,
    offset: u64,
    limit: u64,
}

impl Request<'_> {
    fn search(
        &self,
        target: &Target,
        turn: &TurnContext,
        stop_check: &StopCheck,
    ) -> Result<GrepFilesReport, SearchFailure> {
        let Request { include, show, context, offset, limit, .. } = *self;
        let nul = match show {
            Show::Lines if target.is_file() => NulPattern::Allowed,
            Show::Files | Show::Lines | Show::Count => NulPattern::Refused,
        };
        let query = Query::new(self.pattern, include, nul, turn, stop_check)?;
        let most = match target.is_file() {
            true => offset.saturating_add(limit),
            false => MAX_LINES_PER_FILE,
        };
        let (goal, unit) = match show {
            Show::Files => (Goal::Files, PageUnit::Files),
            Show::Lines => (Goal::Lines { most }, PageUnit::Lines),
            Show::Count => (Goal::Count, PageUnit::Files),
        };
        let newest = NewestPage::new(offset, limit, unit);
        let (counts, newest) = match turn.search_engine {
            SearchEngine::Embedded => {
                embedded::search(&query, goal, target, turn, stop_check, newest)
            }
            SearchEngine::Rg => rg_process::search(&query, goal, target, turn, stop_check, newest),
        }?;
        if (1..offset).contains(&newest.seen()) {
            return Err(ToolError::invalid_input("offset exceeds match count").into());
        }
        let (hits, next_offset) = newest.into_page();
        let mut path = target.path();
        let mut files: Vec<_> =
            hits.iter().map(|hit| escape::text(&hit.path).into_owned()).collect();
        let found = match show {
            Show::Files => Found::Files,
            Show::Lines => {
                let groups = if context > 0 { Groups::Separated } else { Groups::Joined };
                let found = page_lines::read(&query, target, hits, context, most, stop_check)?;
                files = found.iter().map(|file| escape::text(&file.path).into_owned()).collect();
                Found::Lines(MatchPage { files: found, in_one_file: target.is_file(), groups })
            }
            Show::Count => {
                if target.is_file() {
                    path = path.parent().unwrap_or(path);
                }
                Found::Count(hits.into_iter().map(|hit| FileCount::new(hit, path)).collect())
            }
        };
        Ok(GrepFilesReport {
            files,
            found,
            offset,
            next_offset,
            // `rg` does not report it.
            searched: (turn.search_engine == SearchEngine::Embedded).then_some(counts.searched),
            skipped: counts.skipped,
            unreadable: counts.unreadable.iter().map(|path| shown(path)).collect(),
            withheld_bytes: 0,
            path: shown(path),
            hint: include.filter(|glob| is_anchored(glob)).map(|_| ANCHORED_GLOB_HINT),
        })
    }
}

/// Added to an empty result if `include` contains a slash.
const ANCHORED_GLOB_HINT: &str =
    "[include has a /, so it starts at the working directory, not at path]";

/// Whether a glob starts at the working directory instead of matching names at any depth.
fn is_anchored(glob: &str) -> bool {
    let glob = glob.strip_prefix('!').unwrap_or(glob);
    glob.contains('/') && !glob.starts_with("**/")
}

fn checked_context(context: u64, show: Show) -> Result<usize, ToolError> {
    if context > MAX_CONTEXT {
        return Err(ToolError::invalid_input(format!("context must be at most {MAX_CONTEXT}")));
    }
    if context > 0 && show != Show::Lines {
        return Err(ToolError::invalid_input("context requires show: \"lines\""));
    }
    Ok(usize::try_from(context).unwrap_or_default())
}
