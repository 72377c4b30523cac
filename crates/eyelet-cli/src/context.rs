//! Builds the `TurnContext` of a call from the flags and the process's environment.

use std::env;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use eyelet::{
    AllowedHosts, DenyList, Environment, OutputStore, PathScope, PrivateTemp, Root, SandboxPolicy,
    SandboxSettings, TurnContext,
};
use eyelet_sandbox::{Network, Strictness, Supervisor, Tier, TierChoice};

use crate::failure::Failure;
use crate::flags::ContextFlags;
use crate::{home, registries};

/// The context of one call. At the command line, nothing is confined without `--root`, and commands are
/// not sandboxed by default: people act with their own rights.
pub(crate) fn build(flags: &ContextFlags) -> Result<TurnContext, Failure> {
    let spill = limited(OutputStore::per_user(temp_dir()), flags);
    Ok(build_without_store(flags)?.with_output_store(Arc::new(spill)))
}

/// As [`build`], without a store for long output.
pub(crate) fn build_without_store(flags: &ContextFlags) -> Result<TurnContext, Failure> {
    let policy = flags.sandbox.unwrap_or(SandboxPolicy::Full);
    let mut turn = unconfined(flags, policy)?.with_hint_text(eyelet_mcp::hint_text);
    for root in roots(flags)? {
        turn = turn.with_root(root);
    }
    let folders: Vec<_> = turn.roots().map(Path::to_owned).collect();
    let deny_list = deny_list(flags, &turn, &folders)?;
    let turn = turn.with_deny_list(deny_list);
    Ok(if flags.read_anywhere { turn.with_path_scope(PathScope::Everything) } else { turn })
}

/// The deny list: the globs of `--deny` below `roots`, and secrets if anything is confined.
pub(crate) fn deny_list(
    flags: &ContextFlags,
    turn: &TurnContext,
    roots: &[PathBuf],
) -> Result<DenyList, Failure> {
    let is_confined =
        !flags.roots.is_empty() || flags.read_anywhere || turn.sandbox() != SandboxPolicy::Full;
    let deny_list = match is_confined {
        true => DenyList::empty().with_secrets(home::all(), &environment()),
        false => DenyList::empty(),
    };
    let mut folders: Vec<_> = roots.iter().map(PathBuf::as_path).collect();
    if folders.is_empty() {
        folders.push(turn.cwd());
    }
    let deny = |list: DenyList, glob: &String| list.with_glob(glob, &folders);
    let deny_list = flags.denied.iter().try_fold(deny_list, deny);
    deny_list.map_err(|error| Failure::usage(error.message))
}

/// The sandbox settings of commands.
fn sandbox_settings(
    flags: &ContextFlags,
    policy: SandboxPolicy,
) -> Result<SandboxSettings, Failure> {
    let mut settings = SandboxSettings::new(Supervisor::this_program())
        .with_environment_names(flags.environment_names.iter().cloned());
    if flags.network {
        settings = settings.with_network(Network::On);
    }
    if let Some(hosts) = allowed_hosts(flags, policy)? {
        settings = settings.with_allowed_hosts(hosts);
    }
    if flags.strict {
        settings = settings.with_strictness(Strictness::Strict);
    }
    if let Some(memory) = flags.memory {
        settings = settings.with_memory_limit(memory);
    }
    if flags.force_tier2 {
        settings = settings.with_tier(TierChoice::Only(Tier::Landlock));
    }
    // Under every policy, because this removes the directories of killed processes.
    let private_temp = PrivateTemp::session(temp_dir());
    if policy != SandboxPolicy::Full {
        settings = settings.with_private_temp(Arc::new(private_temp));
    }
    if let Some(folder) = home::cache_folder().filter(|_| policy != SandboxPolicy::Full) {
        settings = settings.with_cache_folder(folder);
    }
    for directory in opened("--writable", &flags.writable)? {
        settings = settings.with_writable(directory);
    }
    Ok(settings)
}

/// The hosts of `--allow-host`. Never ignored: commands would have the whole network, or none.
fn allowed_hosts(
    flags: &ContextFlags,
    policy: SandboxPolicy,
) -> Result<Option<AllowedHosts>, Failure> {
    let given = &flags.allowed_hosts;
    if given.is_empty() {
        return Ok(None);
    }
    if flags.network {
        return Err(Failure::usage(
            "--network allows every host; remove --network or --allow-host",
        ));
    }
    if policy == SandboxPolicy::Full {
        return Err(Failure::usage(
            "--allow-host requires a sandbox: add --sandbox workspace-write or --sandbox read-only",
        ));
    }
    let hosts = AllowedHosts::new(given.iter().cloned());
    let hosts = hosts.and_then(|hosts| hosts.with_registries(registries::of_user()));
    hosts.map(Some).map_err(|error| Failure::usage(format!("--allow-host: {}", error.message)))
}

/// A context without roots and without a store for long output.
pub(crate) fn unconfined(
    flags: &ContextFlags,
    policy: SandboxPolicy,
) -> Result<TurnContext, Failure> {
    let cwd = working_directory(flags.cwd.as_deref())?;
    Ok(TurnContext::new(cwd, policy)?
        .with_sandbox_settings(Arc::new(sandbox_settings(flags, policy)?))
        .with_environment(environment())
        .with_search_engine(flags.search_engine.unwrap_or_default()))
}

/// The variables of this process. If `HOME` is not usable, takes the home directory from the user
/// database.
fn environment() -> Environment {
    let home = home::all().into_iter().next().map(|home| ("HOME".into(), home.into()));
    env::vars_os().filter(|(name, _)| name != "HOME").chain(home).collect()
}

/// Opens the roots of the `--root` flags.
pub(crate) fn roots(flags: &ContextFlags) -> Result<Vec<Root>, Failure> {
    opened("--root", &flags.roots)
}

/// Opens the directories of a flag.
fn opened(flag: &str, directories: &[PathBuf]) -> Result<Vec<Root>, Failure> {
    let open = |directory: &PathBuf| {
        let opened = absolute(directory).and_then(Root::open);
        opened.map_err(|error| refused(flag, directory, &error))
    };
    directories.iter().map(open).collect()
}

/// The system's temp directory.
pub(crate) fn temp_dir() -> PathBuf {
    absolute(env::temp_dir()).unwrap_or_else(|_| PathBuf::from("/tmp"))
}

/// The root of a server without `--root`: the working directory, unless it is `/` or the home directory: desktop clients start servers there.
pub(crate) fn default_root(cwd: &Path) -> Option<Root> {
    let real = fs::canonicalize(cwd).ok()?;
    let is_home = |home: &PathBuf| fs::canonicalize(home).is_ok_and(|home| home == real);
    if real == Path::new("/") || home::all().iter().any(is_home) {
        return None;
    }
    Root::open(cwd).ok()
}

/// Applies `--spill-bytes`.
pub(crate) fn limited(spill: OutputStore, flags: &ContextFlags) -> OutputStore {
    match flags.spill_bytes {
        Some(bytes) => spill.with_file_limit(bytes),
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
