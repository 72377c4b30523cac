//! Entries of a tree with their order: by path, component by component, on what is shown.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};

use super::names;

/// What an entry is. Links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, to whatever.
    Symlink,
    /// A FIFO, a socket or a device.
    Other,
}

/// A name as it is on disk and as it is shown.
pub(crate) struct Name {
    pub(crate) raw: OsString,
    /// Where it differs from `raw`.
    escaped: Option<Box<str>>,
    pub(crate) kind: EntryKind,
}

impl Name {
    pub(crate) fn new(raw: OsString, kind: EntryKind) -> Self {
        let shown = names::shown(&raw);
        let same = shown.as_bytes() == raw.as_encoded_bytes();
        let escaped = (!same).then(|| shown.into());
        Name { raw, escaped, kind }
    }

    pub(crate) fn shown(&self) -> &[u8] {
        self.escaped.as_ref().map_or(self.raw.as_encoded_bytes(), |text| text.as_bytes())
    }

    /// By what is shown; names that look the same, by their bytes.
    pub(crate) fn order(&self, other: &Name) -> Ordering {
        self.shown().cmp(other.shown()).then_with(|| self.raw.cmp(&other.raw))
    }
}

/// Names with their parents, so that a path costs one name and no deep tree is walked recursively.
#[derive(Default)]
pub(crate) struct Tree(Vec<Node>);

pub(crate) struct Node {
    pub(crate) parent: Option<usize>,
    pub(crate) level: usize,
    pub(crate) name: Name,
}

impl Tree {
    /// Adds an entry and returns its place.
    pub(crate) fn add(&mut self, node: Node) -> usize {
        self.0.push(node);
        self.0.len() - 1
    }

    pub(crate) fn node(&self, id: usize) -> Option<&Node> {
        self.0.get(id)
    }

    pub(crate) fn parent(&self, id: usize) -> Option<usize> {
        self.node(id).and_then(|node| node.parent)
    }

    pub(crate) fn level(&self, id: usize) -> usize {
        self.node(id).map_or(0, |node| node.level)
    }

    /// The names that lead from the top to `id`.
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

    /// By path, component by component; a directory stands before what is in it.
    pub(crate) fn order(&self, one: usize, other: usize) -> Ordering {
        let (mut a, mut b) = (one, other);
        while self.level(a) > self.level(b) {
            let Some(parent) = self.parent(a) else { break };
            a = parent;
        }
        while self.level(b) > self.level(a) {
            let Some(parent) = self.parent(b) else { break };
            b = parent;
        }
        if a == b {
            return self.level(one).cmp(&self.level(other));
        }
        while let (Some(above_a), Some(above_b)) = (self.parent(a), self.parent(b)) {
            if above_a == above_b {
                break;
            }
            (a, b) = (above_a, above_b);
        }
        match (self.node(a), self.node(b)) {
            (Some(a), Some(b)) => a.name.order(&b.name),
            (a, b) => a.is_some().cmp(&b.is_some()),
        }
    }
}
