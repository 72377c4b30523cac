//! The background jobs of one session.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::cancel::CancelFlag;
use crate::error::{ErrorCode, ToolError};
use crate::exec::job::Job;
use crate::exec::job_slots::{JobSlots, NoSlot, Slot, Wait};
use crate::limits::{MAX_ENDED_JOBS, MAX_JOB_WAITS, MAX_JOBS, MAX_JOBS_OF_ALL_SESSIONS};
use crate::text::reverted::Reverted;
use crate::text::{escape, truncate};

/// The most bytes of a command in an error that lists the jobs.
const COMMAND_BYTES: usize = 60;

/// The background jobs of one session: commands that outlive the call of `bash` that started them.
/// Dropping this value, or calling [`TurnContext::end_session`](crate::TurnContext::end_session),
/// kills the jobs.
///
/// A host creates a `Jobs` value for each session and sets it with
/// [`TurnContext::with_jobs`](crate::TurnContext::with_jobs). Without a `Jobs` value, `bash`
/// refuses the argument `background`.
#[derive(Debug)]
pub struct Jobs {
    slots: JobSlots,
    /// The number of this session among those that share the slots.
    session: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    jobs: Vec<Entry>,
    is_closed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) command: Arc<str>,
    pub(crate) job: Arc<Job>,
}

impl Default for Jobs {
    fn default() -> Self {
        Jobs::new()
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.stop_all();
    }
}

impl Jobs {
    /// Creates an empty set of jobs.
    pub fn new() -> Self {
        Jobs::with_slots(JobSlots::default())
    }

    /// Creates an empty set of jobs for another session. The sessions share the limit on all
    /// running jobs.
    #[must_use]
    pub fn for_another_session(&self) -> Self {
        Jobs::with_slots(self.slots.clone())
    }

    fn with_slots(slots: JobSlots) -> Self {
        Jobs { session: slots.new_session(), slots, state: Mutex::default() }
    }

    /// Returns the number of running jobs of this session.
    pub fn running(&self) -> usize {
        self.entries().iter().filter(|entry| !entry.job.has_ended()).count()
    }

    /// Returns the number of running jobs of all sessions.
    pub fn running_in_all_sessions(&self) -> usize {
        self.slots.count()
    }

    /// Kills the jobs of this session without waiting for their end, and refuses new ones.
    pub fn stop_all(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.jobs.iter().for_each(|entry| entry.job.cancel.cancel());
    }

    /// Kills the jobs of all sessions without waiting for their end.
    pub fn stop_all_sessions(&self) {
        self.slots.cancel_all();
    }

    /// Lets all jobs behave as if they had started `time` earlier. Tests use this method to reach the
    /// time limit of jobs.
    #[doc(hidden)]
    pub fn advance_clock(&self, time: Duration) {
        self.entries().iter().for_each(|entry| entry.job.advance(time));
    }

    /// A slot for a job that `cancel` kills.
    pub(crate) fn reserve(&self, cancel: &CancelFlag) -> Result<Slot, ToolError> {
        if self.state().is_closed {
            return Err(ToolError::new(
                ErrorCode::Cancelled,
                "cannot start a job: the session has ended",
            ));
        }
        self.slots.reserve(self.session, cancel).map_err(|no_slot| {
            let (count, whose) = match no_slot {
                NoSlot::InSession => (MAX_JOBS, ""),
                NoSlot::InAllSessions => (MAX_JOBS_OF_ALL_SESSIONS, " of all sessions"),
            };
            let running = self.running_in_words();
            ToolError::new(
                ErrorCode::Busy,
                format!("{count} jobs{whose} are running, which is the maximum; {running}"),
            )
        })
    }

    /// Adds a job, and gives it a number.
    pub(crate) fn add(&self, command: Arc<str>, job: Arc<Job>) -> Entry {
        let mut state = self.state();
        state.last_id += 1;
        let entry = Entry { id: state.last_id, command, job };
        if state.is_closed {
            entry.job.cancel.cancel();
        }
        state.jobs.push(entry.clone());
        forget_old(&mut state.jobs);
        entry
    }

    /// All jobs that are remembered, by number.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut state = self.state();
        forget_old(&mut state.jobs);
        state.jobs.clone()
    }

    pub(crate) fn find(&self, id: u64) -> Result<Entry, ToolError> {
        let entries = self.entries();
        let found = entries.iter().find(|entry| entry.id == id);
        found.cloned().ok_or_else(|| {
            let known: Vec<_> = entries.iter().map(|entry| entry.id.to_string()).collect();
            let known = match known.is_empty() {
                true => "this session has no jobs".to_owned(),
                false => format!("the jobs of this session are {}", known.join(", ")),
            };
            ToolError::new(ErrorCode::NotFound, format!("job {id} does not exist; {known}"))
        })
    }

    /// A place for a call that waits for a job.
    pub(crate) fn begin_wait(&self) -> Result<Wait, ToolError> {
        self.slots.begin_wait().ok_or_else(|| {
            let message = format!(
                "{MAX_JOB_WAITS} calls are waiting for jobs, which is the maximum; retry without wait_secs"
            );
            ToolError::new(ErrorCode::Busy, message)
        })
    }

    /// Whether a running job saves its output to this file.
    pub(crate) fn is_writing(&self, file: &Path) -> bool {
        self.state().jobs.iter().any(|entry| entry.job.is_writing(file))
    }

    /// Changes to protected paths that were reverted while jobs ran and are in no reply yet.
    pub(crate) fn untold_reverted(&self) -> Vec<Reverted> {
        self.entries().into_iter().flat_map(|entry| entry.job.untold_reverted()).collect()
    }

    fn running_in_words(&self) -> String {
        let entries = self.entries();
        let running = entries.iter().filter(|entry| !entry.job.has_ended()).map(|entry| {
            let command = escape::text(&entry.command);
            format!("{} ({})", entry.id, truncate::at_most(&command, COMMAND_BYTES))
        });
        let running: Vec<_> = running.collect();
        match running.is_empty() {
            true => "this session has no running jobs; retry later".to_owned(),
            false => format!("stop a job of this session: {}", running.join(", ")),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets the jobs after whose end many others have ended.
fn forget_old(jobs: &mut Vec<Entry>) {
    let mut ends: Vec<_> = jobs.iter().filter_map(|entry| entry.job.ended_at()).collect();
    if ends.len() <= MAX_ENDED_JOBS {
        return;
    }
    ends.sort_unstable();
    let oldest = ends.get(ends.len() - MAX_ENDED_JOBS).copied();
    jobs.retain(|entry| entry.job.ended_at().is_none_or(|at| Some(at) >= oldest));
}
