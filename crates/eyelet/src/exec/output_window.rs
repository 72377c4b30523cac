//! How much of a command's output is shown, and where the rest is saved.

use std::sync::Arc;

use crate::saved_output::output_store::OutputStore;
use crate::text::command_reply;
use crate::text::reply_budget::{ReplyBudget, TextSize};

/// With less for both outputs a reply would say little more than the names of their files.
const LEAST_ROOM: usize = 400;

/// How much is shown of the two outputs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OutputWindow {
    /// So many bytes of each.
    Each(usize),
    /// What the two leave each other of a reply.
    Shared(TextSize),
}

/// Where a stream can be kept, or why nowhere.
pub(crate) type SaveTarget = Result<Arc<OutputStore>, &'static str>;

impl OutputWindow {
    /// What of the two outputs fits into a reply beside a note of so many bytes. Files with paths that
    /// leave no room are not kept.
    pub(crate) fn within(
        budget: ReplyBudget,
        keeping: SaveTarget,
        note_bytes: usize,
    ) -> (OutputWindow, SaveTarget) {
        let path_bytes = keeping.as_ref().map_or(0, |output_store| output_store.max_path_bytes());
        let room = command_reply::room(budget, path_bytes, note_bytes);
        if room.bytes >= LEAST_ROOM {
            return (OutputWindow::Shared(room), keeping);
        }
        let why = "the path of the temp folder is too long for a reply of this size";
        (OutputWindow::Shared(command_reply::room(budget, 0, note_bytes)), Err(why))
    }
}
