//! The result of a command: its end, its output, and what the sandbox did.

use crate::cancel::Stop;
use crate::error::Hint;
use crate::exec::sandbox_facts::SandboxFacts;
use crate::text::blocked::Blocked;
use crate::text::command_reply::StreamReport;
use crate::text::removed_files::RemovedFiles;
use crate::text::reverted::Reverted;

/// The result of a command.
#[derive(Clone)]
pub(crate) struct CommandOutcome {
    pub(crate) end: CommandEnd,
    pub(crate) stdout: StreamReport,
    pub(crate) stderr: StreamReport,
    /// The exit code that it had after eyelet stopped it; none if only SIGKILL ended it.
    pub(crate) stopped_with: Option<i32>,
    /// How it was sandboxed, if it was.
    pub(crate) sandbox: Option<SandboxFacts>,
    /// The refused actions that the kernel or the proxy counted.
    pub(crate) blocked: Vec<Blocked>,
    /// Changes to protected paths that were reverted.
    pub(crate) reverted: Vec<Reverted>,
    /// Files with older saved output that eyelet removed to make room for the output of this
    /// command.
    pub(crate) removed: RemovedFiles,
}

/// How a command ended.
#[derive(Clone)]
pub(crate) enum CommandEnd {
    /// The command ended by itself with this exit code, or with 128 + N after signal N.
    Exited(i32),
    /// eyelet killed the command because the call ended.
    Stopped(Stop),
    /// The supervisor killed the command, for this reason.
    Killed(String),
}

/// The refused actions, and how to allow them.
#[derive(Clone, Default)]
pub(crate) struct Findings {
    pub(crate) entries: Vec<Blocked>,
    /// How many more there are.
    pub(crate) more: u64,
    pub(crate) hint: Option<Hint>,
}

/// A command that has ended, and what the sandbox refused to it.
#[derive(Clone)]
pub(crate) struct EndedCommand {
    pub(crate) outcome: CommandOutcome,
    pub(crate) findings: Findings,
}
