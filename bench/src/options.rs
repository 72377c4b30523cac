//! The command line. `cargo xtask bench` and this program itself call it.

use std::path::PathBuf;

use crate::Result;
use crate::collect_all::Page;

pub(crate) const USAGE: &str = "\
usage: cargo xtask bench NAME [--corpus DIR] [--quick]
       cargo xtask bench --all [--corpus DIR] [--quick]
       cargo xtask bench --charts

  NAME          bash, calls, list, read or search
  --all         run all benchmarks
  --charts      only write docs/benchmarks.md and its charts again, from the reports in bench/runs
  --corpus DIR  use the source tree in DIR [default: the Linux source, from apt]
  --quick       run 3 rounds instead of 9";

const ROUNDS: usize = 9;
const QUICK_ROUNDS: usize = 3;

/// What this process does.
pub(crate) enum Mode {
    Bench(Options),
    /// Run all benchmarks with these options: each in a process of its own.
    All(Vec<String>),
    /// Write the page and the charts.
    Charts,
    /// Print the usage.
    Help,
    /// Run as a peer: `collect-all DIR DEPTH OFFSET LIMIT`.
    CollectAll(Page),
    /// Run a command and print its peak memory: `peak-memory PROGRAM ...`.
    PeakMemory(Vec<String>),
}

/// The benchmark to run.
pub(crate) struct Options {
    pub(crate) name: String,
    /// The top of the repository.
    pub(crate) project: PathBuf,
    pub(crate) corpus: Option<PathBuf>,
    pub(crate) rounds: usize,
}

pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Mode> {
    let name = words.next().ok_or_else(|| format!("missing benchmark name\n{USAGE}"))?;
    match name.as_str() {
        "--help" | "-h" => Ok(Mode::Help),
        "--all" => {
            let words: Vec<_> = words.collect();
            // Reports a wrong option before the first benchmark runs.
            bench(name, words.clone().into_iter()).map(|_| Mode::All(words))
        }
        "--charts" => match words.next() {
            None => Ok(Mode::Charts),
            Some(word) => Err(format!("unknown argument `{word}`; --charts takes none")),
        },
        "collect-all" => collect_all(&words.collect::<Vec<_>>()),
        "peak-memory" => Ok(Mode::PeakMemory(words.collect())),
        _ => bench(name, words).map(Mode::Bench),
    }
}

fn collect_all(words: &[String]) -> Result<Mode> {
    let [directory, depth, offset, limit] = words else {
        return Err("usage: collect-all DIR DEPTH OFFSET LIMIT".into());
    };
    let number = |word: &String| word.parse().map_err(|_| format!("`{word}` is not a number"));
    Ok(Mode::CollectAll(Page {
        directory: directory.into(),
        depth: number(depth)?,
        offset: number(offset)?,
        limit: number(limit)?,
    }))
}

fn bench(name: String, mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options { name, project: project()?, corpus: None, rounds: ROUNDS };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => options.rounds = QUICK_ROUNDS,
            "--corpus" => {
                let directory = PathBuf::from(words.next().ok_or("--corpus requires a directory")?);
                let resolved = directory.canonicalize();
                let failed = |error| format!("--corpus {}: {error}", directory.display());
                options.corpus = Some(resolved.map_err(failed)?);
            }
            _ => return Err(format!("unknown argument `{word}`; use --corpus DIR or --quick")),
        }
    }
    Ok(options)
}

/// The top of the repository, in which `cargo xtask` starts this program.
pub(crate) fn project() -> Result<PathBuf> {
    std::env::current_dir().map_err(io_error)
}

/// The message of a system error.
pub(crate) fn io_error(error: std::io::Error) -> String {
    error.to_string()
}
