//! The surroundings of a call, from the command line and the process.

use std::env;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use eyelet::{
    DenyList, OutputStore, PathScope, PrivateTemp, Root, SandboxPolicy, SandboxSettings,
    TurnContext,
};
use eyelet_sandbox::{Network, Strictness, Supervisor, Tier, TierChoice};

use crate::args::Surroundings;
use crate::failure::Failure;

/// The turn of one call. Someone at the command line has their own rights: without `--root` nothing
/// is confined, and commands are not sandboxed.
pub(crate) fn build(surroundings: &Surroundings) -> Result<TurnContext, Failure> {
    let policy = surroundings.sandbox.map_or(SandboxPolicy::Full, Into::into);
    let spill = limited(OutputStore::per_user(temp_dir()), surroundings);
    let turn = unconfined(surroundings, policy, PrivateTemp::for_one_call)?;
    let mut turn = turn.with_output_store(Arc::new(spill));
    for root in roots(surroundings)? {
        turn = turn.with_root(root);
    }
    let folders: Vec<_> = turn.roots().map(Path::to_owned).collect();
    let turn = with_hidden(surroundings, turn, &folders)?;
    Ok(if surroundings.read_anywhere { turn.with_path_scope(PathScope::Everything) } else { turn })
}

/// Hides what `--deny` names below `roots`, and secrets as soon as anything is confined.
pub(crate) fn with_hidden(
    surroundings: &Surroundings,
    turn: TurnContext,
    roots: &[PathBuf],
) -> Result<TurnContext, Failure> {
    let is_confined = !surroundings.roots.is_empty()
        || surroundings.read_anywhere
        || turn.sandbox() != SandboxPolicy::Full;
    let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let hidden = match home {
        Some(home) if is_confined => DenyList::empty().with_secrets_in(&home),
        Some(_) | None => DenyList::empty(),
    };
    let mut folders: Vec<_> = roots.iter().map(PathBuf::as_path).collect();
    if folders.is_empty() {
        folders.push(turn.cwd());
    }
    let deny = |hidden: DenyList, glob: &String| hidden.with_glob(glob, &folders);
    let hidden = surroundings.denied.iter().try_fold(hidden, deny);
    let hidden = hidden.map_err(|error| Failure::usage(error.message))?;
    Ok(turn.with_deny_list(hidden))
}

/// The private temp folder of commands, in this one. It lasts as long as this process.
type MakeTemp = fn(PathBuf) -> PrivateTemp;

/// How commands are supervised.
fn sandbox(
    surroundings: &Surroundings,
    policy: SandboxPolicy,
    make_temp: MakeTemp,
) -> SandboxSettings {
    let mut settings = SandboxSettings::new(Supervisor::this_program())
        .with_environment_names(surroundings.environment_names.iter().cloned());
    if surroundings.network {
        settings = settings.with_network(Network::On);
    }
    if surroundings.strict {
        settings = settings.with_strictness(Strictness::Strict);
    }
    if surroundings.force_tier2 {
        settings = settings.with_tier(TierChoice::Only(Tier::Landlock));
    }
    if policy != SandboxPolicy::Full {
        settings = settings.with_private_temp(Arc::new(make_temp(temp_dir())));
    }
    settings
}

/// A turn without roots and spill folder.
pub(crate) fn unconfined(
    surroundings: &Surroundings,
    policy: SandboxPolicy,
    make_temp: MakeTemp,
) -> Result<TurnContext, Failure> {
    let cwd = working_directory(surroundings.cwd.as_deref())?;
    Ok(TurnContext::new(cwd, policy)?
        .with_sandbox_settings(Arc::new(sandbox(surroundings, policy, make_temp)))
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
pub(crate) fn limited(spill: OutputStore, surroundings: &Surroundings) -> OutputStore {
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
