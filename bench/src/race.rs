//! The run of one work: everyone in turn, round after round, so that a slow moment hits all.

use serde::Serialize;

use crate::Result;
use crate::contender::{Contender, Side};
use crate::target::{MEBIBYTE, Target, Verdict};

/// A check that the answers are equal.
pub(crate) type Check = Box<dyn Fn() -> Result<String>>;

/// What is done, by whom, and what is to be reached.
pub(crate) struct Work {
    pub(crate) name: String,
    /// Says what was found equal, or what differs.
    pub(crate) check: Check,
    pub(crate) unit: Unit,
    pub(crate) contenders: Vec<Contender>,
    pub(crate) targets: Vec<Target>,
}

/// What the numbers of a work are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Milliseconds,
    /// Something that is the same in every round, so that one is enough.
    Count(&'static str),
}

/// A work that was run.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) work: String,
    pub(crate) unit: &'static str,
    pub(crate) checked: String,
    pub(crate) contenders: Vec<Times>,
    pub(crate) ratios: Vec<Ratio>,
    pub(crate) verdicts: Vec<Verdict>,
}

/// What a contender took, in the unit of the work.
#[derive(Debug, Serialize)]
pub(crate) struct Times {
    pub(crate) name: &'static str,
    pub(crate) median: f64,
    /// Where there are enough samples to tell.
    pub(crate) percentile_99: Option<f64>,
    pub(crate) minimum: f64,
    pub(crate) maximum: f64,
    pub(crate) peak_memory_bytes: Option<u64>,
    /// In the order of the rounds.
    pub(crate) samples: Vec<f64>,
    #[serde(skip)]
    side: Side,
}

/// How many times as much the peer took.
#[derive(Debug, Serialize)]
pub(crate) struct Ratio {
    pub(crate) ours: &'static str,
    pub(crate) peer: &'static str,
    pub(crate) medians: f64,
    pub(crate) minima: f64,
}

pub(crate) fn run(work: Work, rounds: usize) -> Result<Measured> {
    let checked = (work.check)().map_err(|message| format!("{}: {message}", work.name))?;
    println!("   equal: {checked}");
    // The round for the memory warms the caches as well.
    let mut contenders = work
        .contenders
        .iter()
        .map(|contender| {
            let peak_memory_bytes = contender.warm_up()?;
            Ok(Times::new(contender, peak_memory_bytes))
        })
        .collect::<Result<Vec<_>>>()?;
    for _ in 0..work.unit.rounds(rounds) {
        for (contender, times) in work.contenders.iter().zip(&mut contenders) {
            times.samples.extend(contender.measure()?);
        }
    }
    contenders.iter_mut().for_each(Times::sum_up);
    let ratios = ratios(&contenders);
    let unit = work.unit.name();
    let judge = |target: &Target| judge(*target, unit, &contenders, &ratios);
    let verdicts = work.targets.iter().flat_map(judge).collect();
    Ok(Measured { work: work.name, unit, checked, contenders, ratios, verdicts })
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Count(name) => name,
        }
    }

    fn rounds(self, asked: usize) -> usize {
        match self {
            Unit::Milliseconds => asked,
            Unit::Count(_) => 1,
        }
    }
}

/// With fewer samples, the slowest one of a hundred is just the slowest.
const ENOUGH: usize = 100;

impl Times {
    fn new(contender: &Contender, peak_memory_bytes: Option<u64>) -> Self {
        Times {
            name: contender.name,
            median: f64::NAN,
            percentile_99: None,
            minimum: f64::NAN,
            maximum: f64::NAN,
            peak_memory_bytes,
            samples: Vec::new(),
            side: contender.side,
        }
    }

    fn sum_up(&mut self) {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        self.minimum = sorted.first().copied().unwrap_or(f64::NAN);
        self.maximum = sorted.last().copied().unwrap_or(f64::NAN);
        // The rounds are odd in number, so the middle is a sample.
        self.median = sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN);
        self.percentile_99 =
            sorted.get(sorted.len() * 99 / 100).copied().filter(|_| sorted.len() >= ENOUGH);
    }
}

fn ratios(contenders: &[Times]) -> Vec<Ratio> {
    let of = |side| contenders.iter().filter(move |times| times.side == side);
    of(Side::Ours)
        .flat_map(|ours| {
            of(Side::Peer).map(|peer| Ratio {
                ours: ours.name,
                peer: peer.name,
                medians: peer.median / ours.median,
                minima: peer.minimum / ours.minimum,
            })
        })
        .collect()
}

