//! Finds a file whose name is similar to one that does not exist.

use std::ops::ControlFlow;

use crate::context::TurnContext;
use crate::fs::directory::Directory;
use crate::text::entry_tree::EntryKind;
use crate::text::similar_name;

/// How many entries of the directory are compared.
const MAX_ENTRIES: usize = 5000;

/// How many of the most similar names are tried.
const MAX_TRIES: usize = 3;

/// The path of a file in the directory of `path` that the call may read and whose name is most similar.
pub(crate) fn similar_file(path: &str, turn: &TurnContext) -> Option<String> {
    let start = path.rfind('/').map_or(0, |slash| slash + 1);
    let (parent, wanted) = path.split_at_checked(start)?;
    let directory = if parent.is_empty() { "." } else { parent };
    let directory = Directory::open(&turn.resolve_path("path", directory).ok()?).ok()?;
    let mut similar = Vec::new();
    let mut entries = 0;
    // The names found so far are still worth trying after an error.
    let _ = directory.each(|name, kind| {
        if matches!(kind, EntryKind::File | EntryKind::Symlink) {
            let name = name.to_str();
            let difference = name.and_then(|name| similar_name::difference(wanted, name));
            if let (Some(name), Some(difference)) = (name, difference) {
                similar.push((difference, name.to_owned()));
            }
        }
        entries += 1;
        if entries < MAX_ENTRIES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    similar.sort();
    let paths = similar.into_iter().take(MAX_TRIES).map(|(_, name)| parent.to_owned() + &name);
    // A symlink may lead nowhere, out of the roots, or to a denied path.
    paths
        .into_iter()
        .find(|path| turn.resolve_path("path", path).is_ok_and(|path| path.open_regular().is_ok()))
}
