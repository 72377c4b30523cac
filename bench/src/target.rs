//! Targets, and whether a run met them.

use serde::{Deserialize, Serialize};

/// A target. Each `who` is a contender of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Ours is at least `times` times as fast as the peer, by medians.
    Faster { than: &'static str, times: f64 },
    /// The median is at most `most`, in the unit of the task.
    Within { who: &'static str, most: f64 },
    /// The 99th percentile is at most `most`.
    P99Within { who: &'static str, most: f64 },
    /// The maximum is at most `most`.
    MaxWithin { who: &'static str, most: f64 },
    /// The peak memory is at most `mebibytes`.
    Memory { who: &'static str, mebibytes: f64 },
    /// Ours takes at most `times` times as long as the peer, by medians.
    SlowerAtMost { of: &'static str, times: f64 },
    /// The peak memory is at most `mebibytes` above that of another contender.
    MemoryGrowth { who: &'static str, above: &'static str, mebibytes: f64 },
    /// The peak memory is at most that of the peer.
    MemoryOfPeer { who: &'static str, peer: &'static str },
}

/// A target and the measured value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) measured: String,
    pub(crate) target: String,
    pub(crate) reached: bool,
}

impl Verdict {
    pub(crate) fn at_most(what: String, unit: &str, measured: f64, most: f64) -> Self {
        Verdict {
            what,
            measured: format!("{} {unit}", number(measured)),
            target: format!("at most {most} {unit}"),
            reached: measured <= most,
        }
    }
}

/// Formats with three decimals below 1 and two above.
pub(crate) fn number(number: f64) -> String {
    if number < 1.0 { format!("{number:.3}") } else { format!("{number:.2}") }
}

/// Formats with about three digits, and a comma at each thousand.
pub(crate) fn short_number(number: f64) -> String {
    match number {
        number if number >= 100.0 => with_commas(number),
        number if number >= 10.0 => format!("{number:.1}"),
        number if number >= 1.0 => format!("{number:.2}"),
        number => format!("{number:.3}"),
    }
}

/// A whole number with a comma at each thousand.
pub(crate) fn with_commas(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) const MEBIBYTE: f64 = 1024.0 * 1024.0;
