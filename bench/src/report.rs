//! The report of a run, `bench/runs/<date>/NAME.json`. Charts and tables are made from these files alone.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::benches::{Bench, Setup};
use crate::contender::{output, version};
use crate::corpus::About;
use crate::machine::Machine;
use crate::options::io_error;
use crate::peers::Missing;
use crate::runner::Measured;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) bench: String,
    pub(crate) date: String,
    pub(crate) commit: String,
    pub(crate) rounds: usize,
    pub(crate) machine: Machine,
    pub(crate) corpus: Option<About>,
    pub(crate) versions: Vec<String>,
    /// Peers that could not be installed or started.
    pub(crate) missing: Vec<Missing>,
    pub(crate) notes: Vec<String>,
    pub(crate) tasks: Vec<Measured>,
}

impl Report {
    pub(crate) fn new(bench: &Bench, setup: &Setup) -> Result<Report> {
        let line = |words: &[&str]| -> Result<String> {
            Ok(String::from_utf8_lossy(&output(words)?).trim().to_owned())
        };
        let mut versions = vec![version(&setup.eyelet)?];
        for program in bench.programs {
            versions.push(version(program)?);
        }
        versions.extend(setup.peers.versions());
        let folder = setup.fixtures.folder.to_string_lossy();
        Ok(Report {
            bench: bench.name.to_owned(),
            date: line(&["date", "-u", "+%F"])?,
            commit: line(&["git", "describe", "--always", "--dirty"])
                .unwrap_or_else(|_| "unknown".into()),
            rounds: setup.rounds,
            machine: Machine::describe(&folder)?,
            corpus: setup.corpus.as_ref().map(|corpus| corpus.about.clone()),
            versions,
            missing: setup.peers.missing().to_vec(),
            notes: bench.notes.iter().map(|note| (*note).to_owned()).collect(),
            tasks: Vec::new(),
        })
    }

    pub(crate) fn add(&mut self, measured: Measured) {
        self.tasks.push(measured);
    }

    /// Writes the report and deletes older reports of the same benchmark.
    pub(crate) fn write(&self, runs: &Path) -> Result<()> {
        let name = format!("{}.json", self.bench);
        let new = runs.join(&self.date).join(&name);
        fs::create_dir_all(runs.join(&self.date)).map_err(io_error)?;
        let json = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        fs::write(&new, json + "\n").map_err(io_error)?;
        for folder in dates(runs)? {
            let old = folder.join(&name);
            if old != new && old.exists() {
                fs::remove_file(old).map_err(io_error)?;
                // Fails if reports of other benchmarks are left, which stay.
                let _ = fs::remove_dir(&folder);
            }
        }
        Ok(())
    }

    /// The newest report of a benchmark, if there is one.
    pub(crate) fn newest(runs: &Path, bench: &str) -> Result<Option<Report>> {
        let name = format!("{bench}.json");
        let path = dates(runs)?.into_iter().map(|folder| folder.join(&name)).rfind(|p| p.exists());
        let Some(path) = path else { return Ok(None) };
        let text = fs::read_to_string(&path).map_err(io_error)?;
        let report = serde_json::from_str(&text);
        report.map(Some).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// The directories of reports, oldest first.
fn dates(runs: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(runs).map_err(|error| format!("{}: {error}", runs.display()))?;
    let mut folders: Vec<_> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}
