//! Builds the supervisor's request from the turn's policy, roots and settings.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eyelet_sandbox::{
    Network, Place, Policy, Program, Raw, RawPath, SandboxRequest, Strictness, Supervisor,
    cannot_search,
};

use crate::context::TurnContext;
use crate::exec::find_program;
use crate::exec::refusal::Refusal;
use crate::exec::sandboxed::allowed_variables;
use crate::exec::sandboxed::hidden_paths;
use crate::exec::sandboxed::npm_settings;
use crate::exec::sandboxed::package_caches::CacheFolder;
use crate::exec::sandboxed::proxy_variables;
use crate::exec::sandboxed::session_network::SessionNetwork;
use crate::exec::sandboxed::settings::SandboxSettings;
use crate::paths::root::{Root, is_removed};
use crate::protected_paths::PROTECTED_PATHS;
use crate::sandbox_policy::SandboxPolicy;
use crate::saved_output::private_dir::folders_of_user;
use crate::text::escape;

/// How often package managers try again. Without network, that only delays the error: npm prints nothing for more than
/// a minute. Pip names the reason only if it tries again.
const FEW_RETRIES: &[(&str, &str)] =
    &[("CARGO_NET_RETRY", "0"), ("NPM_CONFIG_FETCH_RETRIES", "0"), ("PIP_RETRIES", "1")];

/// Each directory that could not be searched is a mount for every command.
const MAX_CLOSED: usize = 1000;

/// A command, its sandbox and its supervisor.
#[derive(Clone, Debug)]
pub(crate) struct SupervisedCommand {
    pub(crate) supervisor: Supervisor,
    pub(crate) request: SandboxRequest,
    pub(crate) network: Arc<SessionNetwork>,
}

impl SupervisedCommand {
    /// `command` in `directory`. None if the policy is `full` and no supervisor is set.
    pub(crate) fn new(
        turn: &TurnContext,
        command: &str,
        directory: &Path,
    ) -> Result<Option<SupervisedCommand>, Refusal> {
        let policy = match turn.sandbox() {
            SandboxPolicy::ReadOnly => Policy::ReadOnly,
            SandboxPolicy::WorkspaceWrite => Policy::WorkspaceWrite,
            SandboxPolicy::Full => Policy::Full,
            SandboxPolicy::Off => {
                return Err(Refusal::Unavailable("commands are disabled".to_owned()));
            }
        };
        let (settings, reason) = match &turn.settings {
            _ if !cfg!(target_os = "linux") => (None, "sandboxing requires Linux"),
            settings => {
                (settings.as_ref(), "the host did not call TurnContext::with_sandbox_settings")
            }
        };
        let Some(settings) = settings else {
            return match policy {
                Policy::Full => Ok(None),
                Policy::ReadOnly | Policy::WorkspaceWrite => {
                    Err(Refusal::Unavailable(reason.to_owned()))
                }
            };
        };
        if policy == Policy::Full && settings.session_network.hosts.is_some() {
            let reason = "allowed hosts require a sandbox, and the policy `full` has none";
            return Err(Refusal::Unavailable(reason.to_owned()));
        }
        let caches = package_caches(turn, settings, directory);
        let program = program(turn, settings, caches.as_ref(), command, directory);
        let mut request = SandboxRequest::new(policy, Some(program));
        request.memory = settings.memory;
        if policy != Policy::Full {
            let caches = caches.iter().map(|caches| place(caches.root()));
            request.caches = caches.collect::<std::io::Result<_>>()?;
            confine(&mut request, turn, settings)?;
        }
        Ok(Some(SupervisedCommand {
            supervisor: settings.supervisor.clone(),
            request,
            network: Arc::clone(&settings.session_network),
        }))
    }
}

