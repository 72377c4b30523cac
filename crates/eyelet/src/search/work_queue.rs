//! A queue of work that several threads share. Each takes the newest item and may add more.
//!
//! A stack behind a lock. An item is a directory or dozens of files, so the lock is cheap in
//! comparison; taking the newest directory first keeps the stack short.

use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::cancel::Stop;
use crate::cpu_count::cpu_count;

/// More threads only wait for each other and for the disk.
const MAX_WORKERS: usize = 12;

/// Items that wait to be worked on.
pub(crate) struct WorkQueue<T> {
    state: Mutex<QueueState<T>>,
    wake: Condvar,
    /// Other threads start when this many items wait.
    parallel_from: usize,
}

struct QueueState<T> {
    waiting: Vec<T>,
    workers: usize,
    idle: usize,
    closed: bool,
}

impl<T> WorkQueue<T> {
    /// A queue with its first items; the last one is taken first. Other threads join when
    /// `parallel_from` items wait.
    pub(crate) fn new(waiting: Vec<T>, parallel_from: usize) -> Self {
        let state = QueueState { waiting, workers: 1, idle: 0, closed: false };
        WorkQueue { state: Mutex::new(state), wake: Condvar::new(), parallel_from }
    }

    fn state(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds items.
    pub(crate) fn add(&self, items: impl Iterator<Item = T>) {
        let mut state = self.state();
        state.waiting.extend(items);
        if state.idle > 0 {
            self.wake.notify_all();
        }
    }

    /// Waits for the next item. None if all work is done or the queue is closed.
    fn next(&self) -> Option<T> {
        let mut state = self.state();
        state.idle += 1;
        loop {
            if state.closed {
                return None;
            }
            if let Some(item) = state.waiting.pop() {
                state.idle -= 1;
                return Some(item);
            }
            if state.idle == state.workers {
                state.closed = true;
                self.wake.notify_all();
                return None;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Stops all workers.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.wake.notify_all();
    }
}

impl<T: Send> WorkQueue<T> {
    /// Runs `work` on this thread, and on others if enough items wait. `work` takes items until
    /// there are none. Returns the workers.
    ///
    /// # Errors
    /// The first worker's stop; the others stop too.
    pub(crate) fn run<W: Send>(
        &self,
        new_worker: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, &mut dyn FnMut() -> Option<T>) -> Result<(), Stop> + Sync,
    ) -> Result<Vec<W>, Stop> {
        let run_worker = |next: &mut dyn FnMut() -> Option<T>| {
            // Nobody must wait for a worker that stopped or panicked.
            let _closer = CloseOnDrop(self);
            let mut worker = new_worker();
            work(&mut worker, next).map(|()| worker)
        };
        thread::scope(|scope| {
            let mut others = Vec::new();
            let mut is_alone = true;
            let own = run_worker(&mut || {
                if is_alone && self.state().waiting.len() >= self.parallel_from {
                    is_alone = false;
                    for _ in 1..cpu_count().min(MAX_WORKERS) {
                        self.state().workers += 1;
                        let started = thread::Builder::new()
                            .spawn_scoped(scope, || run_worker(&mut || self.next()));
                        let Ok(other) = started else {
                            self.state().workers -= 1;
                            break;
                        };
                        others.push(other);
                    }
                }
                self.next()
            });
            let others = others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            [own].into_iter().chain(others).collect()
        })
    }
}

/// Closes the queue when it is dropped.
struct CloseOnDrop<'c, T>(&'c WorkQueue<T>);

impl<T> Drop for CloseOnDrop<'_, T> {
    fn drop(&mut self) {
        self.0.close();
    }
}
