//! A run as a table and as data: printed, and written to `bench/runs/<date>/NAME.{md,json}`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::Result;
use crate::benches::{Bench, Surroundings};
use crate::contender::{output, version};
use crate::corpus::About;
use crate::machine::Machine;
use crate::options::said;
use crate::race::Measured;
use crate::target::{MEBIBYTE, number};

#[derive(Debug, Serialize)]
pub(crate) struct Run {
    bench: &'static str,
    date: String,
    commit: String,
    rounds: usize,
    machine: Machine,
    corpus: Option<About>,
    versions: Vec<String>,
    notes: &'static [&'static str],
    works: Vec<Measured>,
}

impl Run {
    pub(crate) fn new(bench: &Bench, surroundings: &Surroundings) -> Result<Run> {
        let line = |words: &[&str]| -> Result<String> {
            Ok(String::from_utf8_lossy(&output(words)?).trim().to_owned())
        };
        let mut versions = vec![version(&surroundings.eyelet)?];
        for peer in bench.peers {
            versions.push(version(peer)?);
        }
        let folder = surroundings.fixtures.folder.to_string_lossy();
        Ok(Run {
            bench: bench.name,
            date: line(&["date", "-u", "+%F"])?,
            commit: line(&["git", "describe", "--always", "--dirty"])
                .unwrap_or_else(|_| "unknown".into()),
            rounds: surroundings.rounds,
            machine: Machine::describe(&folder)?,
            corpus: surroundings.corpus.as_ref().map(|corpus| corpus.about.clone()),
            versions,
            notes: bench.notes,
            works: Vec::new(),
        })
    }

    pub(crate) fn add(&mut self, measured: Measured) {
        self.works.push(measured);
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = self.head();
        text.push_str("\n## Measured\n\n| work | who | unit | median | p99 | ");
        text.push_str("minimum | maximum | peak MiB |\n|---|---|---|---:|---:|---:|---:|---:|\n");
        for measured in &self.works {
            for times in &measured.contenders {
                let peak = times
                    .peak_memory_bytes
                    .map_or("–".into(), |bytes| format!("{:.1}", bytes as f64 / MEBIBYTE));
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {} | {} | {} | {} | {peak} |",
                    measured.work,
                    times.name,
                    measured.unit,
                    number(times.median),
                    times.percentile_99.map_or("–".into(), number),
                    number(times.minimum),
                    number(times.maximum)
                );
            }
        }
        text.push_str("\n## Ratios: how many times as much the peer takes\n\n");
        text.push_str("| work | ours | peer | of medians | of minima |\n|---|---|---|---:|---:|\n");
        for measured in &self.works {
            for ratio in &measured.ratios {
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {:.2} | {:.2} |",
                    measured.work, ratio.ours, ratio.peer, ratio.medians, ratio.minima
                );
            }
        }
        text.push_str("\n## Targets\n\n| work | what | measured | target | reached |\n");
        text.push_str("|---|---|---:|---:|---|\n");
        for measured in &self.works {
            for verdict in &measured.verdicts {
                let reached = if verdict.reached { "yes" } else { "NO" };
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {} | {reached} |",
                    measured.work, verdict.what, verdict.measured, verdict.target
                );
            }
        }
        text.push_str("\n## Checked before timing\n\n");
        for measured in &self.works {
            let _ = writeln!(text, "- {}: {}", measured.work, measured.checked);
        }
        text
    }

    fn head(&self) -> String {
        let Machine { processor, cores, memory_gib, kernel, file_system, load } = &self.machine;
        let mut text = format!(
            "# {}, {}\n\n- Commit {}; {} rounds, interleaved, page cache warm\n",
            self.bench, self.date, self.commit, self.rounds
        );
        let _ = writeln!(
            text,
            "- {processor}, {cores} cores, {memory_gib} GiB, {kernel}, {file_system}; load {load} when it started"
        );
        let _ = writeln!(text, "- {}", self.versions.join("; "));
        if let Some(About { name, files, bytes }) = &self.corpus {
            let _ = writeln!(text, "- Corpus: {name}, {files} files, {bytes} bytes");
        }
        for note in self.notes {
            let _ = writeln!(text, "- {note}");
        }
        text
    }

    pub(crate) fn write(&self, runs: &Path) -> Result<()> {
        let folder = runs.join(&self.date);
        fs::create_dir_all(&folder).map_err(said)?;
        let json = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        fs::write(folder.join(format!("{}.json", self.bench)), json + "\n").map_err(said)?;
        fs::write(folder.join(format!("{}.md", self.bench)), self.markdown()).map_err(said)
    }
}
