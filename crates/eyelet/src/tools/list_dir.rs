//! `list_dir`: lists a directory, a few levels deep, a page at a time.
//!
//! Finds entries breadth first, takes the page from that order and sorts only the page. Reads no
//! directory that the page does not need.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

use super::input_schema::{name, object, string, whole_number};
use crate::args;
use crate::argument_names::{OtherName, OtherNames, deserialize_with_names};
use crate::cancel::StopCheck;
use crate::context::TurnContext;
use crate::error::{Hint, ToolError};
use crate::facts::Facts;
use crate::fs::directory::Directory;
use crate::fs::tree_descent::TreeDescent;
use crate::limits::{Limit, TIME_LIMIT};
use crate::output::{Report, TextData};
use crate::paths::confined_path::OpenFailure;
use crate::progress::Progress;
use crate::search::ignore::rules::{Ignored, RuleLevel};
use crate::search::listing_rules::ListingRules;
use crate::text::entry_tree::{EntryKind, EntryName};
use crate::text::escape;
use crate::text::listing_page::{self, ListingPage};
pub use crate::text::listing_page::{INDENTATION_SPACES, ListedEntry, MAX_ENTRY_LENGTH};
use crate::tool::{Load, Tool, ToolDefinition};

/// The default number of entries per page.
pub const DEFAULT_LIMIT: u64 = 25;
/// The default number of levels that a listing shows.
pub const DEFAULT_DEPTH: u64 = 2;

/// The tool `list_dir`: lists a directory.
#[derive(Clone, Copy, Debug)]
pub struct ListDir;

/// The arguments of `list_dir`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ListDirArgs {
    /// The directory to list, as an absolute path.
    pub dir_path: String,
    /// The number of the first entry of the page, counting from 1.
    #[serde(default, deserialize_with = "args::number")]
    pub offset: Option<u64>,
    /// The maximum number of entries on the page.
    #[serde(default, deserialize_with = "args::number")]
    pub limit: Option<u64>,
    /// The number of levels to list; 1 lists only the directory's own entries.
    #[serde(default, deserialize_with = "args::number")]
    pub depth: Option<u64>,
    /// Whether to list `.git` and entries that an ignore rule excludes. The default is
    /// [`Ignored::Show`].
    #[serde(default, deserialize_with = "args::blank_name_as_none")]
    pub ignored: Option<Ignored>,
}

impl<'de> Deserialize<'de> for ListDirArgs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const NAMES: OtherNames = &[("path", OtherName::Means("dir_path"))];
        deserialize_with_names(deserializer, NAMES, ListDirArgs::deserialize)
    }
}

impl ListDirArgs {
    /// Creates arguments that list the first page of `dir_path`, with the default for every other
    /// argument.
    pub fn new(dir_path: impl Into<String>) -> Self {
        ListDirArgs { dir_path: dir_path.into(), ..ListDirArgs::default() }
    }
}

/// The result of `list_dir`: one page of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListDirReport {
    /// The directory as requested, escaped for display.
    pub dir_path: String,
    /// The number of the first entry of the page, counting from 1.
    pub offset: u64,
    /// The entries of the page, sorted by relative path.
    pub entries: Vec<ListedEntry>,
    /// The offset of the next page, if more entries follow.
    pub next_offset: Option<u64>,
    /// How many entries were skipped because an ignore rule excludes them, in the directories that
    /// were read for this page. An ignored directory counts as one entry.
    pub ignored: u64,
}

