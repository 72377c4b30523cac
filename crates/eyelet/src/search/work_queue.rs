//! Work that several threads share: each takes the newest piece, and may add more.
//!
//! A stack behind a lock: a piece is a directory or dozens of files, so that the lock costs nothing
//! beside it, and the last directory found is the next one read, which keeps the stack short.

use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use crate::cancel::Stop;

/// More threads than this wait for each other, and for the disk.
const MAX_WORKERS: usize = 12;

/// How many threads can run at once. To ask the system costs more than a small search.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Pieces of work that wait.
pub(crate) struct Crew<T> {
    state: Mutex<State<T>>,
    wake: Condvar,
    /// With so many pieces waiting, other threads are worth their start.
    enough: usize,
}

struct State<T> {
    waiting: Vec<T>,
    workers: usize,
    idle: usize,
    closed: bool,
}

impl<T> Crew<T> {
    /// With the pieces of work to begin with, the first one to be taken last. Other threads join
    /// once `enough` pieces wait.
    pub(crate) fn new(waiting: Vec<T>, enough: usize) -> Self {
        let state = State { waiting, workers: 1, idle: 0, closed: false };
        Crew { state: Mutex::new(state), wake: Condvar::new(), enough }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets pieces wait for whoever is free first.
    pub(crate) fn add(&self, pieces: impl Iterator<Item = T>) {
        let mut state = self.state();
        state.waiting.extend(pieces);
        if state.idle > 0 {
            self.wake.notify_all();
        }
    }

    /// The next piece, once there is one. None when all is done or the crew is closed.
    fn next(&self) -> Option<T> {
        let mut state = self.state();
        state.idle += 1;
        loop {
            if state.closed {
                return None;
            }
            if let Some(piece) = state.waiting.pop() {
                state.idle -= 1;
                return Some(piece);
            }
            if state.idle == state.workers {
                state.closed = true;
                self.wake.notify_all();
                return None;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sends everybody home.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.wake.notify_all();
    }
}

impl<T: Send> Crew<T> {
    /// Lets `work` be done by this thread, and by others as well once there is enough for them;
    /// `work` takes pieces until there are none. Gives back who worked, with what each has.
    ///
    /// # Errors
    /// The first worker's stop. Nobody goes on then.
    pub(crate) fn run<W: Send>(
        &self,
        hire: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, &mut dyn FnMut() -> Option<T>) -> Result<(), Stop> + Sync,
    ) -> Result<Vec<W>, Stop> {
        let one = |next: &mut dyn FnMut() -> Option<T>| {
            // Nobody waits for a worker that stopped or panicked.
            let _closer = Closer(self);
            let mut worker = hire();
            work(&mut worker, next).map(|()| worker)
        };
        thread::scope(|scope| {
            let mut others = Vec::new();
            let mut alone = true;
            let own = one(&mut || {
                if alone && self.state().waiting.len() >= self.enough {
                    alone = false;
                    for _ in 1..cores().min(MAX_WORKERS) {
                        self.state().workers += 1;
                        let started =
                            thread::Builder::new().spawn_scoped(scope, || one(&mut || self.next()));
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

/// Closes the crew when it is dropped.
struct Closer<'c, T>(&'c Crew<T>);

impl<T> Drop for Closer<'_, T> {
    fn drop(&mut self) {
        self.0.close();
    }
}
