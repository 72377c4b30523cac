//! `find_files`: finds files whose names match a glob, newest first, a page at a time.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use super::input_schema::{name, object, string, whole_number};
use super::search_page::{
    DEFAULT_LIMIT, MAX_LIMIT, NOTHING, check_page, check_text, fit_paths, more_files_line,
    not_opened, searched_line, shown, total,
};
use crate::args;
use crate::cancel::Stop;
use crate::context::TurnContext;
use crate::error::ToolError;
use crate::facts::Facts;
use crate::limits::{Limit, TIME_LIMIT};
use crate::output::Report;
use crate::search::find_names::NameSearch;
use crate::search::ignore::rules::{self, Ignored};
use crate::search::outcome::{SearchFailure, SkippedFiles};
use crate::search::target::Target;
use crate::text::escape;
use crate::text::newest_page::{NewestPage, PageUnit};
use crate::text::number::counted;
use crate::tool::{Load, Tool, ToolDefinition};

/// The tool `find_files`: finds files by name.
#[derive(Clone, Copy, Debug)]
pub struct FindFiles;

/// The arguments of `find_files`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindFilesArgs {
    /// The glob. Without a `/`, the glob matches names at any depth; with a `/`, it matches paths
    /// below `path`.
    pub pattern: String,
    /// The directory to search. The default is the working directory.
    #[serde(default, deserialize_with = "args::blank_as_none")]
    pub path: Option<String>,
    /// The maximum number of files on the page.
    #[serde(default, deserialize_with = "args::number")]
    pub limit: Option<u64>,
    /// The number of the first match of the page, counting from 1.
    #[serde(default, deserialize_with = "args::number")]
    pub offset: Option<u64>,
    /// Whether to find hidden and ignored files. The default is [`Ignored::Skip`].
    #[serde(default, deserialize_with = "args::blank_name_as_none")]
    pub ignored: Option<Ignored>,
}

impl FindFilesArgs {
    /// Creates arguments that find the files in the working directory that match `pattern`, with
    /// the default for every other argument.
    pub fn new(pattern: impl Into<String>) -> Self {
        FindFilesArgs { pattern: pattern.into(), ..FindFilesArgs::default() }
    }
}

/// The result of `find_files`: one page of files, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FindFilesReport {
    /// The absolute paths of the files on the page, escaped for display.
    pub files: Vec<String>,
    /// The number of the first match of the page, counting from 1.
    pub offset: u64,
    /// The offset of the next page, if more files match.
    pub next_offset: Option<u64>,
    /// How many files the glob was compared with. If a file matches, this number and the numbers in
    /// `skipped` do not count all files.
    pub searched: u64,
    /// The numbers of skipped files, by reason.
    pub skipped: SkippedFiles,
    /// The paths of the first files and directories that could not be read, escaped for display.
    pub unreadable: Vec<String>,
    /// How many hidden and ignored files match the glob. Set only if no other file matches.
    pub hidden_matches: u64,
    /// How many bytes of paths did not fit into the reply budget.
    pub withheld_bytes: u64,
}

