//! The benchmarks and their setup.

mod bash;
mod calls;
mod cancel;
mod list;
mod mcp_servers;
mod process_start;
mod read;
mod search;
mod search_lines;
mod search_servers;
mod search_tokens;
mod tokens;

use std::path::PathBuf;

use crate::Result;
use crate::corpus::Corpus;
use crate::fixtures::Fixtures;
use crate::options::Options;
use crate::peers::{Peer, Peers};
use crate::runner::Task;

/// A benchmark: its tasks and its peers.
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    /// Peers that the machine has; the report lists their versions.
    pub(crate) programs: &'static [&'static str],
    /// Peers that the benchmark installs.
    pub(crate) peers: &'static [&'static Peer],
    pub(crate) needs_corpus: NeedsCorpus,
    /// What a reader of the report needs to know.
    pub(crate) notes: &'static [&'static str],
    pub(crate) tasks: fn(&Setup) -> Result<Vec<Task>>,
}

pub(crate) enum NeedsCorpus {
    Yes,
    No,
}

/// All benchmarks.
const BENCHES: &[Bench] = &[bash::BENCH, calls::BENCH, list::BENCH, read::BENCH, search::BENCH];

pub(crate) fn names() -> Vec<&'static str> {
    BENCHES.iter().map(|bench| bench.name).collect()
}

pub(crate) fn find(name: &str) -> Result<&'static Bench> {
    BENCHES
        .iter()
        .find(|bench| bench.name == name)
        .ok_or_else(|| format!("unknown benchmark `{name}`; use one of {}", names().join(", ")))
}

/// The programs and files that a benchmark uses.
#[derive(Clone)]
pub(crate) struct Setup {
    /// The top of the repository.
    pub(crate) project: PathBuf,
    /// The release build of `eyelet`.
    pub(crate) eyelet: String,
    pub(crate) fixtures: Fixtures,
    pub(crate) corpus: Option<Corpus>,
    pub(crate) peers: Peers,
    pub(crate) rounds: usize,
}

impl Setup {
    pub(crate) fn prepare(options: &Options) -> Result<Setup> {
        let target = options.project.join("target");
        let folder = target.join("bench");
        let eyelet = target.join("release/eyelet");
        let bench = find(&options.name)?;
        let corpus = match bench.needs_corpus {
            NeedsCorpus::Yes => Some(Corpus::find(options.corpus.as_deref(), &folder)?),
            NeedsCorpus::No => None,
        };
        let mut setup = Setup {
            project: options.project.clone(),
            eyelet: text(eyelet)?,
            fixtures: Fixtures { folder },
            corpus,
            peers: Peers::install(bench.peers, &options.project),
            rounds: options.rounds,
        };
        mcp_servers::exclude_broken(&mut setup)?;
        Ok(setup)
    }
}

/// Fails unless both results are equal.
fn equal<T: PartialEq>(what: &str, ours: &T, peers: &T) -> Result<()> {
    if ours == peers { Ok(()) } else { Err(format!("{what} differs from the expected result")) }
}

pub(crate) fn text(path: PathBuf) -> Result<String> {
    path.into_os_string().into_string().map_err(|_| "path is not UTF-8".into())
}
