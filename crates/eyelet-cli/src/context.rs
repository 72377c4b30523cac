//! Builds the `TurnContext` of a call from the flags and the process's environment.

use std::env;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use eyelet::{
    DenyList, OutputStore, PathScope, PrivateTemp, Root, SandboxPolicy, SandboxSettings,
    TurnContext,
};
use eyelet_sandbox::{Network, Strictness, Supervisor, Tier, TierChoice};

use crate::failure::Failure;
use crate::flags::ContextFlags;

/// The context of one call. At the command line, nothing is confined without `--root`, and commands are
/// not sandboxed by default: people act with their own rights.
pub(crate) fn build(flags: &ContextFlags) -> Result<TurnContext, Failure> {
    let policy = flags.sandbox.unwrap_or(SandboxPolicy::Full);
    let spill = limited(OutputStore::per_user(temp_dir()), flags);
    let turn = unconfined(flags, policy, PrivateTemp::for_one_call)?;
    let mut turn = turn.with_output_store(Arc::new(spill));
    for root in roots(flags)? {
        turn = turn.with_root(root);
    }
    let folders: Vec<_> = turn.roots().map(Path::to_owned).collect();
    let turn = with_deny_list(flags, turn, &folders)?;
    Ok(if flags.read_anywhere { turn.with_path_scope(PathScope::Everything) } else { turn })
}

/// Adds the deny list: the globs of `--deny` below `roots`, and secrets if anything is confined.
pub(crate) fn with_deny_list(
    flags: &ContextFlags,
    turn: TurnContext,
    roots: &[PathBuf],
) -> Result<TurnContext, Failure> {
    let is_confined =
        !flags.roots.is_empty() || flags.read_anywhere || turn.sandbox() != SandboxPolicy::Full;
    let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let deny_list = match home {
        Some(home) if is_confined => DenyList::empty().with_secrets_in(&home),
        Some(_) | None => DenyList::empty(),
    };
    let mut folders: Vec<_> = roots.iter().map(PathBuf::as_path).collect();
    if folders.is_empty() {
        folders.push(turn.cwd());
    }
    let deny = |list: DenyList, glob: &String| list.with_glob(glob, &folders);
    let deny_list = flags.denied.iter().try_fold(deny_list, deny);
    let deny_list = deny_list.map_err(|error| Failure::usage(error.message))?;
    Ok(turn.with_deny_list(deny_list))
}

/// Creates the private temp directory of commands inside the given one. It lasts as long as this process.
type MakeTemp = fn(PathBuf) -> PrivateTemp;

/// The sandbox settings of commands.
fn sandbox_settings(
    flags: &ContextFlags,
    policy: SandboxPolicy,
    make_temp: MakeTemp,
) -> SandboxSettings {
    let mut settings = SandboxSettings::new(Supervisor::this_program())
        .with_environment_names(flags.environment_names.iter().cloned());
    if flags.network {
        settings = settings.with_network(Network::On);
    }
    if flags.strict {
        settings = settings.with_strictness(Strictness::Strict);
    }
    if flags.force_tier2 {
        settings = settings.with_tier(TierChoice::Only(Tier::Landlock));
    }
    if policy != SandboxPolicy::Full {
        settings = settings.with_private_temp(Arc::new(make_temp(temp_dir())));
    }
    settings
}

/// A context without roots and without a store for long output.
pub(crate) fn unconfined(
    flags: &ContextFlags,
    policy: SandboxPolicy,
    make_temp: MakeTemp,
) -> Result<TurnContext, Failure> {
    let cwd = working_directory(flags.cwd.as_deref())?;
    Ok(TurnContext::new(cwd, policy)?
        .with_sandbox_settings(Arc::new(sandbox_settings(flags, policy, make_temp)))
        .with_environment(env::vars_os().collect())
        .with_search_engine(flags.search_engine.unwrap_or_default()))
}

/// Opens the roots of the `--root` flags.
pub(crate) fn roots(flags: &ContextFlags) -> Result<Vec<Root>, Failure> {
    let open = |root: &PathBuf| {
        let opened = absolute(root).and_then(Root::open);
        opened.map_err(|error| refused("--root", root, &error))
    };
    flags.roots.iter().map(open).collect()
}

/// The directory for saved output.
pub(crate) fn temp_dir() -> PathBuf {
    absolute(env::temp_dir()).unwrap_or_else(|_| PathBuf::from("/tmp"))
}

/// The root of a server without `--root`: the working directory, unless it is `/` or the home directory: desktop clients start servers there.
pub(crate) fn default_root(cwd: &Path) -> Option<Root> {
    let real = fs::canonicalize(cwd).ok()?;
    let home = env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok());
    if real == Path::new("/") || Some(&real) == home.as_ref() {
        return None;
    }
    Root::open(cwd).ok()
}

/// Applies `--spill-bytes`.
pub(crate) fn limited(spill: OutputStore, flags: &ContextFlags) -> OutputStore {
    match flags.spill_bytes {
        Some(bytes) => spill.with_limits(bytes, bytes.saturating_mul(4)),
        None => spill,
    }
}

fn working_directory(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(given) = given else {
        return env::current_dir().map_err(|error| {
            Failure::usage(format!(
                "cannot determine the working directory: {error}; set one with --cwd DIR"
            ))
        });
    };
    let found = absolute(given).and_then(|path| {
        let is_dir = fs::metadata(&path)?.is_dir();
        is_dir.then_some(path).ok_or(std::io::ErrorKind::NotADirectory.into())
    });
    found.map_err(|error| refused("--cwd", given, &error))
}

fn refused(flag: &str, path: &Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    Failure::usage(format!("{flag}: cannot open the directory `{path}`: {error}"))
}
