//! Runs one task: each contender in turn, round after round, so a slow moment affects all of them.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::contender::{Contender, Side};
use crate::tables::one_line;
use crate::target::{MEBIBYTE, Target, Verdict, number};

/// Checks that the replies are equal.
pub(crate) type Check = Box<dyn Fn() -> Result<String>>;

/// What is measured, the contenders and the targets.
pub(crate) struct Task {
    pub(crate) name: String,
    /// Returns a description of what is equal, or an error that names the difference.
    pub(crate) check: Check,
    pub(crate) unit: Unit,
    pub(crate) contenders: Vec<Contender>,
    pub(crate) targets: Vec<Target>,
}

/// The unit of a task's numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Milliseconds,
    /// A number that is the same in each round: the task runs one round.
    Count(&'static str),
}

/// The results of a task.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) task: String,
    pub(crate) unit: String,
    pub(crate) checked: String,
    pub(crate) contenders: Vec<Summary>,
    pub(crate) ratios: Vec<Ratio>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) not_compared: Vec<NotCompared>,
}

/// A peer that is not measured because its answer is wrong or an error.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotCompared {
    pub(crate) peer: String,
    pub(crate) reason: String,
}

/// Statistics of a contender's samples, in the unit of the task. Raw samples are not saved.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) name: String,
    pub(crate) side: Side,
    pub(crate) sample_count: usize,
    pub(crate) min: f64,
    pub(crate) p10: f64,
    pub(crate) p25: f64,
    pub(crate) median: f64,
    pub(crate) p75: f64,
    pub(crate) p90: f64,
    /// `None` with fewer than [`ENOUGH`] samples.
    pub(crate) p99: Option<f64>,
    pub(crate) max: f64,
    pub(crate) mean: f64,
    pub(crate) peak_memory_bytes: Option<u64>,
    /// In the order of the rounds.
    pub(crate) round_medians: Vec<f64>,
}

/// The peer's number divided by ours.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ratio {
    pub(crate) ours: String,
    pub(crate) peer: String,
    pub(crate) medians: f64,
    pub(crate) minimums: f64,
}

pub(crate) fn run(task: Task, rounds: usize) -> Result<Measured> {
    let checked = (task.check)().map_err(|message| format!("{}: {message}", task.name))?;
    println!("   checked: {checked}");
    let (compared, not_compared) = compare_answers(task.contenders)?;
    let warm_up = |contender: &Contender| match task.unit {
        // Measuring the memory also warms the caches.
        Unit::Milliseconds => contender.warm_up(),
        Unit::Count(_) => Ok(None),
    };
    let peaks = compared.iter().map(warm_up).collect::<Result<Vec<_>>>()?;
    let mut samples = vec![Vec::new(); compared.len()];
    for _ in 0..task.unit.rounds(rounds) {
        for (contender, samples) in compared.iter().zip(&mut samples) {
            samples.push(contender.measure()?);
        }
    }
    let contenders: Vec<_> = compared
        .iter()
        .zip(peaks.into_iter().zip(&samples))
        .map(|(contender, (peak, samples))| Summary::new(contender, peak, samples))
        .collect();
    let ratios = ratios(&contenders);
    let unit = task.unit.name();
    let judge = |target: &Target| judge(*target, unit, &contenders, &ratios);
    let verdicts = task.targets.iter().flat_map(judge).collect();
    let unit = unit.to_owned();
    Ok(Measured { task: task.name, unit, checked, contenders, ratios, verdicts, not_compared })
}

/// Separates the contenders with the right answer from peers without it. If eyelet has a wrong answer, the
/// run fails.
fn compare_answers(contenders: Vec<Contender>) -> Result<(Vec<Contender>, Vec<NotCompared>)> {
    let (mut compared, mut not_compared) = (Vec::new(), Vec::new());
    for contender in contenders {
        match contender.compare_answer() {
            Ok(()) => compared.push(contender),
            Err(reason) if contender.side == Side::Peer => {
                let reason = one_line(&reason);
                println!("   not compared: {}: {reason}", contender.name);
                not_compared.push(NotCompared { peer: contender.name.to_owned(), reason });
            }
            Err(reason) => return Err(format!("{}: {reason}", contender.name)),
        }
    }
    Ok((compared, not_compared))
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Count(name) => name,
        }
    }

    fn rounds(self, requested: usize) -> usize {
        match self {
            Unit::Milliseconds => requested,
            Unit::Count(_) => 1,
        }
    }
}

/// With fewer samples, the 99th percentile is the maximum.
const ENOUGH: usize = 100;

impl Summary {
    fn new(contender: &Contender, peak_memory_bytes: Option<u64>, rounds: &[Vec<f64>]) -> Self {
        let sorted = sorted(rounds.concat());
        let sample_count = sorted.len();
        let round_median = |samples: &Vec<f64>| quantile(&self::sorted(samples.clone()), 50);
        Summary {
            name: contender.name.to_owned(),
            side: contender.side,
            sample_count,
            min: quantile(&sorted, 0),
            p10: quantile(&sorted, 10),
            p25: quantile(&sorted, 25),
            median: quantile(&sorted, 50),
            p75: quantile(&sorted, 75),
            p90: quantile(&sorted, 90),
            p99: (sample_count >= ENOUGH).then(|| quantile(&sorted, 99)),
            max: sorted.last().copied().unwrap_or(f64::NAN),
            mean: sorted.iter().sum::<f64>() / sample_count as f64,
            peak_memory_bytes,
            round_medians: rounds.iter().map(round_median).collect(),
        }
    }
}

