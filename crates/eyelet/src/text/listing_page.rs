//! Selects and formats the entries of one page of a directory listing.

use crate::error::{ErrorCode, Hint, ToolError};
use crate::limits::MAX_ANSWER_BYTES;
use crate::output::too_large_answer;
use crate::text::entry_tree::{EntryKind, EntryName, EntryNode, EntryTree};
use crate::text::reply_budget::{ReplyBudget, TextSize};
use crate::text::truncate;

/// Longer names are truncated to this many bytes.
pub const MAX_ENTRY_LENGTH: usize = 500;
/// Each level is indented by this many spaces.
pub const INDENTATION_SPACES: usize = 2;

/// One entry of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedEntry {
    /// The last component of its path, escaped for display, not truncated.
    pub name: String,
    /// How many directories are between it and the listed directory.
    pub depth: usize,
    /// What it is.
    pub kind: EntryKind,
}

impl ListedEntry {
    pub(crate) fn write_line(&self, line: &mut String) {
        line.extend(std::iter::repeat_n(' ', self.depth * INDENTATION_SPACES));
        line.push_str(truncate::at_most(&self.name, MAX_ENTRY_LENGTH));
        match self.kind {
            EntryKind::File => {}
            EntryKind::Directory => line.push('/'),
            EntryKind::Symlink => line.push('@'),
            EntryKind::Other => line.push('?'),
        }
    }
}

/// The length of an entry's line, including the newline.
fn line_bytes(level: usize, name: &EntryName) -> usize {
    let shown = name.shown();
    let shown = match shown.len() > MAX_ENTRY_LENGTH {
        true => truncate::at_most(&String::from_utf8_lossy(shown), MAX_ENTRY_LENGTH).len(),
        false => shown.len(),
    };
    let suffix = usize::from(name.kind != EntryKind::File);
    level * INDENTATION_SPACES + shown + suffix + 1
}

/// The line that announces more entries, starting with a newline.
pub(crate) fn more_than(entries: usize) -> String {
    format!("\nMore than {entries} entries found")
}

/// The page so far, and the directories that lead to the rest.
pub(crate) struct ListingPage {
    tree: EntryTree,
    skip: usize,
    take: usize,
    seen: usize,
    /// Ids and line lengths, in the order in which the entries were found.
    page: Vec<(usize, usize)>,
    page_bytes: usize,
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
            page_bytes: 0,
            room: TextSize::UNLIMITED,
        }
    }

    /// Limits the page to what a reply can show after a header of `header` bytes.
    pub(crate) fn within(mut self, budget: ReplyBudget, header: usize) -> Self {
        self.room = budget.beside(header, 1);
        self
    }

    /// How many more entries to find: those of the page, and one to know whether more follow.
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
        let mut line = None;
        if on_page {
            let bytes = line_bytes(level, &name);
            let wanted = TextSize { bytes: self.page_bytes + bytes, lines: self.page.len() + 1 };
            if wanted.bytes > MAX_ANSWER_BYTES {
                return Err(too_large_answer());
            }
            if wanted.fits(self.room) {
                self.page_bytes = wanted.bytes;
                line = Some(bytes);
            } else {
                self.take = self.page.len();
            }
        }
        if line.is_none() && !descend {
            return Ok(None);
        }
        let id = self.tree.add(EntryNode { parent, level, name });
        self.page.extend(line.map(|bytes| (id, bytes)));
        Ok(descend.then_some(id))
    }

    /// The sorted entries of the page, and whether more follow.
    ///
    /// # Errors
    /// `too_large` if a reply cannot show a single entry.
    pub(crate) fn into_page(mut self) -> Result<(Vec<ListedEntry>, bool), ToolError> {
        let is_cut = self.seen > self.skip.saturating_add(self.page.len());
        while is_cut && !self.room_for_more_line() {
            // Pages are in the order in which entries were found.
            let Some((_, bytes)) = self.page.pop() else { break };
            self.page_bytes -= bytes;
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
        for (id, _) in &self.page {
            if let Some(place) =
                sorted_positions.get(*id).and_then(|place| by_place.get_mut(*place))
            {
                *place = Some(*id);
            }
        }
        let entry = |id| {
            let node = self.tree.node_mut(id)?;
            let (depth, kind) = (node.level, node.name.kind);
            Some(ListedEntry { name: node.name.take_shown(), depth, kind })
        };
        Ok((by_place.into_iter().flatten().filter_map(entry).collect(), is_cut))
    }

    fn room_for_more_line(&self) -> bool {
        let line = more_than(self.page.len()).len();
        TextSize { bytes: self.page_bytes + line, lines: self.page.len() + 1 }.fits(self.room)
    }
}
