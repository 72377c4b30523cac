//! The report of `bash`, in both dialects.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::cancel::Stop;
use crate::context::TurnContext;
use crate::exec::outcome::{CommandEnd, CommandOutcome, EndedCommand};
use crate::facts::Facts;
use crate::names::named;
use crate::output::Report;
use crate::sandbox_policy::SandboxPolicy;
use crate::text::blocked::{self, Blocked, BlockedAction};
use crate::text::command_reply::{self, NamedFiles, StreamReport};
use crate::text::escape;
use crate::text::removed_files::RemovedFiles;
use crate::text::reverted::{Fate, Reverted};
use crate::text::truncate;

/// The exit code of a command that eyelet killed because the call ended.
const STOPPED: i32 = -1;
/// The exit code of a command that the supervisor killed: that of SIGKILL in a shell.
const KILLED: i32 = 137;

/// The report of `bash`: the output of a command and how the command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BashReport {
    /// The standard output of the command.
    pub stdout: StreamReport,
    /// The standard error of the command.
    pub stderr: StreamReport,
    /// The exit code of the command, or 128 + N if signal N killed it. -1 if there is no exit code:
    /// after a timeout or a cancel, and while the command runs as a job.
    pub exit_code: i32,
    /// Why eyelet killed the command, if the reason is neither a timeout nor a cancel.
    pub killed: Option<String>,
    /// Whether the command reached its time limit.
    pub timed_out: bool,
    /// Whether the call was cancelled.
    pub cancelled: bool,
    /// The exit code with which the command ended after a timeout or a cancel. `None` if the
    /// command ended only after SIGKILL.
    pub stopped_with: Option<i32>,
    /// The time limit of the command in seconds; 0 for a job.
    pub timeout_secs: u64,
    /// The sandbox policy, if the command ran in a sandbox.
    pub sandbox: Option<SandboxPolicy>,
    /// The actions that the sandbox refused, at most five entries. Empty if the command succeeded,
    /// except after a git checkout that did not update a protected path.
    pub sandbox_blocked: Vec<Blocked>,
    /// How many refused actions `sandbox_blocked` does not list.
    pub sandbox_blocked_more: u64,
    /// How to allow the refused actions, in the words of [`TurnContext::with_hint_text`].
    pub sandbox_hint: Option<String>,
    /// Changes to protected paths that eyelet reverted.
    pub sandbox_reverted: Vec<Reverted>,
    /// Saved output files of earlier commands that eyelet removed to make room for the output of this
    /// command.
    pub removed: RemovedFiles,
    /// The background job, if the command outlives the call that started it.
    pub job: Option<JobState>,
    /// The reason why a command that reached its time limit did not become a background job.
    pub not_in_background: Option<String>,
}

/// The state of a background job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JobState {
    /// The number of the job in its session.
    pub id: u64,
    /// The status of the job: running, or how the job ended.
    pub status: JobStatus,
    /// How many seconds the job has run. After the job has ended, the number no longer changes.
    pub elapsed_secs: u64,
}

/// The status of a background job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobStatus {
    /// The job runs.
    Running,
    /// The command of the job ended by itself.
    Exited,
    /// The job was killed: by the tool `jobs`, by the end of its session, or by the sandbox.
    Killed,
    /// The job reached its time limit, and eyelet killed it.
    TimedOut,
}

named!(JobStatus, "job status", {
    Running = "running", Exited = "exited", Killed = "killed", TimedOut = "timed out",
});

impl Serialize for JobStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The status of a command that has ended, and its exit code.
pub(super) fn status(end: &CommandEnd) -> (JobStatus, i32) {
    match end {
        CommandEnd::Exited(code) => (JobStatus::Exited, *code),
        CommandEnd::Stopped(Stop::TimedOut) => (JobStatus::TimedOut, STOPPED),
        CommandEnd::Stopped(Stop::Cancelled) => (JobStatus::Killed, STOPPED),
        CommandEnd::Killed(_) => (JobStatus::Killed, KILLED),
    }
}

