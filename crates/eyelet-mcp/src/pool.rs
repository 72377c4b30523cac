//! Threads for the tools: so many of each kind at once, a queue behind them, then `busy`.
//!
//! Each kind has its own threads and queue, so that a flood of one does not hold up the others.
//! Threads stay: a command dies with the thread that started it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use eyelet::Load;
use eyelet::limits::{MAX_COMMANDS, MAX_QUEUE, MAX_READS, MAX_WALKS};

type Work = Box<dyn FnOnce() + Send>;

/// The threads of every kind.
pub(crate) struct Pool {
    reads: Arc<Lane>,
    walks: Arc<Lane>,
    commands: Arc<Lane>,
}

/// There is no place for more work of this kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Busy;

struct Lane {
    most_threads: usize,
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    work: VecDeque<Work>,
    threads: usize,
    idle: usize,
}

impl Pool {
    pub(crate) fn new() -> Self {
        let lane = |most_threads| {
            Arc::new(Lane { most_threads, queue: Mutex::default(), wake: Condvar::new() })
        };
        Pool { reads: lane(MAX_READS), walks: lane(MAX_WALKS), commands: lane(MAX_COMMANDS) }
    }

    /// Runs `work` as soon as a thread of its kind is free.
    pub(crate) fn run(&self, load: Load, work: impl FnOnce() + Send + 'static) -> Result<(), Busy> {
        match load {
            Load::Read => &self.reads,
            Load::Walk => &self.walks,
            Load::Command => &self.commands,
        }
        .add(Box::new(work))
    }
}

impl Lane {
    fn add(self: &Arc<Self>, work: Work) -> Result<(), Busy> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.work.len() >= MAX_QUEUE + queue.idle {
            return Err(Busy);
        }
        queue.work.push_back(work);
        if queue.work.len() > queue.idle && queue.threads < self.most_threads {
            let lane = Arc::clone(self);
            let name = "eyelet-tool".to_owned();
            match std::thread::Builder::new().name(name).spawn(move || lane.work_off()) {
                Ok(_) => queue.threads += 1,
                // Those that are there will come to it.
                Err(_) if queue.threads > 0 => {}
                Err(_) => {
                    queue.work.pop_back();
                    return Err(Busy);
                }
            }
        }
        drop(queue);
        self.wake.notify_one();
        Ok(())
    }

    fn work_off(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(work) = queue.work.pop_front() {
                drop(queue);
                // The router answers for a tool that panics; this keeps the thread for the next.
                let _ = catch_unwind(AssertUnwindSafe(work));
                queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.idle += 1;
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
