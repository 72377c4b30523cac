//! The directories of a tree by handle: each is opened from its parent's while siblings follow each
//! other, and parents from theirs.

use std::io;

use crate::text::entry_tree::Tree;

use crate::fs::directory::Directory;

/// Two handles are at hand, however deep the tree is.
pub(crate) struct Descent<'t> {
    top: &'t Directory,
    parent: AtHand,
    above: AtHand,
}

impl<'t> Descent<'t> {
    pub(crate) fn new(top: &'t Directory) -> Self {
        Descent { top, parent: AtHand(None), above: AtHand(None) }
    }

    /// The directory `id`; none is the top.
    pub(crate) fn open(&mut self, tree: &Tree, id: Option<usize>) -> io::Result<Option<Directory>> {
        let Some(node) = id.and_then(|id| tree.node(id)) else { return Ok(None) };
        let Some((parent, parent_node)) = tree.parent(node) else {
            return self.top.open_directory(&node.name.raw).map(Some);
        };
        let parent = self.parent.get(parent, || match tree.parent(parent_node) {
            Some((above, _)) => self
                .above
                .get(above, || self.top.open_below(tree.path(above)))?
                .open_directory(&parent_node.name.raw),
            None => self.top.open_directory(&parent_node.name.raw),
        })?;
        parent.open_directory(&node.name.raw).map(Some)
    }
}

/// The directory that was opened last.
struct AtHand(Option<(usize, Directory)>);

impl AtHand {
    fn get(
        &mut self,
        id: usize,
        open: impl FnOnce() -> io::Result<Directory>,
    ) -> io::Result<&Directory> {
        let (_, directory) = match self.0.take().filter(|(at_hand, _)| *at_hand == id) {
            Some(at_hand) => self.0.insert(at_hand),
            None => self.0.insert((id, open()?)),
        };
        Ok(directory)
    }
}
