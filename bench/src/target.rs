//! What is to be reached, and whether it was.

use serde::Serialize;

/// A number to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Ours is at least this many times as fast as the peer, by medians.
    Faster { than: &'static str, times: f64 },
    /// The median of this contender of ours is at most so much, in the unit of the work.
    Within { who: &'static str, most: f64 },
    /// 99 of 100 samples of this contender of ours are at most so much.
    NearlyAllWithin { who: &'static str, most: f64 },
    /// Each sample of this contender of ours is at most so much.
    Always { who: &'static str, most: f64 },
    /// The peak of this contender of ours is at most so much.
    Memory { who: &'static str, mebibytes: f64 },
    /// Ours takes at most this many times as long as the peer, by medians.
    AtMost { of: &'static str, times: f64 },
    /// The peak of this contender of ours is at most so much above that of another.
    Growth { who: &'static str, above: &'static str, mebibytes: f64 },
    /// The peak of this contender of ours is not above that of the peer.
    MemoryOf { who: &'static str, peer: &'static str },
}

/// A target with what was measured.
#[derive(Clone, Debug, Serialize)]
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

/// With as many places as say something.
pub(crate) fn number(number: f64) -> String {
    if number < 1.0 { format!("{number:.3}") } else { format!("{number:.2}") }
}

pub(crate) const MEBIBYTE: f64 = 1024.0 * 1024.0;
