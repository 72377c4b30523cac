//! The configuration of a server.

use std::sync::Arc;

use eyelet::{OutputStore, PathScope, Root, TurnContext};

/// The configuration of a server.
#[derive(Debug)]
pub struct Options {
    /// The context of every call, without roots.
    pub turn: TurnContext,
    /// The store for long command output. The server removes its directory when it ends.
    pub output_store: Arc<OutputStore>,
    /// The directories that calls may access. If it is empty, the client's roots apply; otherwise the
    /// client's roots can only narrow it.
    pub roots: Vec<Arc<Root>>,
    /// Whether tools that take a path are confined to the roots.
    pub path_scope: PathScope,
    /// Where the working directory comes from.
    pub working_directory: WorkingDirectory,
    /// The format of replies.
    pub reply: ReplyForm,
    /// The maximum size of a text reply in bytes. If it is `None`, the limit depends on the client.
    pub reply_bytes: Option<usize>,
}

/// Where the working directory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkingDirectory {
    /// The user set it. It stays the same for any roots.
    Explicit,
    /// The process inherited it. If it is outside the roots, the first root replaces it.
    Inherited,
}

/// The format of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyForm {
    /// Text for a model, within the client's size limit.
    #[default]
    Text,
    /// The JSON envelope as text, for hosts that parse it.
    Envelope,
    /// The JSON envelope as structured content, for programs.
    Structured,
}
