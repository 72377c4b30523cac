//! `list_dir`: lists a directory, a few levels deep, a page at a time.
//!
//! Finds entries breadth first, takes the page from that order and sorts only the page. Reads no
//! directory that the page does not need.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use super::input_schema::{object, string, whole_number};
use crate::args;
use crate::cancel::StopCheck;
use crate::context::TurnContext;
use crate::error::{Hint, ToolError};
use crate::fs::directory::Directory;
use crate::fs::tree_descent::TreeDescent;
use crate::limits::{Limit, TIME_LIMIT};
use crate::output::{Report, TextData};
use crate::paths::confined_path::OpenFailure;
use crate::progress::Progress;
use crate::text::entry_tree::{EntryKind, EntryName};
use crate::text::escape;
use crate::text::listing_page::{self, ListingPage};
pub use crate::text::listing_page::{INDENTATION_SPACES, ListedEntry, MAX_ENTRY_LENGTH};
use crate::tool::{Load, Tool, ToolDefinition};

/// The default number of entries per page.
pub const DEFAULT_LIMIT: u64 = 25;
/// The default number of levels.
pub const DEFAULT_DEPTH: u64 = 2;

/// Lists a directory.
#[derive(Clone, Copy, Debug)]
pub struct ListDir;

/// The arguments of `list_dir`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListDirArgs {
    /// The directory, as an absolute path.
    pub dir_path: String,
    /// The first entry of the page, counting from 1.
    #[serde(default, deserialize_with = "args::number")]
    pub offset: Option<u64>,
    /// The maximum number of entries on the page.
    #[serde(default, deserialize_with = "args::number")]
    pub limit: Option<u64>,
    /// The number of levels to list; 1 lists only the directory's own entries.
    #[serde(default, deserialize_with = "args::number")]
    pub depth: Option<u64>,
}

impl ListDirArgs {
    /// Lists the first page of `dir_path`, with defaults for everything else.
    pub fn new(dir_path: impl Into<String>) -> Self {
        ListDirArgs { dir_path: dir_path.into(), ..ListDirArgs::default() }
    }
}

/// The result of `list_dir`: one page, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListDirReport {
    /// The directory as requested, escaped for display.
    pub dir_path: String,
    /// The entries of the page, sorted by relative path.
    pub entries: Vec<ListedEntry>,
    /// The offset of the next page, if more entries follow.
    pub next_offset: Option<u64>,
}

impl Tool for ListDir {
    type Args = ListDirArgs;
    type Report = ListDirReport;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "list_dir",
            title: "List a directory",
            description: format!(
                "Lists the entries of a directory, by default {DEFAULT_DEPTH} levels deep and \
                 {DEFAULT_LIMIT} entries per page. Entries are indented below their directory; \
                 the suffix / marks a directory, @ a symlink (not followed), ? a special file. \
                 If the last line is `More than N entries found`, continue with offset increased \
                 by N. To search file contents, use grep_files."
            ),
            input_schema: object(
                "dir_path",
                json!({
                    "dir_path": string("Directory to list, as an absolute path."),
                    "offset": whole_number("First entry to return, counting from 1. Default 1."),
                    "limit": whole_number(&format!(
                        "Maximum number of entries to return. Default {DEFAULT_LIMIT}."
                    )),
                    "depth": whole_number(&format!(
                        "Number of levels to list; 1 lists only the directory's own entries. \
                         Default {DEFAULT_DEPTH}."
                    ))
                }),
            ),
            read_only: true,
            load: Load::Walk,
            counts: "entries read",
            limits: vec![
                Limit::new("entries per page, by default", DEFAULT_LIMIT, "entries")
                    .beyond("reports `More than N entries found`; continue with offset"),
                Limit::new("levels, by default", DEFAULT_DEPTH, "levels")
                    .beyond("deeper entries are not listed; increase depth"),
                Limit::new("length of a name", MAX_ENTRY_LENGTH as u64, "bytes")
                    .beyond("the name is truncated"),
            ],
        }
    }

    fn run(&self, args: ListDirArgs, turn: &TurnContext) -> Result<ListDirReport, ToolError> {
        let offset = args.offset.unwrap_or(1);
        let limit = args.limit.unwrap_or(DEFAULT_LIMIT);
        let depth = args.depth.unwrap_or(DEFAULT_DEPTH);
        if offset == 0 {
            return Err(ToolError::invalid_input("offset must be a 1-indexed entry number"));
        }
        if limit == 0 {
            return Err(ToolError::invalid_input("limit must be greater than zero"));
        }
        if depth == 0 {
            return Err(ToolError::invalid_input("depth must be greater than zero"));
        }
        if !Path::new(&args.dir_path).is_absolute() {
            return Err(ToolError::invalid_input("dir_path must be an absolute path"));
        }
        let path = turn.resolve_path("dir_path", &args.dir_path)?;
        // The seed fixes the message, so the path is in the hint.
        let unreadable = |error: &std::io::Error| {
            let path = escape::text(&args.dir_path).into_owned();
            ToolError::io("failed to read directory", error).with_hint(Hint::Path(path))
        };
        let directory = Directory::open(&path).map_err(|failure| match failure {
            OpenFailure::Refused(error) => error,
            OpenFailure::Io(error) => unreadable(&error),
            OpenFailure::NotAFile => unreadable(&std::io::ErrorKind::NotADirectory.into()),
        })?;

        let skip = usize::try_from(offset - 1).unwrap_or(usize::MAX);
        let take = usize::try_from(limit).unwrap_or(usize::MAX);
        let stop_check = turn.stop_check(TIME_LIMIT);
        let dir_path = escape::text(&args.dir_path).into_owned();
        let mut page = ListingPage::new(skip, take);
        if let Some(budget) = turn.reply_budget {
            page = page.within(budget, header(&dir_path).len());
        }
        breadth_first(&directory, depth, &mut page, &stop_check, &turn.progress, unreadable)?;
        if page.is_empty() {
            return Ok(ListDirReport { dir_path, entries: Vec::new(), next_offset: None });
        }
        let (entries, more) = page.into_page()?;
        if entries.is_empty() {
            return Err(ToolError::invalid_input("offset exceeds directory entry count"));
        }
        let next_offset = more.then(|| offset.saturating_add(entries.len() as u64));
        Ok(ListDirReport { dir_path, entries, next_offset })
    }
}