impl Tool for ListDir {
    type Args = ListDirArgs;
    type Report = ListDirReport;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "list_dir",
            format!(
                "Lists a directory, by default {DEFAULT_DEPTH} levels deep and {DEFAULT_LIMIT} entries \
                 per page; for large trees use depth 1 or a larger limit. Entries are indented below \
                 their directory; / marks a directory, … one shown in part, @ a symlink (not \
                 followed), ? a special file. After `More than N entries found`, continue with \
                 offset increased by N."
            ),
        )
        .with_title("List a directory")
        .with_input_schema(object(
            "dir_path",
            json!({
                "dir_path": string("Absolute path."),
                "offset": whole_number("First entry, from 1."),
                "limit": whole_number("Entries per page."),
                "depth": whole_number("Number of levels."),
                "ignored": name(
                    Ignored::NAMES,
                    ".git and ignored files (.gitignore). Default show."
                )
            }),
        ))
        .read_only()
        .with_load(Load::Walk)
        .with_counts("entries read")
        .with_limits(vec![
            Limit::new("entries per page, by default", DEFAULT_LIMIT, "entries")
                .beyond("the reply says `More than N entries found`; continue with offset"),
            Limit::new("levels, by default", DEFAULT_DEPTH, "levels")
                .beyond("deeper entries are not listed; increase depth"),
            Limit::new("length of a name", MAX_ENTRY_LENGTH as u64, "bytes")
                .beyond("the name is truncated"),
        ])
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
            // The seed fixes the message.
            let cwd = escape::name(turn.cwd().as_os_str()).into_owned();
            return Err(ToolError::invalid_input("dir_path must be an absolute path")
                .with_hint(Hint::WorkingDirectory(cwd)));
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
        let rules = match args.ignored {
            Some(Ignored::Skip) => Some(ListingRules::new(turn, path.shown())),
            Some(Ignored::Show) | None => None,
        };
        let listing = Listing {
            top: &directory,
            depth,
            rules: rules.as_ref(),
            stop_check: &stop_check,
            progress: &turn.progress,
        };
        listing.read(&mut page, unreadable)?;
        let (is_empty, ignored) = (page.is_empty(), page.ignored);
        let (entries, more) = page.into_page()?;
        if entries.is_empty() && !is_empty {
            return Err(ToolError::invalid_input("offset exceeds directory entry count"));
        }
        let next_offset = more.then(|| offset.saturating_add(entries.len() as u64));
        Ok(ListDirReport { dir_path, offset, entries, next_offset, ignored })
    }
}

impl ListDirReport {
    /// Returns the first line of the text form, which names the directory.
    pub fn header(&self) -> String {
        header(&self.dir_path)
    }

    /// Returns the last line of the text form, if more entries follow the page.
    pub fn more_line(&self) -> Option<String> {
        self.next_offset.map(|_| listing_page::more_than(self.entries.len()))
    }
}

impl Report for ListDirReport {
    fn content(&self) -> String {
        let bytes: usize = self.entries.iter().map(|entry| entry.name.len() + 16).sum();
        let mut content = String::with_capacity(self.dir_path.len() + bytes + 64);
        content.push_str(&self.header());
        for entry in &self.entries {
            content.push('\n');
            entry.write_line(&mut content);
        }
        if let Some(line) = self.more_line() {
            content.push('\n');
            content.push_str(&line);
        }
        content
    }

    fn success(&self) -> bool {
        true
    }

    fn reply(&self) -> String {
        let mut reply = self.header();
        for entry in &self.entries {
            reply.push('\n');
            entry.write_reply_line(&mut reply);
        }
        if self.ignored > 0 {
            reply.push('\n');
            reply.push_str(&listing_page::ignored_line(self.ignored));
        }
        if let Some(offset) = self.next_offset {
            reply.push('\n');
            reply.push_str(&listing_page::more_with_offset(self.entries.len(), offset));
        }
        reply
    }

    fn next_offset(&self) -> Option<u64> {
        self.next_offset
    }

