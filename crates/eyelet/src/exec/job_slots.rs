//! How many jobs may run, and how many calls may wait for one, in all sessions of a host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cancel::CancelFlag;
use crate::limits::{MAX_JOB_WAITS, MAX_JOBS, MAX_JOBS_OF_ALL_SESSIONS};

/// The slots of all sessions. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobSlots(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// The session and the cancel flag of each running job.
    jobs: HashMap<u64, (u64, CancelFlag)>,
    waits: usize,
}

/// Why there is no slot for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSlot {
    /// The session has the maximum number of running jobs.
    InSession,
    /// All sessions together have the maximum number of running jobs.
    InAllSessions,
}

/// The slot of a running job, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: JobSlots,
    number: u64,
}

/// A call that waits for a job, until it is dropped.
#[derive(Debug)]
pub(crate) struct Wait(JobSlots);

impl JobSlots {
    /// The number of a new session.
    pub(crate) fn new_session(&self) -> u64 {
        self.state().new_number()
    }

    /// A slot for a job of the session, which `cancel` kills.
    pub(crate) fn reserve(&self, session: u64, cancel: &CancelFlag) -> Result<Slot, NoSlot> {
        let mut state = self.state();
        let of_session = state.jobs.values().filter(|(owner, _)| *owner == session).count();
        if of_session >= MAX_JOBS {
            return Err(NoSlot::InSession);
        }
        if state.jobs.len() >= MAX_JOBS_OF_ALL_SESSIONS {
            return Err(NoSlot::InAllSessions);
        }
        let number = state.new_number();
        state.jobs.insert(number, (session, cancel.clone()));
        Ok(Slot { slots: self.clone(), number })
    }

    /// A place for a call that waits, if there is one left.
    pub(crate) fn begin_wait(&self) -> Option<Wait> {
        let mut state = self.state();
        if state.waits >= MAX_JOB_WAITS {
            return None;
        }
        state.waits += 1;
        drop(state);
        Some(Wait(self.clone()))
    }

    /// The number of running jobs.
    pub(crate) fn count(&self) -> usize {
        self.state().jobs.len()
    }

    /// Kills all running jobs.
    pub(crate) fn cancel_all(&self) {
        self.state().jobs.values().for_each(|(_, cancel)| cancel.cancel());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn new_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.state().jobs.remove(&self.number);
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.0.state().waits -= 1;
    }
}
