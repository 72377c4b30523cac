//! The connections that the proxy refused, for the reports of commands.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// How many refusals are remembered.
const MAX_REFUSALS: usize = 256;

/// The most recent refusals of a session.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    hosts: VecDeque<String>,
    /// How many there were before those.
    earlier: u64,
}

impl Refusals {
    /// Records that a connection to `host`, escaped for display, was refused.
    pub(super) fn add(&self, host: String) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.hosts.len() >= MAX_REFUSALS {
            recent.hosts.pop_front();
            recent.earlier += 1;
        }
        recent.hosts.push_back(host);
    }

    /// How many there were until now.
    pub(crate) fn count(&self) -> u64 {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.earlier + recent.hosts.len() as u64
    }

    /// The hosts of all refusals after the first `count`, as far as they are remembered.
    pub(crate) fn after(&self, count: u64) -> Vec<String> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let skipped = usize::try_from(count.saturating_sub(recent.earlier)).unwrap_or(usize::MAX);
        recent.hosts.iter().skip(skipped).cloned().collect()
    }
}
