//! Stops a running call: the cancel flag, the deadline, and the check for both.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{ErrorCode, ToolError};

/// Cancels running calls. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Cancels the calls that hold this flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether [`CancelFlag::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Why a call has to stop early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    TimedOut,
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

/// The deadline and the cancel flag of one call. Long work checks it at short intervals.
#[derive(Clone, Debug)]
pub(crate) struct StopCheck {
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
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        match self.until {
            Some(until) if Instant::now() >= until => Err(Stop::TimedOut),
            Some(_) | None => Ok(()),
        }
    }

    /// The remaining time.
    pub(crate) fn left(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }
}
