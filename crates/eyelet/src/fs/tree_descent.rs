//! Opens the directories of a tree by handle, breadth first, with two directories open at a time.

use std::io;

use crate::text::entry_tree::EntryTree;

use crate::fs::directory::Directory;

/// Keeps the last parent and grandparent open: siblings follow each other.
pub(crate) struct TreeDescent<'t> {
    top: &'t Directory,
    parent: LastDirectory,
    grandparent: LastDirectory,
}

impl<'t> TreeDescent<'t> {
    pub(crate) fn new(top: &'t Directory) -> Self {
        TreeDescent { top, parent: LastDirectory(None), grandparent: LastDirectory(None) }
    }

    /// Opens the directory `id`. Returns none for the top, which is open already.
    pub(crate) fn open(
        &mut self,
        tree: &EntryTree,
        id: Option<usize>,
    ) -> io::Result<Option<Directory>> {
        let Some(node) = id.and_then(|id| tree.node(id)) else { return Ok(None) };
        let Some((parent, parent_node)) = tree.parent(node) else {
            return self.top.open_dir(&node.name.raw).map(Some);
        };
        let parent = self.parent.get(parent, || match tree.parent(parent_node) {
            Some((grandparent, _)) => self
                .grandparent
                .get(grandparent, || self.top.open_below(tree.path(grandparent)))?
                .open_dir(&parent_node.name.raw),
            None => self.top.open_dir(&parent_node.name.raw),
        })?;
        parent.open_dir(&node.name.raw).map(Some)
    }
}

/// The directory that was opened last, with its id.
struct LastDirectory(Option<(usize, Directory)>);

impl LastDirectory {
    fn get(
        &mut self,
        id: usize,
        open: impl FnOnce() -> io::Result<Directory>,
    ) -> io::Result<&Directory> {
        let (_, directory) = match self.0.take().filter(|(last, _)| *last == id) {
            Some(last) => self.0.insert(last),
            None => self.0.insert((id, open()?)),
        };
        Ok(directory)
    }
}