fn judge(target: Target, unit: &str, contenders: &[Times], ratios: &[Ratio]) -> Vec<Verdict> {
    match target {
        Target::Faster { than, times } => ratios
            .iter()
            .filter(|ratio| ratio.peer == than)
            .map(|ratio| Verdict {
                what: format!("{} against {than}", ratio.ours),
                measured: format!("{:.2}x", ratio.medians),
                target: format!("at least {times:.1}x"),
                reached: ratio.medians >= times,
            })
            .collect(),
        Target::AtMost { of, times } => ratios
            .iter()
            .filter(|ratio| ratio.peer == of)
            .map(|ratio| Verdict {
                what: format!("{} against {of}", ratio.ours),
                measured: format!("{:.2}x its time", 1.0 / ratio.medians),
                target: format!("at most {times}x"),
                reached: 1.0 / ratio.medians <= times,
            })
            .collect(),
        Target::Growth { who, above, mebibytes } => of(contenders, who)
            .zip(of(contenders, above))
            .filter_map(|(ours, idle)| {
                let grown = ours.peak_memory_bytes? as f64 - idle.peak_memory_bytes? as f64;
                let what = format!("{who}, peak memory above {above}");
                Some(Verdict::at_most(what, "MiB", grown / MEBIBYTE, mebibytes))
            })
            .collect(),
        Target::Within { who, most } => of(contenders, who)
            .map(|times| Verdict::at_most(format!("{who}, median"), unit, times.median, most))
            .collect(),
        Target::NearlyAllWithin { who, most } => of(contenders, who)
            .filter_map(|times| {
                let measured = times.percentile_99?;
                Some(Verdict::at_most(format!("{who}, p99"), unit, measured, most))
            })
            .collect(),
        Target::Always { who, most } => of(contenders, who)
            .map(|times| Verdict::at_most(format!("{who}, longest"), unit, times.maximum, most))
            .collect(),
        Target::MemoryOf { who, peer } => of(contenders, who)
            .zip(of(contenders, peer))
            .filter_map(|(ours, peers)| {
                let ours = ours.peak_memory_bytes? as f64 / MEBIBYTE;
                let peers = peers.peak_memory_bytes? as f64 / MEBIBYTE;
                Some(Verdict {
                    what: format!("{who}, peak memory"),
                    measured: format!("{ours:.1} MiB"),
                    target: format!("not above {peer}'s {peers:.1} MiB"),
                    reached: ours <= peers,
                })
            })
            .collect(),
        Target::Memory { who, mebibytes } => of(contenders, who)
            .filter_map(|times| {
                let peak = times.peak_memory_bytes? as f64 / MEBIBYTE;
                Some(Verdict::at_most(format!("{who}, peak memory"), "MiB", peak, mebibytes))
            })
            .collect(),
    }
}

fn of<'t>(contenders: &'t [Times], name: &str) -> impl Iterator<Item = &'t Times> {
    contenders.iter().filter(move |times| times.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_medians_and_minima_and_a_target_is_reached_by_the_median() {
        let contender = |name, side| Contender::process(name, side, ["true"]);
        let times = |name, side, samples: [f64; 3]| {
            let mut times = Times::new(&contender(name, side), None);
            times.samples = samples.to_vec();
            times.sum_up();
            times
        };
        let both = [
            times("ours", Side::Ours, [9.0, 1.0, 2.0]),
            times("theirs", Side::Peer, [8.0, 5.0, 6.0]),
        ];
        let ratios = ratios(&both);
        assert_eq!((ratios[0].medians, ratios[0].minima), (3.0, 5.0));
        let reached = |wanted| {
            judge(Target::Faster { than: "theirs", times: wanted }, "ms", &both, &ratios)[0].reached
        };
        assert!(reached(3.0) && !reached(3.1));
    }

    #[test]
    fn one_sample_of_a_hundred_may_be_slower_than_the_99th_percentile() {
        let contender = Contender::process("ours", Side::Ours, ["true"]);
        let mut times = Times::new(&contender, None);
        times.samples = (1..=200).map(f64::from).collect();
        times.sum_up();
        assert_eq!(times.percentile_99, Some(199.0));
        let mut few = Times::new(&contender, None);
        few.samples = vec![1.0; ENOUGH - 1];
        few.sum_up();
        assert_eq!(few.percentile_99, None);
        let measured = [times];
        let reached = |most| {
            judge(Target::NearlyAllWithin { who: "ours", most }, "ms", &measured, &[])[0].reached
        };
        assert!(reached(199.0) && !reached(198.0));
    }
}
