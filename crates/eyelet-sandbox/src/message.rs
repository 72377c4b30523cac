//! What a supervisor reports to its caller.

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::request::{RawPath, Tier};

/// A report of a supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The command runs, in this tier if it is sandboxed.
    Started(Option<Tier>),
    /// The command did not run because the sandbox cannot be enforced, for this reason.
    Unavailable(String),
    /// The command did not run because the system failed to start it, with this error number.
    NotStarted(i32),
    /// The command has ended with this exit code, or 128 + N if signal N killed it.
    Exited(i32),
    /// All processes of the command are gone; these protected paths were restored.
    Gone(Vec<Reverted>),
    /// The answer to a request without a program.
    Examined(Machine),
}

/// A change to a protected path that was reverted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reverted {
    /// The protected path.
    pub path: RawPath,
    /// What happened to the change.
    pub fate: Fate,
}

/// What happened to a command's change of a protected path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// The command's version was moved here.
    MovedTo(RawPath),
    /// The command's version was moved away and is no longer accessible.
    Gone,
    /// The command removed or moved it; it was restored.
    PutBack,
    /// Restoring it failed; someone has to check it.
    Failed,
    /// The supervisor was killed before it could check. The path is a root, and any protected path in it
    /// may have changed.
    Unseen,
}
