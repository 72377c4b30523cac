//! Totals per tool, path or another key, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;

use eyelet_mcp::CallRecord;
use serde::Serialize;

/// How many bytes of keys a ledger holds.
const MAX_KEY_BYTES: usize = 8 * 1024 * 1024;
/// The memory of an entry, in bytes, without the text of its key.
const ENTRY_BYTES: usize = 128;

/// The sums of some calls. The fields have the same names and meanings as the fields of the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Totals {
    pub(crate) calls: u64,
    pub(crate) tokens: u64,
    pub(crate) shown: u64,
    pub(crate) withheld: u64,
    pub(crate) ms: u64,
    pub(crate) errors: u64,
    pub(crate) refusals: u64,
}

impl Totals {
    pub(crate) fn of(call: &CallRecord) -> Self {
        Totals {
            calls: 1,
            tokens: call.tokens,
            shown: call.shown,
            withheld: call.withheld,
            ms: call.ms,
            errors: u64::from(call.error.is_some()),
            refusals: call.refusals.len() as u64,
        }
    }

    /// Numbers in a record can be wrong, so the sums stop at the maximum.
    pub(crate) fn add(&mut self, more: &Totals) {
        let sums = [
            (&mut self.calls, more.calls),
            (&mut self.tokens, more.tokens),
            (&mut self.shown, more.shown),
            (&mut self.withheld, more.withheld),
            (&mut self.ms, more.ms),
            (&mut self.errors, more.errors),
            (&mut self.refusals, more.refusals),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
    }
}

/// The subject of a row of the report.
pub(crate) trait Key: Clone + Eq + Hash + Ord {
    /// The bytes of its text.
    fn bytes(&self) -> usize;
}

/// Totals by key. If the keys take too much memory, those with the fewest tokens are added to `others`.
#[derive(Debug)]
pub(crate) struct Ledger<K> {
    totals: HashMap<K, Totals>,
    others: Totals,
    bytes: usize,
    max_bytes: usize,
}

impl<K: Key> Default for Ledger<K> {
    fn default() -> Self {
        Ledger::with_max_bytes(MAX_KEY_BYTES)
    }
}

impl<K: Key> Ledger<K> {
    pub(crate) fn with_max_bytes(max_bytes: usize) -> Self {
        Ledger { totals: HashMap::new(), others: Totals::default(), bytes: 0, max_bytes }
    }

    pub(crate) fn add(&mut self, key: K, call: &Totals) {
        if let Some(totals) = self.totals.get_mut(&key) {
            return totals.add(call);
        }
        self.bytes += cost(&key);
        self.totals.insert(key, *call);
        if self.bytes > self.max_bytes {
            self.drop_cheapest();
        }
    }

    /// Keeps the keys with the most tokens, as many as fit into half of the memory.
    fn drop_cheapest(&mut self) {
        let max_bytes = self.max_bytes / 2;
        self.bytes = 0;
        for (key, totals) in sorted(std::mem::take(&mut self.totals)) {
            let bytes = self.bytes + cost(&key);
            if bytes > max_bytes {
                self.others.add(&totals);
                continue;
            }
            self.bytes = bytes;
            self.totals.insert(key, totals);
        }
    }

    /// All keys, those with the most tokens first, and the totals of the keys that were dropped.
    pub(crate) fn into_rows(self) -> (Vec<(K, Totals)>, Totals) {
        (sorted(self.totals), self.others)
    }
}

fn cost<K: Key>(key: &K) -> usize {
    key.bytes() + ENTRY_BYTES
}

fn sorted<K: Key>(totals: HashMap<K, Totals>) -> Vec<(K, Totals)> {
    let mut rows: Vec<_> = totals.into_iter().collect();
    rows.sort_by(|(key, one), (other_key, other)| {
        let most = (other.tokens, other.calls).cmp(&(one.tokens, one.calls));
        most.then_with(|| key.cmp(other_key))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Key for String {
        fn bytes(&self) -> usize {
            self.len()
        }
    }

    fn tokens(tokens: u64) -> Totals {
        Totals { calls: 1, tokens, ..Totals::default() }
    }

    #[test]
    fn ledger_keeps_the_costliest_keys_in_bounded_memory() {
        let max_bytes = 10 * (ENTRY_BYTES + 4);
        let mut ledger = Ledger::with_max_bytes(max_bytes);
        ledger.add("huge".to_owned(), &tokens(5_000));
        for number in 0..1_000 {
            ledger.add(format!("{number:04}"), &tokens(1));
            ledger.add("many".to_owned(), &tokens(2));
            assert!(ledger.bytes <= max_bytes && ledger.totals.len() <= 10);
        }
        let (rows, others) = ledger.into_rows();
        let first: Vec<_> = rows.iter().take(2).map(|(key, totals)| (&**key, *totals)).collect();
        let many = Totals { calls: 1_000, tokens: 2_000, ..Totals::default() };
        assert_eq!(first, [("huge", tokens(5_000)), ("many", many)]);
        let mut all = others;
        rows.iter().for_each(|(_, totals)| all.add(totals));
        assert_eq!((all.calls, all.tokens), (2_001, 8_000));
    }

    #[test]
    fn sums_stop_at_the_maximum() {
        let mut sum = tokens(u64::MAX);
        sum.add(&tokens(1));
        assert_eq!(sum.tokens, u64::MAX);
    }
}
