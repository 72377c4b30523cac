//! A command that runs on a thread of its own, so that it can outlive its call.
//!
//! The thread owns the command and its output. Others send it a [`Request`], or read the state that both share.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::{CancelFlag, Stop, StopCheck};
use crate::error::{ErrorCode, ToolError};
use crate::exec::job_slots::Slot;
use crate::exec::outcome::EndedCommand;
use crate::limits::STOP_INTERVAL;
use crate::progress::Progress;
use crate::text::command_reply::StreamReport;
use crate::text::removed_files::RemovedFiles;
use crate::text::reverted::Reverted;

/// The most changes to protected paths that are remembered of a job: the latest ones.
const MAX_REVERTED: usize = 1000;

/// The shown part of both streams of a running job, and the saved files that were removed to make
/// room.
pub(crate) type OutputSoFar = ([StreamReport; 2], RemovedFiles);

/// A request to the thread of a command.
pub(crate) enum Request {
    /// Save both streams from now on: the command outlives its call. The answer names the files.
    BecomeJob(SyncSender<Vec<PathBuf>>),
    /// Report the output so far.
    Report(SyncSender<OutputSoFar>),
    /// End the command at this time.
    EndAt(Instant),
}

/// A command on a thread of its own, as seen by others. Dropping it kills the command.
#[derive(Debug)]
pub(crate) struct Job {
    requests: Sender<Request>,
    shared: Arc<Shared>,
    pub(crate) cancel: CancelFlag,
    pub(crate) progress: Progress,
}

/// The part of a job that belongs to the thread of its command.
pub(crate) struct JobThread {
    requests: Receiver<Request>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    has_ended: Condvar,
}

#[derive(Default)]
struct State {
    /// None until the command starts.
    started: Option<Instant>,
    /// The time limit, once it is a job.
    limit: Option<Duration>,
    /// The slot of the command among the running jobs, once the command is a job.
    slot: Option<Slot>,
    /// The files that its output is saved to.
    files: Vec<PathBuf>,
    /// Changes to protected paths that were reverted while it runs.
    reverted: Vec<Reverted>,
    /// Those that are in no reply yet.
    untold: Vec<Reverted>,
    end: Option<End>,
}

/// A command that has ended: how long it took, and its result.
#[derive(Clone)]
pub(crate) struct End {
    pub(crate) at: Instant,
    pub(crate) time: Duration,
    pub(crate) result: Result<EndedCommand, ToolError>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("has_ended", &self.end.is_some()).finish_non_exhaustive()
    }
}

impl Job {
    /// Runs `command` on a new thread: the system kills a command when the thread that started it exits.
    pub(crate) fn start(
        cancel: CancelFlag,
        progress: Progress,
        command: impl FnOnce(&JobThread) -> Result<EndedCommand, ToolError> + Send + 'static,
    ) -> Result<Job, ToolError> {
        let (requests, receiver) = channel();
        let shared = Arc::<Shared>::default();
        shared.state().started = Some(Instant::now());
        let thread = JobThread { requests: receiver, shared: Arc::clone(&shared) };
        let run = move || {
            // Also if the thread panics.
            let _ending = Ending(&thread.shared);
            thread.shared.end(command(&thread));
        };
        let name = "eyelet-job".to_owned();
        let spawned = std::thread::Builder::new().name(name).spawn(run);
        spawned.map_err(|error| ToolError::io("cannot start a thread for the command", &error))?;
        Ok(Job { requests, shared, cancel, progress })
    }

    /// How long it has run, or ran.
    pub(crate) fn time(&self) -> Duration {
        let state = self.shared.state();
        match (&state.end, state.started) {
            (Some(end), _) => end.time,
            (None, started) => started.map_or(Duration::ZERO, |started| started.elapsed()),
        }
    }

