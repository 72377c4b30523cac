//! The command line. `cargo xtask bench` writes it, and the bench itself for its own processes.

use std::path::PathBuf;

use crate::Result;
use crate::collect_all::Page;

const ROUNDS: usize = 9;
const QUICK_ROUNDS: usize = 3;

/// What this process is for.
pub(crate) enum Wish {
    Bench(Options),
    /// Be a peer: `collect-all DIR DEPTH OFFSET LIMIT`.
    CollectAll(Page),
    /// Run a command and tell the most memory that it had: `peak-memory PROGRAM ...`.
    PeakMemory(Vec<String>),
}

/// A bench to run.
pub(crate) struct Options {
    pub(crate) name: String,
    /// The top of the repository.
    pub(crate) project: PathBuf,
    pub(crate) corpus: Option<PathBuf>,
    pub(crate) rounds: usize,
}

pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Wish> {
    let name = words.next().ok_or("which bench?")?;
    match name.as_str() {
        "collect-all" => collect_all(&words.collect::<Vec<_>>()),
        "peak-memory" => Ok(Wish::PeakMemory(words.collect())),
        _ => bench(name, words).map(Wish::Bench),
    }
}

fn collect_all(words: &[String]) -> Result<Wish> {
    let [directory, depth, offset, limit] = words else {
        return Err("usage: collect-all DIR DEPTH OFFSET LIMIT".into());
    };
    let number = |word: &String| word.parse().map_err(|_| format!("`{word}` is no number"));
    Ok(Wish::CollectAll(Page {
        directory: directory.into(),
        depth: number(depth)?,
        offset: number(offset)?,
        limit: number(limit)?,
    }))
}

fn bench(name: String, mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options {
        name,
        project: std::env::current_dir().map_err(said)?,
        corpus: None,
        rounds: ROUNDS,
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => options.rounds = QUICK_ROUNDS,
            "--corpus" => {
                let directory = PathBuf::from(words.next().ok_or("--corpus needs a directory")?);
                options.corpus = Some(directory.canonicalize().map_err(said)?);
            }
            _ => return Err(format!("unknown argument `{word}`; known: --corpus DIR, --quick")),
        }
    }
    Ok(options)
}

/// An error of the system as a message.
pub(crate) fn said(error: std::io::Error) -> String {
    error.to_string()
}
