//! Collects the newest hits up to the end of a page, and knows which files could still change it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

/// A file that contains the pattern.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) path: String,
    /// In nanoseconds since 1970; none if the file is gone.
    pub(crate) modified: Option<i128>,
    /// How many matching lines were counted: at least one.
    pub(crate) lines: u64,
}

/// What `offset` and `limit` of a page count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageUnit {
    Files,
    Lines,
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

/// The first hits in sort order: the hits of the page and all hits before the page.
#[derive(Debug)]
pub(crate) struct NewestPage {
    offset: u64,
    limit: u64,
    unit: PageUnit,
    seen: u64,
    /// Up to the hit with which the page is full and more is known to follow.
    kept: BinaryHeap<Hit>,
    /// How many units `kept` has.
    kept_units: u64,
}

/// A hit on a page, and which of its matching lines are on the page, counting from 0.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageHit {
    pub(crate) path: String,
    pub(crate) lines: u64,
    pub(crate) on_page: Range<u64>,
}

impl NewestPage {
    /// A page of `limit` units that starts at unit `offset`, from 1.
    pub(crate) fn new(offset: u64, limit: u64, unit: PageUnit) -> Self {
        NewestPage { offset, limit, unit, seen: 0, kept: BinaryHeap::new(), kept_units: 0 }
    }

    /// An empty page with the same offset and limit.
    pub(crate) fn empty(&self) -> Self {
        NewestPage::new(self.offset, self.limit, self.unit)
    }

    /// How many units make the page final, and show whether more follow.
    pub(crate) fn units_needed(&self) -> u64 {
        self.offset.saturating_add(self.limit)
    }

    /// How many units were added. There may be more if the search stopped early.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    pub(crate) fn add(&mut self, hit: Hit) {
        let added = units(self.unit, &hit);
        self.seen = self.seen.saturating_add(added);
        if self.cutoff().is_some_and(|cutoff| hit >= *cutoff) {
            return;
        }
        self.kept.push(hit);
        self.kept_units = self.kept_units.saturating_add(added);
        while let Some(last) = self.kept.peek() {
            let without_last = self.kept_units - units(self.unit, last);
            if without_last < self.units_needed() {
                break;
            }
            self.kept_units = without_last;
            self.kept.pop();
        }
    }

    /// Counts a file that is too old for the page.
    pub(crate) fn pass(&mut self) {
        self.seen = self.seen.saturating_add(1);
    }

    /// Adds everything that another page has seen.
    pub(crate) fn merge(&mut self, other: NewestPage) {
        let seen = self.seen.saturating_add(other.seen);
        other.kept.into_iter().for_each(|hit| self.add(hit));
        self.seen = seen;
    }

    /// Only hits that sort before this one can change the page; none while all can.
    pub(crate) fn cutoff(&self) -> Option<&Hit> {
        self.kept.peek().filter(|_| self.kept_units >= self.units_needed())
    }

    /// The hits of the page, and the offset of the next page.
    pub(crate) fn into_page(self) -> (Vec<PageHit>, Option<u64>) {
        let (first, end) = (self.offset - 1, (self.offset - 1).saturating_add(self.limit));
        let mut start: u64 = 0;
        let mut hits = Vec::new();
        for hit in self.kept.into_sorted_vec() {
            let next = start.saturating_add(units(self.unit, &hit));
            let on_page = first.max(start)..end.min(next);
            if !on_page.is_empty() {
                let on_page = on_page.start - start..on_page.end - start;
                hits.push(PageHit { path: hit.path, lines: hit.lines, on_page });
            }
            start = next;
        }
        let shown: u64 = hits.iter().map(|hit| hit.on_page.end - hit.on_page.start).sum();
        let next = self.offset.saturating_add(shown);
        (hits, (self.seen >= next).then_some(next))
    }
}

fn units(unit: PageUnit, hit: &Hit) -> u64 {
    match unit {
        PageUnit::Files => 1,
        PageUnit::Lines => hit.lines,
    }
}

#[cfg(test)]
#[path = "newest_page_tests.rs"]
mod tests;