impl BashReport {
    /// The report of a job that runs.
    pub(super) fn running(
        streams: [StreamReport; 2],
        reverted: Vec<Reverted>,
        removed: RemovedFiles,
        job: JobState,
        turn: &TurnContext,
    ) -> Self {
        let [stdout, stderr] = streams;
        BashReport {
            stdout,
            stderr,
            exit_code: STOPPED,
            killed: None,
            timed_out: false,
            cancelled: false,
            stopped_with: None,
            timeout_secs: 0,
            sandbox: Some(turn.sandbox()).filter(|policy| *policy != SandboxPolicy::Full),
            sandbox_blocked: Vec::new(),
            sandbox_blocked_more: 0,
            sandbox_hint: None,
            sandbox_reverted: reverted,
            removed,
            job: Some(job),
            not_in_background: None,
        }
    }

    pub(super) fn new(ended: EndedCommand, timeout_secs: u64, turn: &TurnContext) -> Self {
        let EndedCommand { outcome, findings: blocked } = ended;
        let CommandOutcome { end, stdout, stderr, stopped_with, reverted, removed, .. } = outcome;
        let (_, exit_code) = status(&end);
        let (stop, killed) = match end {
            CommandEnd::Exited(_) => (None, None),
            CommandEnd::Stopped(stop) => (Some(stop), None),
            CommandEnd::Killed(reason) => (None, Some(reason)),
        };
        BashReport {
            stdout,
            stderr,
            exit_code,
            killed,
            sandbox_blocked: blocked.entries,
            sandbox_blocked_more: blocked.more,
            sandbox_hint: blocked.hint.as_ref().map(turn.hint_text),
            timed_out: stop == Some(Stop::TimedOut),
            cancelled: stop == Some(Stop::Cancelled),
            stopped_with,
            timeout_secs,
            sandbox: Some(turn.sandbox()).filter(|policy| *policy != SandboxPolicy::Full),
            sandbox_reverted: reverted,
            removed,
            job: None,
            not_in_background: None,
        }
    }

    /// Describes the reverted changes to protected paths: each path, escaped for display, and what
    /// happened to the changed version.
    pub fn reverted_in_words(&self) -> Vec<String> {
        self.sandbox_reverted.iter().map(reverted).collect()
    }

    /// Describes the actions that the sandbox refused: at most one line with certain refusals, one
    /// line with guesses, and one line with a hint on how to allow the actions.
    pub fn blocked_in_words(&self) -> Vec<String> {
        let hint = self.sandbox_hint.as_deref();
        blocked::notes(&self.sandbox_blocked, self.sandbox_blocked_more, hint)
    }

    fn is_running(&self) -> bool {
        self.job.is_some_and(|job| job.status == JobStatus::Running)
    }

    fn status(&self) -> String {
        let killed = self.killed.as_deref().map(|reason| {
            let reason = truncate::at_most(reason, command_reply::MAX_NOTED_PATH_BYTES);
            format!("killed: {reason}")
        });
        let exit_code = self.exit_code;
        if let Some(job) = self.job {
            let status = match (job.status, killed) {
                (JobStatus::Exited, _) => format!("exited {exit_code}"),
                (JobStatus::Killed, Some(killed)) => killed,
                (status, _) => status.to_string(),
            };
            format!("job {} {status}, {} s", job.id, job.elapsed_secs)
        } else if self.timed_out {
            format!("timed out after {} s", self.timeout_secs)
        } else if self.cancelled {
            "cancelled".to_owned()
        } else {
            killed.unwrap_or_else(|| format!("exit {exit_code}"))
        }
    }
}

impl Report for BashReport {
    fn content(&self) -> String {
        let refused = self.not_in_background.as_ref();
        let refused = refused.map(|reason| {
            let reason = truncate::at_most(reason, command_reply::MAX_NOTED_PATH_BYTES);
            format!("not continued in the background: {reason}")
        });
        let notes = refused.into_iter().chain(self.blocked_in_words());
        let notes = notes.chain(reverted_note(self)).chain(self.removed.summary());
        let named_files = match self.job {
            Some(_) => NamedFiles::Always,
            None => NamedFiles::IfTruncated,
        };
        command_reply::render(&self.status(), [&self.stdout, &self.stderr], named_files, notes)
    }

