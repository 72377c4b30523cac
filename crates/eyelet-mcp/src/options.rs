//! How a server runs, as its host chooses it.

use std::sync::Arc;

use eyelet::{OutputStore, PathScope, Root, TurnContext};

/// How a server runs.
#[derive(Debug)]
pub struct Options {
    /// The surroundings of every call, without roots.
    pub turn: TurnContext,
    /// The folder of this server, removed when it ends.
    pub spill: Arc<OutputStore>,
    /// The directories that calls are confined to; a client's roots can only narrow them.
    pub ceiling: Vec<Arc<Root>>,
    /// Whether tools that take a path are confined at all.
    pub reach: PathScope,
    /// Whether the working directory was asked for.
    pub working_directory: WorkingDirectory,
    /// The form of replies.
    pub reply: ReplyForm,
    /// The reply budget in bytes; by default it depends on the client.
    pub reply_bytes: Option<usize>,
}

/// Whether the working directory was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkingDirectory {
    /// It stays, whatever the roots are.
    Asked,
    /// If it lies outside the roots, the first root replaces it.
    Inherited,
}

/// The form of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyForm {
    /// Text for a model, within the client's budget.
    #[default]
    Text,
    /// The JSON envelope as text, for hosts that parse.
    Envelope,
    /// The JSON envelope as structured content, for programs.
    Structured,
}

impl ReplyForm {
    /// Whether replies of this form have a size limit.
    pub(crate) fn is_budgeted(self) -> bool {
        match self {
            ReplyForm::Text => true,
            ReplyForm::Envelope | ReplyForm::Structured => false,
        }
    }
}