fn program(
    turn: &TurnContext,
    settings: &SandboxSettings,
    caches: Option<&CacheFolder>,
    command: &str,
    directory: &Path,
) -> Program {
    let mut environment: Vec<(OsString, OsString)> = if turn.sandbox() == SandboxPolicy::Full {
        let own = turn.environment.iter();
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        own.chain([("TERM".into(), "dumb".into()), ("NO_COLOR".into(), "1".into())]).collect()
    } else {
        let requested = &settings.environment_names;
        let mut allowed = allowed_variables::allowed(&turn.environment, settings);
        let mut moved = caches.map(|caches| redirected(turn, settings, caches)).unwrap_or_default();
        moved.retain(|(name, _)| !requested.contains(name));
        allowed.retain(|(name, _)| !moved.iter().any(|(moved, _)| moved == name));
        allowed.extend(moved);
        allowed
    };
    if let Some(hosts) = &settings.session_network.hosts {
        proxy_variables::set(&mut environment, hosts.proxy_address());
    } else if turn.sandbox() != SandboxPolicy::Full && settings.network == Network::Off {
        let is_set = |name: &str| environment.iter().any(|(set, _)| set == name);
        let missing = FEW_RETRIES.iter().filter(|(name, _)| !is_set(name));
        let missing = missing.map(|(name, count)| (name.into(), count.into()));
        environment.extend(missing.collect::<Vec<_>>());
    }
    environment.push(("PWD".into(), directory.into()));
    Program {
        file: find_program::shell(&turn.environment),
        arguments: find_program::shell_arguments(command)
            .map(|argument| Raw(argument.into()))
            .into(),
        environment: environment.into_iter().map(|(name, value)| (Raw(name), Raw(value))).collect(),
    }
}

fn confine(
    request: &mut SandboxRequest,
    turn: &TurnContext,
    settings: &SandboxSettings,
) -> Result<(), Refusal> {
    request.tier = settings.tier;
    request.network = settings.network;
    if let Some(hosts) = &settings.session_network.hosts {
        request.listen = [hosts.proxy_address()].into_iter().chain(hosts.forwarded()).collect();
    }
    request.strictness = settings.strictness;
    request.roots =
        turn.roots.iter().map(|root| place(root)).collect::<std::io::Result<Vec<_>>>()?;
    if turn.roots.is_empty() {
        request.roots = vec![working_directory(turn)?];
    }
    for writable in &settings.writable {
        request.roots.push(place(writable)?);
    }
    // Commands run without a temp folder if it cannot be created.
    let temp = settings.private_temp.as_ref().and_then(|temp| temp.create().ok());
    request.private_temp = temp.map(|temp| place(&temp)).transpose()?;
    request.home = readable_home(request, turn);
    let output_store = turn.output_store.as_ref().and_then(|output_store| output_store.root());
    request.spill = output_store.map(|output_store| place(&output_store)).transpose()?;
    let roots: Vec<_> = request.roots.iter().map(|root| root.path.as_path()).collect();
    request.protected = PROTECTED_PATHS.iter().map(|path| RawPath::from(*path)).collect();
    let denied = settings.denied_paths.below(&turn.deny_list, &roots);
    let denied = denied.map_err(Refusal::Unavailable)?;
    let mut closed = denied.closed;
    if request.policy == Policy::WorkspaceWrite {
        let repositories = settings.repositories.below(&roots)?;
        request.repositories = repositories.folders.iter().map(RawPath::from).collect();
        request.worktrees = repositories.worktrees;
        let is_outside = |path: &Path| !roots.iter().any(|root| path.starts_with(root));
        request.worktrees.retain(|worktree| {
            let common = &worktree.common.path;
            is_outside(common) && !turn.deny_list.denies(common)
        });
        closed.extend(repositories.closed);
    }
    check_closed(&closed, &roots)?;
    request.denies_globs = !turn.deny_list.globs().is_empty();
    let others = other_sessions(request);
    let places = request.roots.iter().chain(&request.private_temp).chain(&request.spill);
    let visible: Vec<_> = places.map(|place| place.path.as_path()).collect();
    let listed = hidden_paths::existing(turn.deny_list.paths(), &visible);
    // They stay closed to commands: nobody knows what is in them.
    let all = listed.into_iter().chain(denied.paths).chain(closed).chain(others);
    request.hidden = all.map(RawPath::from).collect();
    Ok(())
}

/// The directory for the caches of package managers, for commands in `directory`. Commands run without it if it
/// cannot be created.
fn package_caches(
    turn: &TurnContext,
    settings: &SandboxSettings,
    directory: &Path,
) -> Option<CacheFolder> {
    let caches = settings.package_caches.as_ref();
    let caches = caches.filter(|_| turn.sandbox() == SandboxPolicy::WorkspaceWrite)?;
    let holds = |root: &&Arc<Root>| root.strip(directory).is_some();
    let root = turn.roots.iter().filter(holds).max_by_key(|root| root.path().components().count());
    let root = root.or(turn.roots.first()).map_or(turn.cwd(), |root| root.real_path());
    caches.of(root).ok()
}

