//! The report of `bash`, in both dialects.

use std::path::PathBuf;

use eyelet_sandbox::{Fate, RawPath, Reverted};
use serde::{Serialize, Serializer};

use crate::cancel::Stop;
use crate::context::TurnContext;
use crate::exec::run_command::{CommandEnd, CommandOutcome};
use crate::output::Report;
use crate::sandbox_settings::SandboxPolicy;
use crate::text::command_reply::{self, StreamReport};
use crate::text::escape;
use crate::text::removed_files::RemovedFiles;
use crate::text::truncate;

/// The exit code of a command that eyelet killed.
const STOPPED: i32 = -1;

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BashReport {
    /// Its standard output.
    pub stdout: StreamReport,
    /// Its standard error.
    pub stderr: StreamReport,
    /// Its exit code; 128 + N for signal N, -1 after a timeout or a cancel.
    pub exit_code: i32,
    /// Whether it reached its time limit.
    pub timed_out: bool,
    /// Whether the call was cancelled.
    pub cancelled: bool,
    /// Its time limit in seconds.
    pub timeout_secs: u64,
    /// The sandbox policy, if it ran in a sandbox.
    pub sandbox: Option<SandboxPolicy>,
    /// Changes to protected paths that were reverted.
    pub sandbox_reverted: Vec<Reverted>,
    /// Saved files that were removed to free space for its output.
    pub removed: RemovedFiles,
}

impl BashReport {
    pub(super) fn new(outcome: CommandOutcome, timeout_secs: u64, turn: &TurnContext) -> Self {
        let CommandOutcome { end, stdout, stderr, mut reverted, removed } = outcome;
        if turn.has_temp_for_one_call() {
            reverted.iter_mut().for_each(drop_location);
        }
        let (exit_code, stop) = match end {
            CommandEnd::Exited(code) => (code, None),
            CommandEnd::Stopped(stop) => (STOPPED, Some(stop)),
        };
        BashReport {
            stdout,
            stderr,
            exit_code,
            timed_out: stop == Some(Stop::TimedOut),
            cancelled: stop == Some(Stop::Cancelled),
            timeout_secs,
            sandbox: Some(turn.sandbox()).filter(|policy| *policy != SandboxPolicy::Full),
            sandbox_reverted: reverted,
            removed,
        }
    }

    fn status(&self) -> String {
        if self.timed_out {
            format!("timed out after {} s", self.timeout_secs)
        } else if self.cancelled {
            "cancelled".to_owned()
        } else {
            format!("exit {}", self.exit_code)
        }
    }
}

impl Report for BashReport {
    fn content(&self) -> String {
        let notes = reverted_note(&self.sandbox_reverted).into_iter().chain(self.removed.summary());
        command_reply::render(&self.status(), &self.stdout, &self.stderr, notes)
    }

    fn success(&self) -> bool {
        self.exit_code == 0
    }

    fn withheld_bytes(&self) -> u64 {
        self.stdout.withheld_bytes() + self.stderr.withheld_bytes()
    }
}

impl Serialize for BashReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = |file: &PathBuf| file.to_string_lossy().into_owned();
        BashData {
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
            exit_code: self.exit_code,
            timed_out: self.timed_out,
            stdout_truncated: self.stdout.is_truncated(),
            stderr_truncated: self.stderr.is_truncated(),
            stdout_total_bytes: self.stdout.total_bytes,
            stderr_total_bytes: self.stderr.total_bytes,
            stdout_tail: self.stdout.tail(),
            stderr_tail: self.stderr.tail(),
            stdout_file: self.stdout.file().map(shown),
            stderr_file: self.stderr.file().map(shown),
            stdout_spill_error: self.stdout.save_error(),
            stderr_spill_error: self.stderr.save_error(),
            cancelled: self.cancelled.then_some(true),
            // A command that failed may have been stopped by the sandbox.
            sandbox: self.sandbox.filter(|_| !self.success()).map(SandboxPolicy::as_str),
            sandbox_reverted: self.sandbox_reverted.iter().map(reverted).collect(),
            spill_removed: self.removed.list(),
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct BashData<'a> {
    stdout: &'a str,
    stderr: &'a str,
    exit_code: i32,
    timed_out: bool,
    stdout_truncated: bool,
    stderr_truncated: bool,
    stdout_total_bytes: u64,
    stderr_total_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_tail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_tail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_spill_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_spill_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sandbox_reverted: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    spill_removed: Vec<String>,
}

/// Hides a location in the temp folder, which is removed before anyone can read it. A location in
/// the same directory stays.
fn drop_location(reverted: &mut Reverted) {
    if let Fate::MovedTo(to) = &reverted.fate {
        if to.0.parent() != reverted.path.0.parent() {
            reverted.fate = Fate::Gone;
        }
    }
}

/// The path, and what happened to the command's version of it.
fn reverted(reverted: &Reverted) -> String {
    let shown = |path: &RawPath| escape::name(path.0.as_os_str()).into_owned();
    let path = shown(&reverted.path);
    match &reverted.fate {
        Fate::MovedTo(to) => {
            format!("{path}: change reverted; the command's version was moved to {}", shown(to))
        }
        Fate::Gone => format!("{path}: change reverted; the command's version was deleted"),
        Fate::PutBack => format!("{path}: restored"),
        Fate::Failed => format!("{path}: may have changed and could not be restored; check it"),
        Fate::Unseen => format!(
            "{path}: protected paths in this root may have changed; the supervisor was killed \
             before it could check them"
        ),
    }
}

/// The note about protected paths: one by name, those that could not be restored first.
fn reverted_note(reverted: &[Reverted]) -> Option<String> {
    let (failed, restored): (Vec<_>, Vec<_>) =
        reverted.iter().partition(|entry| matches!(entry.fate, Fate::Failed | Fate::Unseen));
    let (what, paths) = match failed.is_empty() {
        true => ("restored protected path", restored),
        false => ("could not restore protected path", failed),
    };
    let first = escape::name(paths.first()?.path.0.as_os_str());
    let first = truncate::at_most(&first, command_reply::MAX_NOTED_PATH_BYTES);
    Some(match paths.len() - 1 {
        0 => format!("{what}: {first}"),
        more => format!("{what}: {first} and {more} more"),
    })
}
