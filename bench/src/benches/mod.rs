//! The benches, and what they are given.

mod bash;
mod calls;
mod list;
mod read;
mod search;
mod stop;
mod tokens;

use std::path::PathBuf;

use crate::Result;
use crate::corpus::Corpus;
use crate::fixtures::Fixtures;
use crate::options::Options;
use crate::race::Work;

/// A bench: what is done, and with whom it is compared.
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    /// The programs whose versions the report tells.
    pub(crate) peers: &'static [&'static str],
    pub(crate) needs_corpus: NeedsCorpus,
    /// What a reader of the report has to know.
    pub(crate) notes: &'static [&'static str],
    pub(crate) works: fn(&Surroundings) -> Result<Vec<Work>>,
}

pub(crate) enum NeedsCorpus {
    Yes,
    No,
}

/// THE LIST: one line per bench.
const BENCHES: &[Bench] = &[bash::BENCH, calls::BENCH, list::BENCH, read::BENCH, search::BENCH];

pub(crate) fn find(name: &str) -> Result<&'static Bench> {
    let known: Vec<_> = BENCHES.iter().map(|bench| bench.name).collect();
    BENCHES
        .iter()
        .find(|bench| bench.name == name)
        .ok_or_else(|| format!("no bench `{name}`; known: {}", known.join(", ")))
}

/// What every bench is given.
#[derive(Clone)]
pub(crate) struct Surroundings {
    /// The top of the repository.
    pub(crate) project: PathBuf,
    /// The program, built for release.
    pub(crate) eyelet: String,
    /// The `rg` that the tests compare with.
    pub(crate) rg: String,
    pub(crate) fixtures: Fixtures,
    pub(crate) corpus: Option<Corpus>,
    pub(crate) rounds: usize,
}

impl Surroundings {
    pub(crate) fn prepare(options: &Options) -> Result<Surroundings> {
        let target = options.project.join("target");
        let folder = target.join("bench");
        let eyelet = target.join("release/eyelet");
        let corpus = match find(&options.name)?.needs_corpus {
            NeedsCorpus::Yes => Some(Corpus::find(options.corpus.as_deref(), &folder)?),
            NeedsCorpus::No => None,
        };
        Ok(Surroundings {
            project: options.project.clone(),
            rg: text(target.join("tools/bin/rg"))?,
            eyelet: text(eyelet)?,
            fixtures: Fixtures { folder },
            corpus,
            rounds: options.rounds,
        })
    }
}

/// That two answers are the same, or how they are not.
fn equal<T: PartialEq>(what: &str, ours: &T, peers: &T) -> Result<()> {
    if ours == peers { Ok(()) } else { Err(format!("{what} differs from the peer's")) }
}

fn text(path: PathBuf) -> Result<String> {
    path.into_os_string().into_string().map_err(|_| "a path is not UTF-8".into())
}
