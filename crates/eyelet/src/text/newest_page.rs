//! Collects the newest hits up to the end of a page, and knows which files could still change it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A file that contains the pattern.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) path: String,
    /// In nanoseconds since 1970; none if the file is gone.
    pub(crate) modified: Option<i128>,
}

/// Newest first, like ripgrep: a file that is gone comes first, equal times are in byte order of
/// the path.
impl Ord for Hit {
    fn cmp(&self, other: &Hit) -> Ordering {
        let key = |hit: &Hit| Reverse((hit.modified.is_none(), hit.modified));
        key(self).cmp(&key(other)).then_with(|| self.path.cmp(&other.path))
    }
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Hit) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The first hits in sort order: those of the page and those before it.
#[derive(Debug)]
pub(crate) struct NewestPage {
    offset: u64,
    limit: u64,
    seen: u64,
    /// At most one more than the end of the page, to know whether more follow.
    kept: BinaryHeap<Hit>,
}

impl NewestPage {
    /// A page of `limit` hits that starts at hit `offset`, from 1.
    pub(crate) fn new(offset: u64, limit: u64) -> Self {
        NewestPage { offset, limit, seen: 0, kept: BinaryHeap::new() }
    }

    /// How many hits make the page final, and show whether more follow.
    pub(crate) fn hits_needed(&self) -> usize {
        usize::try_from(self.offset.saturating_add(self.limit)).unwrap_or(usize::MAX)
    }

    /// How many hits were added. There may be more if the search stopped early.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    pub(crate) fn add(&mut self, hit: Hit) {
        self.seen += 1;
        if self.kept.len() < self.hits_needed() {
            self.kept.push(hit);
        } else if let Some(mut last) = self.kept.peek_mut() {
            if hit < *last {
                *last = hit;
            }
        }
    }

    /// Only hits that sort before this one can change the page; none while all can.
    pub(crate) fn cutoff(&self) -> Option<&Hit> {
        self.kept.peek().filter(|_| self.kept.len() >= self.hits_needed())
    }

    /// The paths of the page, and the offset of the next page.
    pub(crate) fn into_page(self) -> (Vec<String>, Option<u64>) {
        let skip = usize::try_from(self.offset - 1).unwrap_or(usize::MAX);
        let take = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let page = self.kept.into_sorted_vec().into_iter().skip(skip).take(take);
        let files: Vec<_> = page.map(|hit| hit.path).collect();
        let next = self.offset.saturating_add(files.len() as u64);
        (files, (self.seen >= next).then_some(next))
    }
}

#[cfg(test)]
#[path = "newest_page_tests.rs"]
mod tests;
