//! What all clients count together, and the promises that did not hold.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many broken promises are listed; the rest is only counted.
const MAX_LISTED: usize = 20;

/// What a server was busy with while it answered a small call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Beside {
    /// The mixed calls of the clients.
    MixedCalls,
    /// Commands that print hundreds of megabytes.
    Floods,
    /// More calls at once than a queue holds.
    Burst,
}

/// Counts that all clients share.
#[derive(Default)]
pub(crate) struct Tally(Mutex<Counts>);

#[derive(Default)]
pub(crate) struct Counts {
    /// Requests with an id, of which `calls` are calls of tools.
    pub(crate) requests: u64,
    pub(crate) calls: BTreeMap<String, u64>,
    /// Answers to requests that were not cancelled.
    pub(crate) answers: u64,
    /// Requests that the client cancelled, and how many of them were answered all the same.
    pub(crate) cancelled: u64,
    pub(crate) cancelled_and_answered: u64,
    /// Requests that were open when their client disconnected or stopped its server.
    pub(crate) disconnected: u64,
    /// Answers that say that a tool failed.
    pub(crate) tool_errors: u64,
    /// Of these, those that say that the server is busy.
    pub(crate) busy: u64,
    pub(crate) protocol_errors: BTreeMap<i64, u64>,
    pub(crate) progress: u64,
    /// Commands that printed as much as a flood does.
    pub(crate) floods: u64,
    pub(crate) bursts: u64,
    /// Durations of small reads and lists in milliseconds.
    pub(crate) small_calls: BTreeMap<Beside, Vec<f64>>,
    /// What else is worth counting, such as disconnects of a kind.
    pub(crate) events: BTreeMap<&'static str, u64>,
    /// How long servers took at most to exit, by how their client went away.
    pub(crate) slowest_exit: BTreeMap<&'static str, Duration>,
    pub(crate) broken: Vec<String>,
    pub(crate) broken_count: u64,
}

impl Tally {
    pub(crate) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that something happened.
    pub(crate) fn event(&self, name: &'static str) {
        *self.counts().events.entry(name).or_default() += 1;
    }

    /// Records a promise that did not hold.
    pub(crate) fn broken(&self, message: impl Into<String>) {
        let message = message.into();
        let mut counts = self.counts();
        counts.broken_count += 1;
        if counts.broken.len() < MAX_LISTED {
            eprintln!("broken: {message}");
            counts.broken.push(message);
        }
    }

    /// Records the message of a failure.
    pub(crate) fn check(&self, result: Result<(), String>) {
        if let Err(message) = result {
            self.broken(message);
        }
    }
}

/// The sample below which this share of all samples lies, of 1.0 for the largest.
pub(crate) fn quantile(samples: &[f64], share: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples() {
        let samples: Vec<f64> = (1..=200).map(f64::from).rev().collect();
        assert_eq!(quantile(&samples, 0.5), Some(100.0));
        assert_eq!(quantile(&samples, 0.99), Some(198.0));
        assert_eq!(quantile(&samples, 1.0), Some(200.0));
        assert_eq!(quantile(&[7.0], 0.99), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
