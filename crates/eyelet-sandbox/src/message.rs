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
    /// The supervisor killed the command, for this reason.
    Killed(KillReason),
    /// The network namespace refused this many connections and look-ups of names while the command ran. Sent at most
    /// once, when the command has ended.
    ConnectionsRefused(u64),
    /// These protected paths were restored while the command runs.
    Restored(Vec<Reverted>),
    /// All processes of the command are gone; these protected paths were restored, those of earlier messages included.
    Gone(Vec<Reverted>),
    /// The session's network namespace was created. The handles came with this message: the namespace, the user
    /// namespace that owns it if there is one, and the sockets that listen in it.
    NetworkCreated {
        /// Whether there is a handle of a user namespace.
        has_user: bool,
    },
    /// The answer to a request without a program.
    Examined(Machine),
}

/// Why a supervisor killed its command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KillReason {
    /// The command, or another one on the same root, kept changing this protected path.
    KeptChanging(RawPath),
    /// Watching or restoring the protected paths failed with this error.
    Unprotected(String),
    /// The command used more memory than this many bytes.
    MemoryLimit(u64),
}

/// A change to a protected path that eyelet reverted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reverted {
    /// The protected path.
    pub path: RawPath,
    /// What happened to the changed version.
    pub fate: Fate,
}

/// What happened to the changed version of a protected path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// eyelet restored the path. It moved the changed version, which may be the user's, to `to`.
    Conflict {
        /// The path of the changed version. For a protected folder, a folder with the files that
        /// appeared or changed in it.
        to: RawPath,
        /// How many older copies of the same path eyelet removed to make room for this copy.
        removed: u32,
    },
    /// The path had been removed or moved, or its mode had changed. eyelet restored the path.
    PutBack,
    /// eyelet restored the path. It deleted the changed version, or a part of that version, because
    /// the disk is full.
    Deleted,
    /// Restoring the path failed. The user has to check the path.
    Failed,
    /// The supervisor was killed before it could check the protected paths. Here, `path` is a root,
    /// and any protected path in this root may have changed.
    Unseen,
}