impl Report for ListDirReport {
    fn content(&self) -> String {
        let bytes: usize = self.entries.iter().map(|entry| entry.name.len() + 16).sum();
        let mut content = String::with_capacity(self.dir_path.len() + bytes + 64);
        content.push_str(&header(&self.dir_path));
        for entry in &self.entries {
            content.push('\n');
            entry.write_line(&mut content);
        }
        if self.next_offset.is_some() {
            content.push_str(&listing_page::more_than(self.entries.len()));
        }
        content
    }

    fn success(&self) -> bool {
        true
    }

    fn next_offset(&self) -> Option<u64> {
        self.next_offset
    }
}

impl Serialize for ListDirReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TextData::new(self).serialize(serializer)
    }
}

fn header(dir_path: &str) -> String {
    format!("Absolute path: {dir_path}")
}

/// Lists directories level by level until the page is complete.
fn breadth_first(
    top: &Directory,
    depth: u64,
    page: &mut ListingPage,
    stop_check: &StopCheck,
    progress: &Progress,
    unreadable: impl Fn(&std::io::Error) -> ToolError,
) -> Result<(), ToolError> {
    let mut queue = VecDeque::from([None]);
    let mut descent = TreeDescent::new(top);
    while let Some(directory) = queue.pop_front() {
        if page.is_certain() {
            break;
        }
        let read = descent.open(page.tree(), directory).and_then(|opened| {
            read_sorted(opened.as_ref().unwrap_or(top), page.wanted(), stop_check)
        });
        let names = match read {
            Ok(names) => {
                progress.add(names.len() as u64);
                names
            }
            Err(error) if directory.is_none() => return Err(unreadable(&error)),
            Err(_) => Vec::new(),
        };
        top.check_complete().map_err(|error| unreadable(&error))?;
        stop_check.check().map_err(|stop| stop.error("list_dir", stop_check))?;
        let level = directory.map_or(0, |id| page.tree().level(id) + 1);
        for name in names {
            let descend = name.kind == EntryKind::Directory && (level as u64) < depth - 1;
            if let Some(id) = page.add(directory, level, name, descend)? {
                queue.push_back(Some(id));
            }
            if page.is_certain() {
                break;
            }
        }
    }
    Ok(())
}

/// The first `wanted` names of a directory, sorted. Holds at most twice as many.
fn read_sorted(
    directory: &Directory,
    wanted: usize,
    stop_check: &StopCheck,
) -> std::io::Result<Vec<EntryName>> {
    let mut names: Vec<EntryName> = Vec::new();
    let mut count = 0_usize;
    // The index of the last name that can be on the page, once names were dropped.
    let mut largest = None;
    directory.each(|name, kind| {
        count += 1;
        // The caller checks again and reports the stop.
        if count % 4096 == 0 && stop_check.check().is_err() {
            return ControlFlow::Break(());
        }
        let largest_name = largest.and_then(|at: usize| names.get(at));
        if largest_name.is_some_and(|largest| largest.is_before(name)) {
            return ControlFlow::Continue(());
        }
        names.push(EntryName::new(name.to_owned(), kind));
        if names.len() / 2 >= wanted {
            let last = wanted.saturating_sub(1);
            names.select_nth_unstable_by(last, EntryName::order);
            names.truncate(wanted);
            largest = Some(last);
        }
        ControlFlow::Continue(())
    })?;
    names.sort_unstable_by(EntryName::order);
    Ok(names)
}
