//! The threads that run tools, and the calls that are in flight.
//!
//! Each kind of load has a limited number of threads and a queue, in which sessions take turns (`fair_queue`); if
//! the queue is full, the call is `busy`. Many calls of one kind do not delay the others. Threads never exit,
//! because the system kills a command together with the thread that started it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use eyelet::limits::{MAX_COMMANDS, MAX_JOB_WAITS, MAX_READS, MAX_WALKS};
use eyelet::{CancelFlag, Load};

use crate::fair_queue::{Busy, FairQueue, SessionNumber};

type Work = Box<dyn FnOnce() + Send>;

/// The threads of every kind of load.
pub(crate) struct ThreadPool {
    reads: Arc<Lane>,
    walks: Arc<Lane>,
    commands: Arc<Lane>,
    /// Calls that wait for a job; the tool limits their number.
    waits: Arc<Lane>,
}

/// Calls that ask for jobs without waiting; the further ones take turns.
const MAX_JOB_QUERIES: usize = 4;

/// How many sessions share the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// One session, over stdio: it may use all threads.
    OneSession,
    /// Several sessions, over HTTP: each leaves one thread of each kind to the others.
    ManySessions,
}

/// How many calls of a kind run and wait.
pub(crate) struct LaneState {
    pub(crate) kind: &'static str,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
}

struct Lane {
    max_threads: usize,
    queue: Mutex<Queue>,
    wake: Condvar,
}

struct Queue {
    work: FairQueue<Work>,
    threads: usize,
    idle: usize,
}

impl ThreadPool {
    pub(crate) fn new(sharing: Sharing) -> Self {
        let lane = |max_threads| {
            let slots = match sharing {
                Sharing::OneSession => max_threads,
                Sharing::ManySessions => max_threads - 1,
            };
            let queue = Queue { work: FairQueue::new(slots), threads: 0, idle: 0 };
            Arc::new(Lane { max_threads, queue: Mutex::new(queue), wake: Condvar::new() })
        };
        ThreadPool {
            reads: lane(MAX_READS),
            walks: lane(MAX_WALKS),
            commands: lane(MAX_COMMANDS),
            waits: lane(MAX_JOB_WAITS + MAX_JOB_QUERIES),
        }
    }

    /// Runs `work` of a session as soon as it is its turn and a thread for `load` is free.
    pub(crate) fn run(
        &self,
        load: Load,
        session: SessionNumber,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), Busy> {
        match load {
            Load::Read => &self.reads,
            Load::Command => &self.commands,
            Load::Wait => &self.waits,
            // Further kinds of load count as walks.
            Load::Walk | _ => &self.walks,
        }
        .add(session, Box::new(work))
    }

    /// How many calls of each kind run and wait.
    pub(crate) fn state(&self) -> [LaneState; 4] {
        [
            self.reads.state(Load::Read),
            self.walks.state(Load::Walk),
            self.commands.state(Load::Command),
            self.waits.state(Load::Wait),
        ]
    }
}

impl Lane {
    fn add(self: &Arc<Self>, session: SessionNumber, work: Work) -> Result<(), Busy> {
        let mut queue = self.queue();
        let starting = queue.idle.min(queue.work.startable());
        queue.work.add(session, work, starting)?;
        if queue.work.startable() > queue.idle && queue.threads < self.max_threads {
            let lane = Arc::clone(self);
            let name = "eyelet-tool".to_owned();
            match std::thread::Builder::new().name(name).spawn(move || lane.run_queue()) {
                Ok(_) => queue.threads += 1,
                // One of the existing threads runs it later.
                Err(_) if queue.threads > 0 => {}
                Err(_) => {
                    queue.work.take_back(session);
                    return Err(Busy);
                }
            }
        }
        drop(queue);
        self.wake.notify_one();
        Ok(())
    }

    fn run_queue(&self) {
        let mut queue = self.queue();
        loop {
            if let Some((session, work)) = queue.work.start_next() {
                drop(queue);
                // The router already catches panics of tools. Whatever else panics must not end the thread.
                let _ = catch_unwind(AssertUnwindSafe(work));
                queue = self.queue();
                queue.work.end(session);
                continue;
            }
            queue.idle += 1;
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self, load: Load) -> LaneState {
        let queue = self.queue();
        let (running, waiting) = (queue.work.running(), queue.work.waiting());
        LaneState { kind: load.as_str(), running, waiting }
    }
}

/// The calls in flight; a shutdown cancels all of them. Clones share the same set.
#[derive(Clone, Default)]
pub(crate) struct InFlight(Arc<Mutex<InFlightState>>);

#[derive(Default)]
struct InFlightState {
    next: u64,
    flags: HashMap<u64, CancelFlag>,
    is_shut_down: bool,
}

/// A call in flight, until it is dropped.
pub(crate) struct InFlightCall {
    in_flight: InFlight,
    number: u64,
    pub(crate) flag: CancelFlag,
}

impl InFlight {
    pub(crate) fn register(&self) -> InFlightCall {
        let flag = CancelFlag::default();
        let mut state = self.state();
        if state.is_shut_down {
            flag.cancel();
        }
        state.next += 1;
        let number = state.next;
        state.flags.insert(number, flag.clone());
        drop(state);
        InFlightCall { in_flight: self.clone(), number, flag }
    }

    /// Cancels every call, including those that are registered later.
    pub(crate) fn cancel_all(&self) {
        let mut state = self.state();
        state.is_shut_down = true;
        state.flags.values().for_each(CancelFlag::cancel);
    }

    pub(crate) fn len(&self) -> usize {
        self.state().flags.len()
    }

    fn state(&self) -> MutexGuard<'_, InFlightState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InFlightCall {
    fn drop(&mut self) {
        self.in_flight.state().flags.remove(&self.number);
    }
}

#[cfg(test)]
#[path = "thread_pool_tests.rs"]
mod tests;
