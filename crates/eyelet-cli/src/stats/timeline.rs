//! Tokens over time, in at most `MAX_BARS` intervals of equal length.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

pub(crate) const MAX_BARS: usize = 60;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The lengths of an interval in seconds. Each divides the next, so shorter intervals can be joined.
const LENGTHS: [i64; 15] = [
    1,
    5,
    10,
    30,
    MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    7 * DAY,
    28 * DAY,
];

/// Grows interval by interval: two of the last length are joined to one of twice the length.
#[derive(Debug)]
pub(crate) struct Timeline {
    bar_secs: i64,
    /// By the number of the interval since 1970.
    bars: BTreeMap<i64, Bar>,
}

/// The calls that began in one interval.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Bar {
    pub(crate) time: String,
    pub(crate) calls: u64,
    pub(crate) tokens: u64,
    pub(crate) tokens_by_tool: BTreeMap<String, u64>,
}

/// The finished timeline: intervals without calls are included.
#[derive(Debug, Serialize)]
pub(crate) struct TimelineReport {
    pub(crate) bar_secs: i64,
    pub(crate) bars: Vec<Bar>,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { bar_secs: 1, bars: BTreeMap::new() }
    }
}

impl Timeline {
    pub(crate) fn add(&mut self, time: DateTime<Utc>, tool: &str, tokens: u64) {
        let seconds = time.timestamp();
        while self.count_with(seconds.div_euclid(self.bar_secs)) > MAX_BARS as i64 {
            self.lengthen();
        }
        let bar = self.bars.entry(seconds.div_euclid(self.bar_secs)).or_default();
        bar.add(&Bar {
            calls: 1,
            tokens,
            tokens_by_tool: BTreeMap::from([(tool.to_owned(), tokens)]),
            ..Bar::default()
        });
    }

    /// How many intervals there are from the first to the last, with this one.
    fn count_with(&self, number: i64) -> i64 {
        let (first, last) = self.ends().unwrap_or((number, number));
        last.max(number) - first.min(number) + 1
    }

    fn ends(&self) -> Option<(i64, i64)> {
        Some((*self.bars.first_key_value()?.0, *self.bars.last_key_value()?.0))
    }

    fn lengthen(&mut self) {
        let longer = LENGTHS.into_iter().find(|length| *length > self.bar_secs);
        let longer = longer.unwrap_or(self.bar_secs * 2);
        for (number, bar) in std::mem::take(&mut self.bars) {
            let number = (number * self.bar_secs).div_euclid(longer);
            self.bars.entry(number).or_default().add(&bar);
        }
        self.bar_secs = longer;
    }

    pub(crate) fn finish(mut self) -> TimelineReport {
        let Some((first, last)) = self.ends() else {
            return TimelineReport { bar_secs: self.bar_secs, bars: Vec::new() };
        };
        let bars = (first..=last).map(|number| {
            let start = DateTime::from_timestamp(number * self.bar_secs, 0).unwrap_or_default();
            let time = start.to_rfc3339_opts(SecondsFormat::Secs, true);
            Bar { time, ..self.bars.remove(&number).unwrap_or_default() }
        });
        TimelineReport { bar_secs: self.bar_secs, bars: bars.collect() }
    }
}

impl Bar {
    pub(crate) fn add(&mut self, more: &Bar) {
        self.calls = self.calls.saturating_add(more.calls);
        self.tokens = self.tokens.saturating_add(more.tokens);
        for (tool, tokens) in &more.tokens_by_tool {
            let sum = self.tokens_by_tool.entry(tool.clone()).or_default();
            *sum = sum.saturating_add(*tokens);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of a bar, and the tokens of each bar.
    fn bars(seconds: impl IntoIterator<Item = i64>) -> (i64, Vec<u64>) {
        let mut timeline = Timeline::default();
        for second in seconds {
            timeline.add(DateTime::from_timestamp(second, 0).unwrap(), "read", 1);
        }
        let report = timeline.finish();
        (report.bar_secs, report.bars.iter().map(|bar| bar.tokens).collect())
    }

    #[test]
    fn timeline_has_at_most_sixty_bars_and_loses_no_tokens() {
        for (last, length) in [(59, 1), (60, 5), (299, 5), (300, 10), (4_000, 300), (90_000, 1_800)]
        {
            let (bar_secs, bars) = bars(0..=last);
            assert_eq!(bar_secs, length, "{last}");
            assert!(bars.len() <= MAX_BARS);
            assert_eq!(bars.iter().sum::<u64>(), last as u64 + 1);
        }
        // The years 0 and 9999.
        let (_, bars) = bars([253_402_300_799, 0, -62_167_219_200]);
        assert!(bars.len() <= MAX_BARS && bars.iter().sum::<u64>() == 3, "{bars:?}");
    }

    #[test]
    fn each_length_of_a_bar_divides_the_next() {
        assert!(LENGTHS.windows(2).all(|pair| pair[1] % pair[0] == 0 && pair[1] > pair[0]));
    }

    #[test]
    fn order_of_calls_does_not_change_the_timeline() {
        assert_eq!(bars([0, 5_000, 100, 7]), bars([7, 100, 5_000, 0]));
        assert_eq!(bars([3, 1]), (1, vec![1, 0, 1]));
        assert_eq!(bars([]), (1, vec![]));
    }
}
