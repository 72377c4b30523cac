//! Stops a running call: the cancel flag, the deadline, and the check for both.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{ErrorCode, ToolError};
use crate::limits::STOP_INTERVAL;

/// A flag that cancels running calls. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicU8>);

/// The stages of a [`CancelFlag`]; it never goes back.
const INTERRUPTED: u8 = 1;
const CANCELLED: u8 = 2;

impl CancelFlag {
    /// Cancels the calls that hold this flag.
    pub fn cancel(&self) {
        self.0.fetch_max(CANCELLED, Ordering::Release);
    }

    /// Sends SIGINT once to the commands of the calls that hold this flag. The calls continue until
    /// the commands end. Calls without a command ignore the interrupt, and so do commands that may
    /// become background jobs.
    pub fn interrupt(&self) {
        self.0.fetch_max(INTERRUPTED, Ordering::Release);
    }

    /// Returns whether [`CancelFlag::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire) >= CANCELLED
    }

    /// Returns a guard that cancels the calls when the guard is dropped, unless
    /// [`CancelGuard::disarm`] was called.
    ///
    /// An asynchronous host holds the guard while it waits for a call on another thread: if the
    /// host's future is dropped, the call stops and its command is killed.
    ///
    /// ```
    /// let cancel = eyelet::CancelFlag::default();
    /// drop(cancel.cancel_on_drop());
    /// assert!(cancel.is_cancelled());
    /// ```
    #[must_use = "dropping the guard cancels the calls"]
    pub fn cancel_on_drop(&self) -> CancelGuard {
        CancelGuard(Some(self.clone()))
    }
}

/// A guard that cancels calls when the guard is dropped. [`CancelFlag::cancel_on_drop`] creates
/// one.
#[derive(Debug)]
pub struct CancelGuard(Option<CancelFlag>);

impl CancelGuard {
    /// Disarms the guard: dropping it no longer cancels the calls.
    pub fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if let Some(flag) = &self.0 {
            flag.cancel();
        }
    }
}

/// The reason why a call has to stop early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The call reached its time limit or the deadline.
    TimedOut,
    /// The host cancelled the call.
    Cancelled,
}

impl Stop {
    /// The error of a call that has no partial result to return.
    pub(crate) fn error(self, what: &str, stop_check: &StopCheck) -> ToolError {
        match self {
            Stop::TimedOut => {
                let seconds =
                    stop_check.limit.as_secs() + u64::from(stop_check.limit.subsec_nanos() > 0);
                let message = format!("{what} timed out after {seconds} seconds");
                ToolError::new(ErrorCode::TimedOut, message)
            }
            Stop::Cancelled => {
                ToolError::new(ErrorCode::Cancelled, format!("{what} was cancelled"))
            }
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::TimedOut => "the call timed out",
            Stop::Cancelled => "the call was cancelled",
        })
    }
}

impl std::error::Error for Stop {}

impl From<Stop> for ToolError {
    fn from(stop: Stop) -> Self {
        let code = match stop {
            Stop::TimedOut => ErrorCode::TimedOut,
            Stop::Cancelled => ErrorCode::Cancelled,
        };
        ToolError::new(code, stop.to_string())
    }
}

/// The deadline and the cancel flag of one call. A long-running call checks both every
/// [`STOP_INTERVAL`](crate::limits::STOP_INTERVAL) or more often.
/// [`TurnContext::stop_check`](crate::TurnContext::stop_check) creates one.
#[derive(Clone, Debug)]
pub struct StopCheck {
    until: Option<Instant>,
    /// The tool's own time limit, or the time until the turn's deadline if that is shorter.
    limit: Duration,
    cancel: CancelFlag,
}

impl StopCheck {
    /// Stops after `limit`, at `deadline`, or when `cancel` is set.
    pub(crate) fn new(limit: Duration, deadline: Option<Instant>, cancel: CancelFlag) -> Self {
        let now = Instant::now();
        let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
        let limit = left.map_or(limit, |left| left.min(limit));
        StopCheck { until: now.checked_add(limit), limit, cancel }
    }

    /// Fails if the call has to stop.
    ///
    /// # Errors
    /// Returns the reason why the call has to stop. `?` converts the reason into a [`ToolError`].
    pub fn check(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        match self.until {
            Some(until) if Instant::now() >= until => Err(Stop::TimedOut),
            Some(_) | None => Ok(()),
        }
    }

    /// Locks a mutex that other calls may hold for long. Fails if the call has to stop first.
    pub(crate) fn lock<'m, T>(&self, mutex: &'m Mutex<T>) -> Result<MutexGuard<'m, T>, Stop> {
        loop {
            match mutex.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {
                    self.check()?;
                    thread::sleep(STOP_INTERVAL);
                }
            }
        }
    }

    /// Whether the command is to get SIGINT.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.cancel.0.load(Ordering::Acquire) >= INTERRUPTED
    }

    /// Changes the end of the time limit.
    pub(crate) fn end_at(&mut self, until: Instant) {
        self.until = Some(until);
    }

    /// Returns the time that is left until the call has to stop.
    pub fn remaining(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }
}
