//! The changes that were reverted while a command runs. A job can run for a day, so only the latest are remembered.

use crate::message::{Fate, Reverted};

/// The most changes that are remembered, and that are noted in the mark.
const MAX_REVERTED: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct RevertedList {
    /// The changes that the caller already knows.
    told: Vec<Reverted>,
    /// The changes since then.
    pub(super) new: Vec<Reverted>,
    /// How many of the new ones are noted in the mark.
    noted: usize,
    /// How many are noted in the mark in all.
    notes: usize,
}

impl RevertedList {
    pub(super) fn new(new: Vec<Reverted>) -> Self {
        RevertedList { new, ..RevertedList::default() }
    }

    /// The changes since the last time.
    pub(super) fn tell(&mut self) -> Vec<Reverted> {
        let new = std::mem::take(&mut self.new);
        self.noted = 0;
        for reverted in &new {
            self.told.retain(|earlier| earlier != reverted);
            self.told.push(reverted.clone());
        }
        let excess = self.told.len().saturating_sub(MAX_REVERTED);
        self.told.drain(..excess);
        new
    }

    /// The new changes that have to be noted in the mark, in case the supervisor is killed.
    pub(super) fn take_unnoted(&mut self) -> Vec<Reverted> {
        let new = self.new.iter().skip(self.noted);
        let unknown = new.filter(|reverted| !self.told.contains(reverted));
        let left = MAX_REVERTED.saturating_sub(self.notes);
        let unnoted: Vec<_> = unknown.take(left).cloned().collect();
        self.noted = self.new.len();
        self.notes += unnoted.len();
        unnoted
    }

    /// All of them, and those that another process noted, without those that failed: the last check reports what still
    /// cannot be restored.
    pub(super) fn all(self, noted: Vec<Reverted>) -> Vec<Reverted> {
        let mut all = self.told;
        for reverted in self.new.into_iter().chain(noted) {
            if !all.contains(&reverted) {
                all.push(reverted);
            }
        }
        all.retain(|reverted| reverted.fate != Fate::Failed);
        all
    }
}

#[cfg(test)]
#[path = "reverted_list_tests.rs"]
mod tests;
