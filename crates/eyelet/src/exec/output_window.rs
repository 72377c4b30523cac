//! How much of a command's output is shown, and where it is saved.

use std::sync::Arc;

use crate::saved_output::output_store::OutputStore;
use crate::text::command_reply;
use crate::text::head_tail::{HeadTailBuffer, Keep};
use crate::text::reply_budget::{ReplyBudget, TextSize};

/// With less room, a reply would contain little more than the names of the files.
const LEAST_ROOM: usize = 400;

/// How much of the two streams is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OutputWindow {
    /// This many bytes of each.
    Each(usize),
    /// Both share the room of a reply.
    Shared(TextSize),
}

/// Where long output is saved, or why it cannot be saved.
pub(crate) type SaveTarget = Result<Arc<OutputStore>, &'static str>;

impl OutputWindow {
    /// An empty buffer that shows `keep` of a stream in this window.
    pub(crate) fn buffer(self, keep: Keep) -> HeadTailBuffer {
        match self {
            OutputWindow::Each(bytes) => HeadTailBuffer::new(keep, bytes),
            OutputWindow::Shared(room) => HeadTailBuffer::with_max(keep, room.bytes),
        }
    }

    /// An empty buffer that holds enough to show any part of a stream in this window.
    pub(crate) fn buffer_of_both_ends(self) -> HeadTailBuffer {
        match self {
            OutputWindow::Each(bytes) => HeadTailBuffer::new(Keep::Both, 2 * bytes),
            OutputWindow::Shared(room) => HeadTailBuffer::with_max(Keep::Both, room.bytes),
        }
    }

    /// A longer stream may be truncated, so it is saved.
    pub(crate) fn save_above(self) -> u64 {
        match self {
            OutputWindow::Each(bytes) => bytes as u64,
            OutputWindow::Shared(room) => room.bytes as u64 / 2,
        }
    }

    /// What fits into a reply next to a note of `note_bytes` bytes. If the paths of saved files
    /// would leave too little room, output is not saved.
    pub(crate) fn within(
        budget: ReplyBudget,
        save_to: SaveTarget,
        note_bytes: usize,
    ) -> (OutputWindow, SaveTarget) {
        let path_bytes = save_to.as_ref().map_or(0, |output_store| output_store.max_path_bytes());
        let room = command_reply::room(budget, path_bytes, note_bytes);
        if room.bytes >= LEAST_ROOM {
            return (OutputWindow::Shared(room), save_to);
        }
        let why = "the path of the temp directory is too long for the reply limit";
        (OutputWindow::Shared(command_reply::room(budget, 0, note_bytes)), Err(why))
    }
}