impl Tool for FindFiles {
    type Args = FindFilesArgs;
    type Report = FindFilesReport;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "find_files",
            format!(
                "Finds files by name and returns their absolute paths, newest first, {DEFAULT_LIMIT} \
                 per page by default (maximum {MAX_LIMIT}). To continue, increase offset by the number \
                 of files."
            ),
        )
        .with_title("Find files by name")
        .with_input_schema(object(
            "pattern",
            json!({
                "pattern": string(
                    "Glob such as *.rs or src/**/*.ts; with a / it starts at path, without one it matches \
                     at any depth."
                ),
                "path": string("Default: the working directory."),
                "limit": whole_number("Files per page."),
                "offset": whole_number("First file, from 1."),
                "ignored": name(
                    Ignored::NAMES,
                    "Hidden and ignored files (.gitignore). Default skip."
                )
            }),
        ))
        .read_only()
        .with_load(Load::Walk)
        .with_counts("files searched")
        .with_limits(vec![
            Limit::new("files per page, by default", DEFAULT_LIMIT, "files")
                .beyond("continue with offset"),
            Limit::new("files per page, maximum", MAX_LIMIT, "files")
                .beyond("a higher limit is reduced to the maximum; continue with offset"),
        ])
    }

    fn run(&self, args: FindFilesArgs, turn: &TurnContext) -> Result<FindFilesReport, ToolError> {
        let pattern = args.pattern.trim();
        let limit = args.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
        let offset = args.offset.unwrap_or(1);
        let ignored = args.ignored.unwrap_or(Ignored::Skip);
        check_page(pattern, limit, offset)?;
        check_text("pattern", pattern)?;
        if pattern.starts_with('!') {
            return Err(ToolError::invalid_input("pattern must not start with !"));
        }
        let stop_check = turn.stop_check(TIME_LIMIT);
        let requested = args.path.as_deref().or(turn.cwd().to_str()).unwrap_or_default();
        let path = turn.resolve_path("path", requested)?;
        let target = Target::open_dir(&path).map_err(|failure| not_opened(&path, failure))?;
        let glob = rules::compile_glob("pattern", &plain_glob(pattern), target.path())?;

        let search = NameSearch { glob: &glob, target: &target, turn, stop_check: &stop_check };
        let describe = |failure| match failure {
            SearchFailure::Failed(error) => error,
            SearchFailure::Stopped(stop) => stop.error("find_files", &stop_check),
        };
        let mut newest = NewestPage::new(offset, limit, PageUnit::Files);
        let counts = search.find(ignored, &mut newest).map_err(describe)?;
        if (1..offset).contains(&newest.seen()) {
            return Err(ToolError::invalid_input("offset exceeds match count"));
        }
        let mut hidden_matches = 0;
        if newest.seen() == 0 && ignored == Ignored::Skip {
            hidden_matches = match search.count(Ignored::Show) {
                // The first walk was complete, so its result holds.
                Err(SearchFailure::Stopped(Stop::TimedOut)) => 0,
                count => count.map_err(describe)?,
            };
        }
        let (hits, mut next_offset) = newest.into_page();
        let mut files: Vec<_> =
            hits.iter().map(|hit| escape::text(&hit.path).into_owned()).collect();
        let withheld_bytes = turn.reply_budget.map_or(0, |budget| fit_paths(&mut files, budget));
        if withheld_bytes > 0 {
            next_offset = Some(offset.saturating_add(files.len() as u64));
        }
        let (searched, skipped) = (counts.searched, counts.skipped);
        let unreadable = counts.unreadable.iter().map(|path| shown(path)).collect();
        Ok(FindFilesReport {
            files,
            offset,
            next_offset,
            searched,
            skipped,
            unreadable,
            hidden_matches,
            withheld_bytes,
        })
    }
}

/// The glob as a rule of an ignore file: `#` starts no comment, and paths start without `./`.
fn plain_glob(pattern: &str) -> String {
    let pattern = pattern.strip_prefix("./").map_or(pattern.to_owned(), |rest| format!("/{rest}"));
    if pattern.starts_with('#') { format!("\\{pattern}") } else { pattern }
}

impl Report for FindFilesReport {
    fn content(&self) -> String {
        if self.files.is_empty() { NOTHING.to_owned() } else { self.files.join("\n") }
    }

    fn success(&self) -> bool {
        !self.files.is_empty()
    }

    fn reply(&self) -> String {
        let mut reply = self.content();
        if self.files.is_empty() {
            reply.push('\n');
            reply.push_str(&searched_line(self.searched, &self.skipped));
        }
        if self.hidden_matches > 0 {
            let matches = counted(
                self.hidden_matches,
                "hidden or ignored file matches",
                "hidden or ignored files match",
            );
            reply.push_str(&format!("\n{matches}; use ignored: \"show\""));
        }
        if let Some(offset) = self.next_offset {
            reply.push_str(&more_files_line(self.files.len(), offset));
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
        let found = self.files.len() as u64;
        Facts::page(self.offset, found).with_found(found)
    }
}

/// The `data` of the envelope.
#[derive(Serialize)]
struct FindData {
    content: String,
    success: bool,
    files: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

impl Serialize for FindFilesReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let files = self.files.len();
        let total = total(self.offset, files as u64, self.next_offset);
        let (content, success, next_offset) = (self.content(), self.success(), self.next_offset);
        FindData { content, success, files, total, next_offset }.serialize(serializer)
    }
}