fn sorted(mut samples: Vec<f64>) -> Vec<f64> {
    samples.sort_by(f64::total_cmp);
    samples
}

/// The sample below which `percent` percent of the sorted samples lie, without interpolation.
fn quantile(sorted: &[f64], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or(f64::NAN)
}

fn ratios(contenders: &[Summary]) -> Vec<Ratio> {
    let of = |side| contenders.iter().filter(move |times| times.side == side);
    of(Side::Ours)
        .flat_map(|ours| {
            of(Side::Peer).map(|peer| Ratio {
                ours: ours.name.clone(),
                peer: peer.name.clone(),
                medians: peer.median / ours.median,
                minimums: peer.min / ours.min,
            })
        })
        .collect()
}

fn judge(target: Target, unit: &str, contenders: &[Summary], ratios: &[Ratio]) -> Vec<Verdict> {
    match target {
        Target::Faster { than, times } => ratios
            .iter()
            .filter(|ratio| ratio.peer == than)
            .map(|ratio| Verdict {
                what: format!("{}, speed relative to {than}", ratio.ours),
                measured: format!("{:.2}x", ratio.medians),
                target: format!("at least {times:.1}x"),
                reached: ratio.medians >= times,
            })
            .collect(),
        Target::SlowerAtMost { of, times } => ratios
            .iter()
            .filter(|ratio| ratio.peer == of)
            .map(|ratio| Verdict {
                what: format!("{}, {} relative to {of}", ratio.ours, quantity(unit)),
                measured: format!("{}x", number(1.0 / ratio.medians)),
                target: format!("at most {times}x"),
                reached: 1.0 / ratio.medians <= times,
            })
            .collect(),
        Target::MemoryGrowth { who, above, mebibytes } => of(contenders, who)
            .zip(of(contenders, above))
            .filter_map(|(ours, idle)| {
                let grown = ours.peak_memory_bytes? as f64 - idle.peak_memory_bytes? as f64;
                let what = format!("{who}, peak memory minus that of {above}");
                Some(Verdict::at_most(what, "MiB", grown / MEBIBYTE, mebibytes))
            })
            .collect(),
        Target::Within { who, most } => of(contenders, who)
            .map(|times| Verdict::at_most(format!("{who}, median"), unit, times.median, most))
            .collect(),
        Target::P99Within { who, most } => of(contenders, who)
            .filter_map(|times| {
                let measured = times.p99?;
                Some(Verdict::at_most(format!("{who}, p99"), unit, measured, most))
            })
            .collect(),
        Target::MaxWithin { who, most } => of(contenders, who)
            .map(|times| Verdict::at_most(format!("{who}, max"), unit, times.max, most))
            .collect(),
        Target::MemoryOfPeer { who, peer } => of(contenders, who)
            .zip(of(contenders, peer))
            .filter_map(|(ours, peers)| {
                let ours = ours.peak_memory_bytes? as f64 / MEBIBYTE;
                let peers = peers.peak_memory_bytes? as f64 / MEBIBYTE;
                Some(Verdict {
                    what: format!("{who}, peak memory compared with {peer}"),
                    measured: format!("{ours:.1} MiB"),
                    target: format!("at most {peers:.1} MiB"),
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

/// What a number in `unit` measures.
fn quantity(unit: &str) -> &str {
    if unit == Unit::Milliseconds.name() { "time" } else { unit }
}

fn of<'t>(contenders: &'t [Summary], name: &str) -> impl Iterator<Item = &'t Summary> {
    contenders.iter().filter(move |times| times.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(name: &'static str, side: Side, rounds: &[Vec<f64>]) -> Summary {
        Summary::new(&Contender::process(name, side, ["true"]), None, rounds)
    }

    #[test]
    fn a_speed_target_compares_medians() {
        let both = [
            summary("ours", Side::Ours, &[vec![9.0], vec![1.0], vec![2.0]]),
            summary("theirs", Side::Peer, &[vec![8.0], vec![5.0], vec![6.0]]),
        ];
        let ratios = ratios(&both);
        assert_eq!((ratios[0].medians, ratios[0].minimums), (3.0, 5.0));
        let reached = |wanted| {
            judge(Target::Faster { than: "theirs", times: wanted }, "ms", &both, &ratios)[0].reached
        };
        assert!(reached(3.0) && !reached(3.1));
    }

    #[test]
    fn one_sample_in_a_hundred_may_exceed_the_99th_percentile() {
        let measured = [summary("ours", Side::Ours, &[(1..=200).map(f64::from).collect()])];
        assert_eq!(measured[0].p99, Some(199.0));
        let few = summary("ours", Side::Ours, &[vec![1.0; ENOUGH - 1]]);
        assert_eq!(few.p99, None);
        let reached =
            |most| judge(Target::P99Within { who: "ours", most }, "ms", &measured, &[])[0].reached;
        assert!(reached(199.0) && !reached(198.0));
    }

    #[test]
    fn a_summary_has_quantiles_and_the_median_of_each_round() {
        let rounds = [vec![3.0, 1.0, 2.0], vec![6.0, 5.0, 4.0], vec![10.0, 8.0, 9.0]];
        let Summary { sample_count, min, p10, p25, p90, max, mean, round_medians, .. } =
            summary("ours", Side::Ours, &rounds);
        assert_eq!((sample_count, min, p10, p25, p90, max), (9, 1.0, 1.0, 3.0, 10.0, 10.0));
        assert_eq!(round_medians, [2.0, 5.0, 9.0]);
        assert!((mean - 48.0 / 9.0).abs() < 1e-9);
    }
}