    fn success(&self) -> bool {
        // That a job runs is what the caller wanted.
        self.exit_code == 0 || self.is_running()
    }

    fn withheld_bytes(&self) -> u64 {
        self.stdout.withheld_bytes() + self.stderr.withheld_bytes()
    }

    fn facts(&self) -> Facts {
        let blocked = self.sandbox_blocked.iter().map(Blocked::to_string);
        let others = self.sandbox_blocked_more + self.sandbox_reverted.len() as u64;
        let add = |sum: u64, one: &Blocked| sum.saturating_add(one.count.max(1));
        Facts {
            exit_code: Some(self.exit_code).filter(|_| !self.is_running()),
            refusals: blocked.collect(),
            restored: self.reverted_in_words(),
            refusal_count: self.sandbox_blocked.iter().fold(others, add),
            ..Facts::default()
        }
    }
}

impl Serialize for BashReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = |file: &PathBuf| file.to_string_lossy().into_owned();
        BashData {
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
            exit_code: Some(self.exit_code).filter(|_| !self.is_running()),
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
            job: self.job,
            cancelled: (self.cancelled && self.job.is_none()).then_some(true),
            // A command that failed may have been stopped by the sandbox.
            sandbox: self.sandbox.filter(|_| !self.success()).map(SandboxPolicy::as_str),
            killed: self.killed.as_deref(),
            sandbox_blocked: self.sandbox_blocked.iter().map(Blocked::to_string).collect(),
            sandbox_blocked_more: self.sandbox_blocked_more,
            sandbox_hint: self.sandbox_hint.as_deref(),
            sandbox_reverted: self.reverted_in_words(),
            spill_removed: self.removed.list(),
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct BashData<'a> {
    stdout: &'a str,
    stderr: &'a str,
    exit_code: Option<i32>,
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
    job: Option<JobState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    killed: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sandbox_blocked: Vec<String>,
    #[serde(skip_serializing_if = "is_zero")]
    sandbox_blocked_more: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sandbox_reverted: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    spill_removed: Vec<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The path, and what happened to the command's version of it.
fn reverted(reverted: &Reverted) -> String {
    let shown = |path: &PathBuf| escape::name(path.as_os_str()).into_owned();
    let path = shown(&reverted.path);
    match &reverted.fate {
        Fate::Conflict { to, removed: 0 } => {
            format!("{path}: restored; the changed version was moved to {}", shown(to))
        }
        Fate::Conflict { to, removed } => format!(
            "{path}: restored; the changed version was moved to {}; older copies removed: {removed}",
            shown(to)
        ),
        Fate::PutBack => format!("{path}: restored"),
        Fate::Deleted => {
            format!("{path}: restored; the disk is full, so the changed version was deleted")
        }
        Fate::Failed => format!("{path}: may have changed and could not be restored; check it"),
        Fate::Unseen => format!(
            "{path}: protected paths in this root may have changed and were not checked; the next command \
             checks them"
        ),
    }
}

/// The note about protected paths: one by name, those that could not be restored first.
fn reverted_note(report: &BashReport) -> Option<String> {
    let (failed, mut restored): (Vec<_>, Vec<_>) = report
        .sandbox_reverted
        .iter()
        .partition(|entry| matches!(entry.fate, Fate::Failed | Fate::Unseen));
    let is_checkout = |entry: &Blocked| matches!(entry.action, BlockedAction::Checkout { .. });
    if report.sandbox_blocked.iter().any(is_checkout) {
        restored.retain(|entry| !entry.is_restored_setting());
    }
    let (what, paths) = match failed.is_empty() {
        true => ("restored protected path", restored),
        false => ("could not restore protected path", failed),
    };
    let first = escape::name(paths.first()?.path.as_os_str());
    let first = truncate::at_most(&first, command_reply::MAX_NOTED_PATH_BYTES);
    Some(match paths.len() - 1 {
        0 => format!("{what}: {first}"),
        more => format!("{what}: {first} and {more} more"),
    })
}
