//! Counts the work of a running call. A host reports it as progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of a running call, in the unit of its tool. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// The count so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds to the count.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}
