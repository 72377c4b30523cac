//! The report of a run: what is printed and committed as `fuzz/record.md`.

use std::fmt;

use super::log::Run;
use super::{HANG_SECS, MAX_MEMORY_MIB};

pub(super) struct Report {
    pub(super) date: String,
    pub(super) rustc: String,
    pub(super) workers: usize,
    pub(super) runs: Vec<Run>,
}

impl Report {
    pub(super) fn failures(&self) -> usize {
        self.runs.iter().filter(|run| run.failure.is_some()).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { date, rustc, workers, runs } = self;
        writeln!(f, "# Fuzzing on {date}\n")?;
        writeln!(
            f,
            "{workers} targets ran at once, built by rustc {rustc}. An input fails if the target panics, if it takes longer\nthan {HANG_SECS} s, or if the process uses more than {MAX_MEMORY_MIB} MiB. \
             The edges include those of all dependencies.\n"
        )?;
        writeln!(
            f,
            "| target | seconds | executions | edges covered | slowest input | peak memory | failed |"
        )?;
        writeln!(f, "|---|--:|--:|--:|--:|--:|---|")?;
        for run in runs {
            let executions = grouped(run.executions);
            let covered = format!("{} of {}", grouped(run.covered), grouped(run.edges));
            let slowest = format!("{:.1} ms", run.slowest as f64 / 1000.0);
            let failure = run.failure.as_deref().unwrap_or("no");
            writeln!(
                f,
                "| `{}` | {} | {executions} | {covered} | {slowest} | {} MiB | {failure} |",
                run.target, run.seconds, run.peak_mib
            )?;
        }
        let total: u64 = runs.iter().map(|run| run.executions).sum();
        writeln!(f, "\n{} executions in total, {} failures.\n", grouped(total), self.failures())
    }
}

/// With a comma after every three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_a_row_for_each_target() {
        let run = Run {
            target: "a".to_owned(),
            seconds: 3,
            executions: 1_234_567,
            covered: 10,
            edges: 1570,
            slowest: 1700,
            peak_mib: 27,
            failure: None,
        };
        let report = Report {
            date: "2026-01-02".to_owned(),
            rustc: "1.95.0".to_owned(),
            workers: 2,
            runs: vec![run],
        };
        let text = report.to_string();
        assert!(
            text.contains("| `a` | 3 | 1,234,567 | 10 of 1,570 | 1.7 ms | 27 MiB | no |\n"),
            "{text}"
        );
        assert!(text.ends_with("\n1,234,567 executions in total, 0 failures.\n\n"), "{text}");
    }
}
