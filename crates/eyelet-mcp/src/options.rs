//! The configuration of a server.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use eyelet::{PathScope, Root, TurnContext, UnknownName};

use crate::record::Record;

/// The configuration of a server.
#[derive(Debug)]
#[non_exhaustive]
pub struct Options {
    /// The context of every call, without roots. Every session gets its own store for saved output
    /// and its own temp directory, with the settings of this context.
    pub turn: TurnContext,
    /// The roots that the operator chose. If the operator chose roots, the server does not ask the
    /// client for its roots.
    pub roots: Vec<Arc<Root>>,
    /// The root of a session if neither the operator nor the client chooses a root.
    pub default_root: Option<Arc<Root>>,
    /// Deny globs that the server applies below the roots of each session, or below the working
    /// directory if a session has no roots. The deny list of `turn` applies everywhere.
    pub relative_deny_globs: Vec<String>,
    /// Which paths `list_dir`, `find_files`, `grep_files` and `read` can open: only paths in the
    /// roots, or all paths.
    pub path_scope: PathScope,
    /// The origin of the working directory: the user set it, or the process inherited it.
    pub working_directory: WorkingDirectory,
    /// The format of replies: text or JSON.
    pub reply: ReplyForm,
    /// The maximum size of a text reply in bytes. If it is `None`, the limit depends on the client.
    pub reply_bytes: Option<usize>,
    /// The file to which the server records calls. If it is `None`, the server records no calls.
    pub record: Option<Record>,
}

impl Options {
    /// Options for a server without roots. The options treat the working directory of `turn` as
    /// [`WorkingDirectory::Inherited`], confine tools that take a path to the roots, and make
    /// replies plain text.
    pub fn new(turn: TurnContext) -> Self {
        Options {
            turn,
            roots: Vec::new(),
            default_root: None,
            relative_deny_globs: Vec::new(),
            path_scope: PathScope::Roots,
            working_directory: WorkingDirectory::Inherited,
            reply: ReplyForm::default(),
            reply_bytes: None,
            record: None,
        }
    }
}

/// The origin of the working directory: the user set it, or the process inherited it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkingDirectory {
    /// The user set the working directory. The server uses this directory, whatever the roots are.
    Explicit,
    /// The process inherited the working directory. If this directory is outside the roots, the
    /// server uses the first root instead.
    Inherited,
}

/// The format of replies: text or JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyForm {
    /// Plain text for a model, within the client's size limit.
    #[default]
    Text,
    /// The JSON envelope in a text block, for hosts that parse JSON.
    Envelope,
    /// The JSON envelope in the structured content of MCP, for programs.
    Structured,
}

impl ReplyForm {
    /// All reply forms.
    pub const ALL: &'static [ReplyForm] =
        &[ReplyForm::Text, ReplyForm::Envelope, ReplyForm::Structured];

    /// The names of all reply forms, in the order of `ALL`.
    pub const NAMES: &'static [&'static str] =
        &[ReplyForm::Text.as_str(), ReplyForm::Envelope.as_str(), ReplyForm::Structured.as_str()];

    /// Returns the name of this form. `Display` writes this name, and `FromStr` parses it.
    pub const fn as_str(self) -> &'static str {
        match self {
            ReplyForm::Text => "text",
            ReplyForm::Envelope => "envelope",
            ReplyForm::Structured => "structured",
        }
    }
}

impl fmt::Display for ReplyForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ReplyForm {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = ReplyForm::ALL.iter().find(|form| form.as_str() == text);
        found.copied().ok_or_else(|| UnknownName::new("reply form", text, ReplyForm::NAMES))
    }
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
