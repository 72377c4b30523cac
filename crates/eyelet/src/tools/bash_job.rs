//! Commands of `bash` that may become background jobs.

use std::sync::Arc;
use std::time::Duration;

use super::bash_outcome::ended;
use super::bash_report::{BashReport, JobState, JobStatus, status};
use crate::cancel::{CancelFlag, Stop, StopCheck};
use crate::context::TurnContext;
use crate::error::ToolError;
use crate::exec::command_spec::CommandSpec;
use crate::exec::job::{End, Job};
use crate::exec::jobs::{Entry, Jobs};
use crate::exec::run_command;

/// When a command becomes a job, and its time limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobStart {
    pub(super) when: When,
    pub(super) limit: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// If it has not ended this long after its start.
    Soon(Duration),
    /// When it reaches the time limit of its call.
    AtTimeout(Duration),
}

/// The jobs of the session.
pub(super) fn jobs_of(turn: &TurnContext) -> Result<&Jobs, ToolError> {
    turn.jobs.as_deref().ok_or_else(|| {
        ToolError::invalid_input(
            "background jobs are not available: a job belongs to a session, and this call has no session",
        )
    })
}

/// Runs a command that becomes a job if it does not end before.
pub(super) fn run(
    spec: CommandSpec,
    start: JobStart,
    turn: &TurnContext,
) -> Result<BashReport, ToolError> {
    let jobs = jobs_of(turn)?;
    let cancel = CancelFlag::default();
    let (slot, time) = match start.when {
        When::Soon(time) => (Some(jobs.reserve(&cancel)?), time),
        When::AtTimeout(time) => (None, time),
    };
    let command: Arc<str> = spec.command.as_str().into();
    let (of_job, stop) = (turn.without_jobs(), cancel.clone());
    let job = Job::start(cancel.clone(), turn.progress.clone(), move |thread| {
        let outcome =
            run_command::run(&spec, StopCheck::new(start.limit, None, stop), Some(thread));
        ended(&spec, outcome, &of_job)
    })?;
    let job = Arc::new(job);
    let stop_check = turn.stop_check(time);
    let allowed = stop_check.remaining();
    let usual = |end: End| -> Result<BashReport, ToolError> {
        Ok(BashReport::new(end.result?, allowed.as_secs_f64().round() as u64, turn))
    };
    match job.wait(&stop_check, || {}) {
        Ok(end) => return usual(end),
        Err(Stop::Cancelled) => {
            cancel.cancel();
            return usual(job.wait_for_end());
        }
        // A job would have ended before the next call.
        Err(Stop::TimedOut) if job.time() >= start.limit => return usual(job.wait_for_end()),
        Err(Stop::TimedOut) => {}
    }
    let slot = match slot.map_or_else(|| jobs.reserve(&cancel), Ok) {
        Ok(slot) => slot,
        Err(no_slot) => {
            job.end_after(Duration::ZERO);
            let mut report = usual(job.wait_for_end())?;
            report.not_in_background = report.timed_out.then_some(no_slot.message);
            return Ok(report);
        }
    };
    if !job.become_job(slot, start.limit) {
        return usual(job.wait_for_end());
    }
    report(&jobs.add(command, job), turn)
}

/// The report of a job, whether it runs or has ended.
pub(super) fn report(entry: &Entry, turn: &TurnContext) -> Result<BashReport, ToolError> {
    let Entry { id, job, .. } = entry;
    let state = |status| JobState { id: *id, status, elapsed_secs: job.time().as_secs() };
    if let Some((streams, removed)) = job.output() {
        return Ok(BashReport::running(
            streams,
            job.reverted(),
            removed,
            state(JobStatus::Running),
            turn,
        ));
    }
    let ended = job.wait_for_end().result?;
    // All of them are in its outcome.
    job.reverted();
    let (status, _) = status(&ended.outcome.end);
    let mut report = BashReport::new(ended, 0, turn);
    report.job = Some(state(status));
    Ok(report)
}

/// Adds the changes to protected paths that were reverted while jobs ran and are in no reply yet.
pub(super) fn add_untold(report: &mut BashReport, turn: &TurnContext) {
    for reverted in turn.jobs.iter().flat_map(|jobs| jobs.untold_reverted()) {
        if !report.sandbox_reverted.contains(&reverted) {
            report.sandbox_reverted.push(reverted);
        }
    }
}
