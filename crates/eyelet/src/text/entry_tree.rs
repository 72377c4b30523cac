//! The entries of a tree, sorted by displayed path, component by component.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};

use crate::names::named;
use crate::text::escape;

/// The kind of a directory entry. A symlink counts as a symlink, whatever its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symlink, whatever its target.
    Symlink,
    /// A FIFO, a socket or a device.
    Other,
}

named!(EntryKind, "kind of entry", {
    File = "file",
    Directory = "directory",
    Symlink = "symlink",
    Other = "other",
});

impl EntryKind {
    /// Returns the suffix that marks the kind in a listing: `/`, `@` or `?`; empty for a regular
    /// file.
    pub const fn suffix(self) -> &'static str {
        match self {
            EntryKind::File => "",
            EntryKind::Directory => "/",
            EntryKind::Symlink => "@",
            EntryKind::Other => "?",
        }
    }
}

/// A name on disk, and as displayed.
pub(crate) struct EntryName {
    pub(crate) raw: OsString,
    /// The displayed name if it differs from `raw`.
    escaped: Option<Box<str>>,
    pub(crate) kind: EntryKind,
}

impl EntryName {
    pub(crate) fn new(raw: OsString, kind: EntryKind) -> Self {
        let escaped = match escape::name(&raw) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(text.into()),
        };
        EntryName { raw, escaped, kind }
    }

    pub(crate) fn shown(&self) -> &[u8] {
        self.escaped.as_ref().map_or(self.raw.as_encoded_bytes(), |text| text.as_bytes())
    }

    /// By displayed name; equal ones by their bytes.
    pub(crate) fn order(&self, other: &EntryName) -> Ordering {
        self.shown().cmp(other.shown()).then_with(|| self.raw.cmp(&other.raw))
    }

    /// Whether it sorts before the name `raw`.
    pub(crate) fn is_before(&self, raw: &OsStr) -> bool {
        let shown = escape::name(raw);
        let order = self.shown().cmp(shown.as_bytes());
        order.then_with(|| self.raw.as_os_str().cmp(raw)).is_lt()
    }

    /// Moves the displayed name out.
    pub(crate) fn take_shown(&mut self) -> String {
        match self.escaped.take() {
            Some(text) => text.into(),
            // A name that needs no escaping is UTF-8.
            None => std::mem::take(&mut self.raw).into_string().unwrap_or_default(),
        }
    }
}

/// Names with their parents: a path costs one name, and no code recurses into deep trees.
#[derive(Default)]
pub(crate) struct EntryTree(Vec<EntryNode>);

pub(crate) struct EntryNode {
    pub(crate) parent: Option<usize>,
    pub(crate) level: usize,
    pub(crate) name: EntryName,
}

impl EntryTree {
    /// Adds an entry and returns its id.
    pub(crate) fn add(&mut self, node: EntryNode) -> usize {
        self.0.push(node);
        self.0.len() - 1
    }

    pub(crate) fn node(&self, id: usize) -> Option<&EntryNode> {
        self.0.get(id)
    }

    pub(crate) fn node_mut(&mut self, id: usize) -> Option<&mut EntryNode> {
        self.0.get_mut(id)
    }

    /// The directory of an entry, unless it is the top.
    pub(crate) fn parent(&self, node: &EntryNode) -> Option<(usize, &EntryNode)> {
        let id = node.parent?;
        Some((id, self.node(id)?))
    }

    pub(crate) fn level(&self, id: usize) -> usize {
        self.node(id).map_or(0, |node| node.level)
    }

    /// The names from the top to `id`.
    pub(crate) fn path(&self, id: usize) -> Vec<&OsStr> {
        let mut names = Vec::new();
        let mut here = Some(id);
        while let Some(node) = here.and_then(|id| self.node(id)) {
            names.push(node.name.raw.as_os_str());
            here = node.parent;
        }
        names.reverse();
        names
    }

    /// The position of each entry in path order, with a directory before its entries.
    ///
    /// No comparisons are needed: the entries of a directory were added in order, after the
    /// directory.
    pub(crate) fn sorted_positions(&self) -> Vec<usize> {
        let mut sizes = vec![1; self.0.len()];
        for (id, node) in self.0.iter().enumerate().rev() {
            let size = sizes.get(id).copied().unwrap_or(0);
            if let Some(above) = node.parent.and_then(|parent| sizes.get_mut(parent)) {
                *above += size;
            }
        }
        let mut sorted_positions = Vec::with_capacity(self.0.len());
        let mut free = Vec::with_capacity(self.0.len());
        let mut free_at_top = 0;
        for (node, size) in self.0.iter().zip(sizes) {
            let next = node.parent.and_then(|parent| free.get_mut(parent));
            let next = next.unwrap_or(&mut free_at_top);
            let place = *next;
            *next += size;
            sorted_positions.push(place);
            free.push(place + 1);
        }
        sorted_positions
    }
}
