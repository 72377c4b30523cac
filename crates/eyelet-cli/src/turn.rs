//! The surroundings of a call, from the command line and the process.

use std::env;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use eyelet::{Root, SandboxPolicy, Spill, TurnContext};

use crate::args::Surroundings;
use crate::failure::Failure;

/// The turn of one call. Someone at the command line has their own rights: without `--root` nothing
/// is confined, and commands are not sandboxed.
pub(crate) fn build(surroundings: &Surroundings) -> Result<TurnContext, Failure> {
    let spill = limited(Spill::per_user(temp_dir()), surroundings);
    let mut turn = unconfined(surroundings, SandboxPolicy::Full)?.with_spill(Arc::new(spill));
    for root in roots(surroundings)? {
        turn = turn.with_root(root);
    }
    Ok(turn)
}

/// A turn without roots and spill folder.
pub(crate) fn unconfined(
    surroundings: &Surroundings,
    sandbox: SandboxPolicy,
) -> Result<TurnContext, Failure> {
    let cwd = working_directory(surroundings.cwd.as_deref())?;
    Ok(TurnContext::new(cwd, sandbox)?
        .with_environment(env::vars_os().collect())
        .with_search_engine(surroundings.search_engine.map(Into::into).unwrap_or_default()))
}

/// The roots that were named.
pub(crate) fn roots(surroundings: &Surroundings) -> Result<Vec<Root>, Failure> {
    let open = |root: &PathBuf| {
        let opened = absolute(root).and_then(Root::open);
        opened.map_err(|error| refused("--root", root, &error))
    };
    surroundings.roots.iter().map(open).collect()
}

/// Where the output of commands is kept.
pub(crate) fn temp_dir() -> PathBuf {
    absolute(env::temp_dir()).unwrap_or_else(|_| PathBuf::from("/tmp"))
}

/// With the limits that were asked for.
pub(crate) fn limited(spill: Spill, surroundings: &Surroundings) -> Spill {
    match surroundings.spill_bytes {
        Some(bytes) => spill.with_limits(bytes, bytes.saturating_mul(4)),
        None => spill,
    }
}

fn working_directory(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(asked) = asked else {
        return env::current_dir().map_err(|error| {
            Failure::usage(format!("the working directory is gone ({error}); name one with --cwd"))
        });
    };
    let found = absolute(asked).and_then(|path| {
        let is_dir = fs::metadata(&path)?.is_dir();
        is_dir.then_some(path).ok_or(std::io::ErrorKind::NotADirectory.into())
    });
    found.map_err(|error| refused("--cwd", asked, &error))
}

fn refused(flag: &str, path: &Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    Failure::usage(format!("{flag} needs a directory that can be opened, not `{path}`: {error}"))
}
