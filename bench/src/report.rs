//! The report of a run: printed as Markdown, and written as Markdown and JSON to
//! `bench/runs/<date>/NAME.{md,json}`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::Result;
use crate::benches::{Bench, Setup};
use crate::contender::{output, version};
use crate::corpus::About;
use crate::machine::Machine;
use crate::options::io_error;
use crate::runner::Measured;
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
    tasks: Vec<Measured>,
}

impl Run {
    pub(crate) fn new(bench: &Bench, setup: &Setup) -> Result<Run> {
        let line = |words: &[&str]| -> Result<String> {
            Ok(String::from_utf8_lossy(&output(words)?).trim().to_owned())
        };
        let mut versions = vec![version(&setup.eyelet)?];
        for peer in bench.peers {
            versions.push(version(peer)?);
        }
        let folder = setup.fixtures.folder.to_string_lossy();
        Ok(Run {
            bench: bench.name,
            date: line(&["date", "-u", "+%F"])?,
            commit: line(&["git", "describe", "--always", "--dirty"])
                .unwrap_or_else(|_| "unknown".into()),
            rounds: setup.rounds,
            machine: Machine::describe(&folder)?,
            corpus: setup.corpus.as_ref().map(|corpus| corpus.about.clone()),
            versions,
            notes: bench.notes,
            tasks: Vec::new(),
        })
    }

    pub(crate) fn add(&mut self, measured: Measured) {
        self.tasks.push(measured);
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = self.head();
        text.push_str("\n## Results\n\n| task | program | unit | median | p99 | ");
        text.push_str("min | max | peak MiB |\n|---|---|---|---:|---:|---:|---:|---:|\n");
        for measured in &self.tasks {
            for summary in &measured.contenders {
                let peak = summary
                    .peak_memory_bytes
                    .map_or("–".into(), |bytes| format!("{:.1}", bytes as f64 / MEBIBYTE));
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {} | {} | {} | {} | {peak} |",
                    measured.task,
                    summary.name,
                    measured.unit,
                    number(summary.median),
                    summary.p99.map_or("–".into(), number),
                    number(summary.min),
                    number(summary.max)
                );
            }
        }
        text.push_str("\n## Ratios\n\nThe peer's number divided by eyelet's. ");
        text.push_str("Above 1, eyelet is faster or uses less.\n\n");
        text.push_str("| task | eyelet | peer | medians | minimums |\n|---|---|---|---:|---:|\n");
        for measured in &self.tasks {
            for ratio in &measured.ratios {
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {:.2} | {:.2} |",
                    measured.task, ratio.ours, ratio.peer, ratio.medians, ratio.minimums
                );
            }
        }
        text.push_str("\n## Targets\n\n| task | metric | measured | target | met |\n");
        text.push_str("|---|---|---:|---:|---|\n");
        for measured in &self.tasks {
            for verdict in &measured.verdicts {
                let met = if verdict.reached { "yes" } else { "NO" };
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {} | {met} |",
                    measured.task, verdict.what, verdict.measured, verdict.target
                );
            }
        }
        text.push_str("\n## Checks before timing\n\n");
        for measured in &self.tasks {
            let _ = writeln!(text, "- {}: {}", measured.task, measured.checked);
        }
        text
    }

    fn head(&self) -> String {
        let Machine { processor, cores, memory_gib, kernel, file_system, load } = &self.machine;
        let mut text = format!(
            "# Benchmark `{}`, {}\n\n- Commit {}; {} interleaved rounds; warm page cache\n",
            self.bench, self.date, self.commit, self.rounds
        );
        let _ = writeln!(
            text,
            "- {processor}, {cores} cores, {memory_gib} GiB of memory, {kernel}, {file_system}; \
             load average {load} at the start"
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
        fs::create_dir_all(&folder).map_err(io_error)?;
        let json = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        fs::write(folder.join(format!("{}.json", self.bench)), json + "\n").map_err(io_error)?;
        fs::write(folder.join(format!("{}.md", self.bench)), self.markdown()).map_err(io_error)
    }
}
