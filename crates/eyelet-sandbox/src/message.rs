//! What a supervisor reports to its caller.

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::request::{RawPath, Tier};

/// A report of a supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The command has started. If it is sandboxed, this is the tier of its sandbox.
    Started(Option<Tier>),
    /// The supervisor did not run the command because it cannot enforce the sandbox, for this
    /// reason.
    Unavailable(String),
    /// The command did not run because the system failed to start it, with this error number.
    NotStarted(i32),
    /// The command has ended with this exit code, or 128 + N if signal N killed it.
    Exited(i32),
    /// The supervisor killed the command, for this reason.
    Killed(KillReason),
    /// The network namespace refused this many connections and name lookups while the command ran.
    /// The supervisor sends this message at most once, when the command has ended.
    ConnectionsRefused(u64),
    /// The supervisor restored these protected paths while the command was running.
    Restored(Vec<Reverted>),
    /// All processes of the command are gone. The list contains all protected paths that the
    /// supervisor restored, including those of earlier messages.
    Gone(Vec<Reverted>),
    /// The session's network namespace was created. The message carries these handles: the
    /// namespace, the user namespace that owns it if there is one, and the sockets that listen in
    /// it.
    NetworkCreated {
        /// Whether there is a handle of a user namespace.
        has_user: bool,
    },
    /// The features of the machine: the answer to a request without a program.
    Examined(Machine),
}

/// The reason why a supervisor killed its command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KillReason {
    /// This command, or another command on the same root, kept changing this protected path.
    KeptChanging(RawPath),
    /// The supervisor failed to watch or restore the protected paths, or to hide the denied paths,
    /// with this error.
    Unprotected(String),
    /// The command exceeded the memory limit of this many bytes.
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
    /// eyelet could not check the protected paths: the supervisor was killed, or the check failed or took
    /// too long. Here, `path` is a root, and any protected path in this root may have changed.
    Unseen,
}
