//! Builds the supervisor's request from the turn's policy, roots and settings.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use eyelet_sandbox::{
    Place, Policy, Program, Raw, RawPath, SandboxRequest, Strictness, Supervisor,
};

use crate::context::TurnContext;
use crate::exec::allowed_variables;
use crate::exec::denied_paths;
use crate::exec::find_program;
use crate::exec::refusal::Refusal;
use crate::paths::root::{Root, is_removed};
use crate::sandbox_settings::{PROTECTED, SandboxPolicy, SandboxSettings};
use crate::text::escape;

/// A command, its sandbox and its supervisor.
#[derive(Clone, Debug)]
pub(crate) struct SupervisedCommand {
    pub(crate) supervisor: Supervisor,
    pub(crate) request: SandboxRequest,
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
            settings => (settings.as_ref(), "the host configured no supervisor"),
        };
        let Some(settings) = settings else {
            return match policy {
                Policy::Full => Ok(None),
                Policy::ReadOnly | Policy::WorkspaceWrite => {
                    Err(Refusal::Unavailable(reason.to_owned()))
                }
            };
        };
        let program = program(turn, settings, command, directory);
        let mut request = SandboxRequest::new(policy, Some(program));
        if policy != Policy::Full {
            confine(&mut request, turn, settings)?;
        }
        Ok(Some(SupervisedCommand { supervisor: settings.supervisor.clone(), request }))
    }
}

fn program(
    turn: &TurnContext,
    settings: &SandboxSettings,
    command: &str,
    directory: &Path,
) -> Program {
    let mut environment: Vec<(OsString, OsString)> = if turn.sandbox() == SandboxPolicy::Full {
        let own = turn.environment.iter();
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        own.chain([("TERM".into(), "dumb".into()), ("NO_COLOR".into(), "1".into())]).collect()
    } else {
        allowed_variables::allowed(&turn.environment, &settings.environment_names)
    };
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
    request.strictness = settings.strictness;
    request.roots =
        turn.roots.iter().map(|root| place(root)).collect::<std::io::Result<Vec<_>>>()?;
    if turn.roots.is_empty() {
        request.roots = vec![working_directory(turn)?];
    }
    // Commands run without a temp folder if it cannot be created.
    let temp = settings.private_temp.as_ref().and_then(|temp| temp.create().ok());
    request.private_temp = temp.map(|temp| place(&temp)).transpose()?;
    request.home = readable_home(request, turn);
    let output_store = turn.output_store.as_ref().and_then(|output_store| output_store.root());
    request.spill = output_store.map(|output_store| place(&output_store)).transpose()?;
    request.protected = PROTECTED.iter().map(|path| RawPath::from(*path)).collect();
    if request.policy == Policy::WorkspaceWrite {
        let roots = request.roots.iter().map(|root| root.path.clone()).collect();
        let nested = settings.nested.below(roots);
        request.nested = nested.iter().map(RawPath::from).collect();
    }
    request.denies_globs = !turn.deny_list.globs().is_empty();
    let denied = settings.denied_paths.get_or_init(|| {
        if turn.deny_list.globs().is_empty() {
            return Ok(Vec::new());
        }
        denied_paths::paths(&turn.deny_list, request.roots.iter().map(|root| root.path.as_path()))
    });
    let denied = denied.as_ref().map_err(|reason| Refusal::Unavailable(reason.clone()))?;
    request.hidden = turn.deny_list.paths().iter().chain(denied).map(RawPath::from).collect();
    Ok(())
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
