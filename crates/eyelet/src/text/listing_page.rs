//! Selects and formats the entries of one page of a directory listing.

use std::collections::HashSet;

use crate::error::{ErrorCode, Hint, ToolError};
use crate::limits::MAX_ANSWER_BYTES;
use crate::output::too_large_answer;
use crate::text::entry_tree::{EntryKind, EntryName, EntryNode, EntryTree};
use crate::text::number::counted;
use crate::text::reply_budget::{ReplyBudget, TextSize};
use crate::text::truncate;

/// The maximum length of a displayed name in bytes. Longer names are truncated.
pub const MAX_ENTRY_LENGTH: usize = 500;
/// The number of spaces by which each level of a listing is indented.
pub const INDENTATION_SPACES: usize = 2;

/// One entry of a page of a directory listing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedEntry {
    /// The last component of the path of the entry, escaped for display, not truncated.
    pub name: String,
    /// How many directories are between this entry and the listed directory.
    pub depth: usize,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// Whether entries of this directory are missing from the page although they are within `depth`,
    /// for example because eyelet could not read the directory.
    pub is_partial: bool,
    /// The path of the parent directory, if the parent directory is not on this page. Relative to the
    /// listed directory, escaped for display and possibly shortened. Set only for the first entry of
    /// each such directory on the page.
    pub directory: Option<String>,
}

impl ListedEntry {
    /// Returns the name as a listing shows it: at most [`MAX_ENTRY_LENGTH`] bytes, without the
    /// suffix of its kind.
    pub fn shown_name(&self) -> &str {
        truncate::at_most(&self.name, MAX_ENTRY_LENGTH)
    }

    /// The line of the seed's listing.
    pub(crate) fn write_line(&self, line: &mut String) {
        line.extend(std::iter::repeat_n(' ', self.depth * INDENTATION_SPACES));
        line.push_str(self.shown_name());
        line.push_str(self.kind.suffix());
    }

    /// The line for a model, which can be understood on any page.
    pub(crate) fn write_reply_line(&self, line: &mut String) {
        if let Some(directory) = &self.directory {
            line.push_str(&format!("[in {directory}/]\n"));
        }
        self.write_line(line);
        if self.is_partial {
            line.push_str(PARTIAL);
        }
    }
}

/// Marks a directory whose entries are not all on the page.
const PARTIAL: &str = " …";

/// The most bytes of a path in `[in …]`.
const MAX_DIRECTORY_BYTES: usize = 1000;

/// The length of an entry's line, including the newline.
fn line_bytes(level: usize, name: &EntryName) -> usize {
    let shown = name.shown();
    let shown = match shown.len() > MAX_ENTRY_LENGTH {
        true => truncate::at_most(&String::from_utf8_lossy(shown), MAX_ENTRY_LENGTH).len(),
        false => shown.len(),
    };
    level * INDENTATION_SPACES + shown + name.kind.suffix().len() + 1
}

/// The line that announces more entries.
pub(crate) fn more_than(entries: usize) -> String {
    format!("More than {entries} entries found")
}

/// The same for a model.
pub(crate) fn more_with_offset(entries: usize, next_offset: u64) -> String {
    format!("{}; next offset {next_offset}", more_than(entries))
}

/// The line that says how many ignored entries were skipped.
pub(crate) fn ignored_line(ignored: u64) -> String {
    format!("[{} skipped]", counted(ignored, "ignored entry", "ignored entries"))
}

/// An entry of the page, and the size of its lines.
struct PageEntry {
    id: usize,
    size: TextSize,
}

/// The page so far, and the directories that lead to the rest.
pub(crate) struct ListingPage {
    tree: EntryTree,
    skip: usize,
    take: usize,
    seen: usize,
    /// The entries of the page, in the order in which they were found.
    page: Vec<PageEntry>,
    /// The size of the page's lines.
    size: TextSize,
    /// The directories on the page whose entries are not all on it, as far as known.
    partial: HashSet<usize>,
    /// The directories that are not on the page but have entries on it.
    named: HashSet<usize>,
    /// The entries that ignore rules exclude.
    pub(crate) ignored: u64,
    /// The room for the page after its header.
    room: TextSize,
}

impl ListingPage {
    pub(crate) fn new(skip: usize, take: usize) -> Self {
        ListingPage {
            tree: EntryTree::default(),
            skip,
            take,
            seen: 0,
            page: Vec::new(),
            size: TextSize { bytes: 0, lines: 0 },
            partial: HashSet::new(),
            named: HashSet::new(),
            ignored: 0,
            room: TextSize::UNLIMITED,
        }
    }

    /// Limits the page to what a reply can show after a header of `header` bytes.
    pub(crate) fn within(mut self, budget: ReplyBudget, header: usize) -> Self {
        self.room = budget.beside(header, 1);
        self
    }

    /// How many more entries to find: the entries of the page, and one more to know whether more
    /// follow.
    pub(crate) fn wanted(&self) -> usize {
        self.skip.saturating_add(self.take).saturating_add(1).saturating_sub(self.seen)
    }

    pub(crate) fn is_certain(&self) -> bool {
        self.wanted() == 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.seen == 0
    }