    fn facts(&self) -> Facts {
        Facts::page(self.offset, self.entries.len() as u64)
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

/// A listing that reads directories level by level until the page is complete.
struct Listing<'l> {
    top: &'l Directory,
    depth: u64,
    /// None if ignored entries are listed.
    rules: Option<&'l ListingRules<'l>>,
    stop_check: &'l StopCheck,
    progress: &'l Progress,
}

/// The rules of a directory, if rules apply.
type Level = Option<Arc<RuleLevel>>;

impl Listing<'_> {
    fn read(
        &self,
        page: &mut ListingPage,
        unreadable: impl Fn(&std::io::Error) -> ToolError,
    ) -> Result<(), ToolError> {
        let above: Level = self.rules.map(ListingRules::above);
        let mut queue = VecDeque::from([(None, above)]);
        let mut descent = TreeDescent::new(self.top);
        while let Some((directory, above)) = queue.pop_front() {
            if page.is_certain() {
                break;
            }
            let read = descent.open(page.tree(), directory).and_then(|opened| {
                self.read_sorted(opened.as_ref().unwrap_or(self.top), directory, above, page)
            });
            let is_read = read.is_ok();
            let (names, rules) = match read {
                Ok(read) => read,
                Err(error) if directory.is_none() => return Err(unreadable(&error)),
                Err(_) => (Vec::new(), None),
            };
            self.progress.add(names.len() as u64);
            self.top.check_complete().map_err(|error| unreadable(&error))?;
            self.stop_check.check().map_err(|stop| stop.error("list_dir", self.stop_check))?;
            let level = directory.map_or(0, |id| page.tree().level(id) + 1);
            for name in names {
                let descend = name.kind == EntryKind::Directory && (level as u64) < self.depth - 1;
                if let Some(id) = page.add(directory, level, name, descend)? {
                    queue.push_back((Some(id), rules.clone()));
                }
                if page.is_certain() {
                    return Ok(());
                }
            }
            // A directory that could not be read stays marked: it may have entries.
            if is_read {
                directory.into_iter().for_each(|id| page.complete(id));
            }
        }
        Ok(())
    }

    /// The first names of a directory that the page may need, sorted, and its rules.
    fn read_sorted(
        &self,
        opened: &Directory,
        directory: Option<usize>,
        above: Level,
        page: &mut ListingPage,
    ) -> std::io::Result<(Vec<EntryName>, Level)> {
        let mut names = FirstNames::new(page.wanted());
        let (Some(rules), Some(above)) = (self.rules, above) else {
            let mut count = 0_usize;
            opened.each(|name, kind| {
                count += 1;
                // The caller checks again and reports the stop.
                if count % 4096 == 0 && self.stop_check.check().is_err() {
                    return ControlFlow::Break(());
                }
                names.add(name, kind);
                ControlFlow::Continue(())
            })?;
            return Ok((names.into_sorted(), None));
        };
        let below = directory.map(|id| page.tree().path(id)).unwrap_or_default();
        let (level, ignored) =
            rules.read(opened, &above, &below, self.stop_check, |name, kind| {
                names.add(name, kind)
            })?;
        page.ignored += ignored;
        Ok((names.into_sorted(), Some(level)))
    }
}

/// The first `wanted` names in sort order. Holds at most twice as many.
struct FirstNames {
    names: Vec<EntryName>,
    wanted: usize,
    /// The index of the last name that can be on the page, once names were dropped.
    largest: Option<usize>,
}

impl FirstNames {
    fn new(wanted: usize) -> Self {
        FirstNames { names: Vec::new(), wanted, largest: None }
    }

    fn add(&mut self, name: &OsStr, kind: EntryKind) {
        let largest = self.largest.and_then(|at| self.names.get(at));
        if largest.is_some_and(|largest| largest.is_before(name)) {
            return;
        }
        self.names.push(EntryName::new(name.to_owned(), kind));
        if self.names.len() / 2 >= self.wanted {
            let last = self.wanted.saturating_sub(1);
            self.names.select_nth_unstable_by(last, EntryName::order);
            self.names.truncate(self.wanted);
            self.largest = Some(last);
        }
    }

    fn into_sorted(mut self) -> Vec<EntryName> {
        self.names.sort_unstable_by(EntryName::order);
        self.names
    }
}