/// The variables with which package managers use `caches` instead of the user's own.
fn redirected(
    turn: &TurnContext,
    settings: &SandboxSettings,
    caches: &CacheFolder,
) -> Vec<(OsString, OsString)> {
    let mut variables = caches.variables(settings.has_network());
    let below_home =
        |name: &str| turn.environment.get("HOME").map(|home| Path::new(home).join(name));
    if settings.has_network() {
        let own = turn.environment.get("GOPATH").map(PathBuf::from).or_else(|| below_home("go"));
        variables.push(caches.go_path(own.as_deref()));
    }
    if settings.has_network() && settings.strictness == Strictness::Ordinary {
        let cargo = turn.environment.get("CARGO_HOME").map(PathBuf::from);
        let cargo = cargo.or_else(|| below_home(".cargo"));
        if let Some(cargo) = cargo {
            // Without them, cargo uses the public registry.
            let names = ["config.toml", "config"].map(|name| cargo.join(name));
            let config = names.iter().find(|config| config.is_file()).or(names.first());
            let _ = config.map(|config| caches.link_cargo_config(config));
        }
    }
    let npmrc = npm_settings::without_credentials(&turn.environment);
    if let Some(Ok(file)) = npmrc.map(|npmrc| caches.save_npmrc(npmrc.as_bytes())) {
        variables.push(("NPM_CONFIG_USERCONFIG".into(), file.into()));
    }
    variables
}

/// Fails if the directories that could not be searched cannot be hidden.
fn check_closed(closed: &[PathBuf], roots: &[&Path]) -> Result<(), Refusal> {
    let holds_root = |closed: &&PathBuf| roots.iter().any(|root| root.starts_with(closed));
    let first = closed.iter().find(holds_root).or(closed.get(MAX_CLOSED));
    match first {
        Some(first) => Err(Refusal::Unavailable(cannot_search(escape::name(first.as_os_str())))),
        None => Ok(()),
    }
}

/// The saved output and temp directories of other sessions. Those in a root cannot be hidden in every tier,
/// and its user has opened them to commands.
fn other_sessions(request: &SandboxRequest) -> Vec<PathBuf> {
    let own: Vec<_> = request.private_temp.iter().chain(&request.spill).collect();
    let mut temp_dirs: Vec<_> = own.iter().filter_map(|place| place.path.parent()).collect();
    temp_dirs.dedup();
    let mut folders: Vec<_> = temp_dirs.into_iter().flat_map(folders_of_user).collect();
    folders.retain(|folder| {
        let is_own = own.iter().any(|place| place.path == *folder);
        !is_own && !request.roots.iter().any(|root| folder.starts_with(&root.path))
    });
    folders
}

/// The workspace if the turn has no roots.
fn working_directory(turn: &TurnContext) -> Result<Place, Refusal> {
    let root = Root::open(turn.cwd())?;
    let place = place(&root)?;
    if turn.sandbox() == SandboxPolicy::WorkspaceWrite && home(turn).as_ref() == Some(&place.path) {
        let reason = "the working directory is the home directory, and no roots are configured";
        return Err(Refusal::Unavailable(reason.to_owned()));
    }
    Ok(place)
}

/// The home, if commands may read it. A home that is reached through a symlink or lies in a root does not
/// count: a command could replace it by a symlink, and the next command would see the target.
fn readable_home(request: &SandboxRequest, turn: &TurnContext) -> Option<Place> {
    let home = home(turn)?;
    let is_fixed = turn.environment.get("HOME") == Some(home.as_os_str())
        && !request.roots.iter().any(|root| home.starts_with(&root.path));
    let is_readable = request.strictness == Strictness::Ordinary && is_fixed;
    is_readable.then(|| place(&Root::open(home).ok()?).ok())?
}

fn home(turn: &TurnContext) -> Option<PathBuf> {
    std::fs::canonicalize(turn.environment.get("HOME")?).ok()
}

/// The current path of a root, even if it was renamed after it was opened.
fn place(root: &Root) -> std::io::Result<Place> {
    let handle: BorrowedFd<'_> = root.handle();
    if is_removed(handle)? {
        let reason = format!("the root `{}` was removed", escape::name(root.path().as_os_str()));
        return Err(std::io::Error::new(std::io::ErrorKind::NotFound, reason));
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd()))?;
    // The standard library's type for these numbers is the same on all systems.
    let found = File::from(handle.try_clone_to_owned()?).metadata()?;
    Ok(Place { path, identity: (found.dev(), found.ino()) })
}