    /// Waits until the command has ended, which does not take long: it was asked to end, or is ending.
    pub(crate) fn wait_for_end(&self) -> End {
        let mut state = self.shared.state();
        loop {
            if let Some(end) = &state.end {
                return end.clone();
            }
            let waited = self.shared.has_ended.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The result, if it has ended.
    pub(crate) fn end(&self) -> Option<End> {
        self.shared.state().end.clone()
    }

    pub(crate) fn ended_at(&self) -> Option<Instant> {
        self.shared.state().end.as_ref().map(|end| end.at)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended_at().is_some()
    }

    /// Waits until the command has ended. Fails if the check does so before.
    pub(crate) fn wait(&self, stop_check: &StopCheck, meanwhile: impl Fn()) -> Result<End, Stop> {
        let mut state = self.shared.state();
        loop {
            if let Some(end) = &state.end {
                return Ok(end.clone());
            }
            stop_check.check()?;
            meanwhile();
            let time = stop_check.remaining().min(STOP_INTERVAL);
            let waited = self.shared.has_ended.wait_timeout(state, time);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lets the command outlive its call, for at most `limit` since its start. Returns false if it has ended before.
    pub(crate) fn become_job(&self, slot: Slot, limit: Duration) -> bool {
        {
            let mut state = self.shared.state();
            if state.end.is_some() {
                return false;
            }
            state.slot = Some(slot);
            state.limit = Some(limit);
        }
        let Some(files) = self.ask(Request::BecomeJob) else { return false };
        self.shared.state().files = files;
        self.end_after(limit);
        true
    }

    /// The output so far, or nothing if the command has ended.
    pub(crate) fn output(&self) -> Option<OutputSoFar> {
        self.ask(Request::Report)
    }

    /// Whether the command runs and its output is saved to this file.
    pub(crate) fn is_writing(&self, file: &Path) -> bool {
        let state = self.shared.state();
        state.end.is_none() && state.files.iter().any(|one| one == file)
    }

    /// Ends the command when `limit` has passed since its start.
    pub(crate) fn end_after(&self, limit: Duration) {
        let started = self.shared.state().started;
        if let Some(until) = started.and_then(|started| started.checked_add(limit)) {
            // If it has ended, nothing has to be done.
            let _ = self.requests.send(Request::EndAt(until));
        }
    }

    /// Acts as if it had started earlier.
    pub(crate) fn advance(&self, time: Duration) {
        let limit = {
            let mut state = self.shared.state();
            state.started = state.started.and_then(|started| started.checked_sub(time));
            state.limit
        };
        limit.into_iter().for_each(|limit| self.end_after(limit));
    }

    /// The changes to protected paths that were reverted while it runs.
    pub(crate) fn reverted(&self) -> Vec<Reverted> {
        let mut state = self.shared.state();
        state.untold.clear();
        state.reverted.clone()
    }

    /// Those of them that are in no reply yet.
    pub(crate) fn untold_reverted(&self) -> Vec<Reverted> {
        std::mem::take(&mut self.shared.state().untold)
    }

    /// Asks the thread, and waits for the answer. None if the command has ended.
    fn ask<A>(&self, request: impl FnOnce(SyncSender<A>) -> Request) -> Option<A> {
        let (sender, answer) = sync_channel(1);
        self.requests.send(request(sender)).ok()?;
        // The thread drops unanswered requests when it exits.
        answer.recv().ok()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl JobThread {
    pub(crate) fn next_request(&self) -> Option<Request> {
        self.requests.try_recv().ok()
    }

    /// Whether the command outlives its call.
    pub(crate) fn is_job(&self) -> bool {
        self.shared.state().limit.is_some()
    }

    pub(crate) fn add_reverted(&self, reverted: Vec<Reverted>) {
        if !reverted.is_empty() {
            self.shared.state().add_reverted(reverted);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the result, unless there is one.
    fn end(&self, result: Result<EndedCommand, ToolError>) {
        let mut state = self.state();
        if state.end.is_some() {
            return;
        }
        let at = Instant::now();
        let time = state.started.map_or(Duration::ZERO, |started| at - started);
        if let Ok(ended) = &result {
            let is_new = |reverted: &&Reverted| !state.reverted.contains(*reverted);
            let new: Vec<_> = ended.outcome.reverted.iter().filter(is_new).cloned().collect();
            state.add_reverted(new);
        }
        state.end = Some(End { at, time, result });
        let slot = state.slot.take();
        drop(state);
        drop(slot);
        self.has_ended.notify_all();
    }
}

impl State {
    /// Adds changes to those that are reported once for the job, and to those of the next reply.
    fn add_reverted(&mut self, new: Vec<Reverted>) {
        for reverted in new {
            for list in [&mut self.reverted, &mut self.untold] {
                list.retain(|earlier| *earlier != reverted);
                list.push(reverted.clone());
                let excess = list.len().saturating_sub(MAX_REVERTED);
                list.drain(..excess);
            }
        }
    }
}

/// Ends the job when the thread exits.
struct Ending<'a>(&'a Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let message = "internal error: the thread that runs the command panicked";
        self.0.end(Err(ToolError::new(ErrorCode::IoError, message)));
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