    pub(crate) fn tree(&self) -> &EntryTree {
        &self.tree
    }

    /// Adds an entry. Returns its id if its children have to be listed.
    pub(crate) fn add(
        &mut self,
        parent: Option<usize>,
        level: usize,
        name: EntryName,
        descend: bool,
    ) -> Result<Option<usize>, ToolError> {
        let on_page = self.seen >= self.skip && self.page.len() < self.take;
        self.seen += 1;
        let mut size = None;
        if on_page {
            let new_directory = parent.filter(|id| !self.is_on_page(*id) && self.named.insert(*id));
            let lines = self.lines_of(level, &name, descend, new_directory);
            let wanted = self.size.plus(lines);
            if wanted.bytes > MAX_ANSWER_BYTES {
                return Err(too_large_answer());
            }
            if wanted.fits(self.room) {
                self.size = wanted;
                size = Some(lines);
            } else {
                self.take = self.page.len();
            }
        }
        if size.is_none() && !descend {
            return Ok(None);
        }
        let id = self.tree.add(EntryNode { parent, level, name });
        if let Some(size) = size {
            self.page.push(PageEntry { id, size });
            if descend {
                self.partial.insert(id);
            }
        }
        Ok(descend.then_some(id))
    }

    /// Entries are found in the order of their ids, so the page is a range of ids, with gaps.
    fn is_on_page(&self, id: usize) -> bool {
        self.page.binary_search_by_key(&id, |entry| entry.id).is_ok()
    }

    /// The size of an entry's lines in a reply, including the newlines.
    fn lines_of(
        &self,
        level: usize,
        name: &EntryName,
        descend: bool,
        new_directory: Option<usize>,
    ) -> TextSize {
        let line = line_bytes(level, name) + if descend { PARTIAL.len() } else { 0 };
        match new_directory.map(|id| self.directory(id)) {
            Some(directory) => {
                TextSize { bytes: line + directory.len() + "[in /]\n".len(), lines: 2 }
            }
            None => TextSize { bytes: line, lines: 1 },
        }
    }

    /// The path of a directory relative to the top.
    fn directory(&self, id: usize) -> String {
        let mut names = Vec::new();
        let mut node = self.tree.node(id);
        while let Some(here) = node {
            names.push(
                truncate::at_most(&String::from_utf8_lossy(here.name.shown()), MAX_ENTRY_LENGTH)
                    .to_owned(),
            );
            node = self.tree.parent(here).map(|(_, parent)| parent);
        }
        names.reverse();
        truncate::middle(names.join("/"), MAX_DIRECTORY_BYTES)
    }

    /// All entries of a directory were added.
    pub(crate) fn complete(&mut self, id: usize) {
        self.partial.remove(&id);
    }

    /// The sorted entries of the page, and whether more follow.
    ///
    /// # Errors
    /// `too_large` if a reply cannot show a single entry.
    pub(crate) fn into_page(mut self) -> Result<(Vec<ListedEntry>, bool), ToolError> {
        let mut is_cut = self.seen > self.skip.saturating_add(self.page.len());
        while !self.with_last_lines(is_cut).fits(self.room) {
            // Pages are in the order in which entries were found.
            let Some(PageEntry { id, size }) = self.page.pop() else { break };
            self.size = self.size.minus(size);
            self.partial.extend(self.tree.node(id).and_then(|node| node.parent));
            is_cut = true;
        }
        if self.page.is_empty() && self.seen > self.skip {
            return Err(ToolError::new(
                ErrorCode::TooLarge,
                "the reply limit is too small for a single entry",
            )
            .with_hint(Hint::RaiseReplyLimit));
        }
        let sorted_positions = self.tree.sorted_positions();
        let mut by_place = vec![None; sorted_positions.len()];
        for PageEntry { id, .. } in &self.page {
            if let Some(place) =
                sorted_positions.get(*id).and_then(|place| by_place.get_mut(*place))
            {
                *place = Some(*id);
            }
        }
        let mut last_named = None;
        let entry = |id| {
            let parent = self.tree.node(id)?.parent;
            let named = parent.filter(|parent| !self.is_on_page(*parent));
            let is_new = named.is_some() && named != last_named;
            last_named = named.or(last_named);
            let directory = named.filter(|_| is_new).map(|id| self.directory(id));
            let is_partial = self.partial.contains(&id);
            let node = self.tree.node_mut(id)?;
            let (depth, kind) = (node.level, node.name.kind);
            Some(ListedEntry { name: node.name.take_shown(), depth, kind, is_partial, directory })
        };
        Ok((by_place.into_iter().flatten().filter_map(entry).collect(), is_cut))
    }

    /// The size of the page with the lines after its entries.
    fn with_last_lines(&self, is_cut: bool) -> TextSize {
        let mut size = self.size;
        if self.ignored > 0 {
            let bytes = "\n".len() + ignored_line(self.ignored).len();
            size = size.plus(TextSize { bytes, lines: 1 });
        }
        if is_cut {
            let next = self.skip.saturating_add(self.page.len()).saturating_add(1);
            let bytes = "\n".len() + more_with_offset(self.page.len(), next as u64).len();
            size = size.plus(TextSize { bytes, lines: 1 });
        }
        size
    }
}
