//! Finds out what the sandbox refused to a command.
//!
//! Refusals that the supervisor counted are certain. Everything else is a guess from the output of the command.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use rustix::fs::Access;

use crate::context::TurnContext;
use crate::error::{Hint, Permission};
use crate::exec::outcome::{CommandEnd, CommandOutcome, Findings};
use crate::exec::sandbox_facts::{NetworkAccess, SandboxFacts};
use crate::protected_paths::PROTECTED_PATHS;
use crate::sandbox_policy::SandboxPolicy;
use crate::text::blocked::{Blocked, BlockedAction, Certainty, summarize};
use crate::text::blocked_change;
use crate::text::command_reply::{MAX_NOTED_PATH_BYTES, StreamReport};
use crate::text::escape;
use crate::text::http_refusal;
use crate::text::leading_cd;
use crate::text::stderr_clues::{self, Clue, Refuses};
use crate::text::truncate;

/// What the supervisor protects in a folder of git.
const GIT_NAMES: &[&str] =
    &["branches", "commondir", "config", "config.worktree", "hooks", "remotes"];
/// Nobody stores files there.
const SYSTEM: &[&str] = &["/dev", "/proc", "/sys"];
/// How many different paths of the output are examined.
const MAX_PATHS: usize = 100;

/// Finds the actions that the sandbox refused to `command`, which ran in `cwd`. Finds nothing if
/// the command succeeded, except for a git checkout: git reports success although it did not update
/// a file.
pub(crate) fn find(
    outcome: &CommandOutcome,
    command: &str,
    cwd: &Path,
    turn: &TurnContext,
) -> Findings {
    let Some(sandbox) = &outcome.sandbox else { return Findings::default() };
    let checkout = blocked_checkout(outcome, command, turn);
    if matches!(outcome.end, CommandEnd::Exited(0)) {
        return Findings { entries: checkout.into_iter().collect(), ..Findings::default() };
    }
    let counted = outcome.blocked.iter().cloned().map(|entry| past_proxy(entry, sandbox.network));
    let mut entries: Vec<Blocked> = checkout.into_iter().chain(counted).collect();
    let mut allow: Vec<Permission> = Vec::new();
    let place = Place { sandbox, folder: starting_folder(command, cwd, turn), turn };
    for clue in clues(outcome, command, sandbox.refuses) {
        match clue {
            Clue::Connect if sandbox.network == NetworkAccess::Everything => {}
            Clue::Connect => entries.push(Blocked::connect(None, Certainty::Probable, 1)),
            Clue::UnixSocket => entries.push(Blocked::probably(BlockedAction::UnixSocket)),
            Clue::Write(path) => {
                if let Some((action, permission)) = place.blocked_write(path) {
                    allow.extend(permission);
                    entries.push(Blocked::probably(action));
                }
            }
        }
    }
    let is_connect = |entry: &Blocked| matches!(entry.action, BlockedAction::Connect { .. });
    let is_past_proxy = |entry: &Blocked| entry.action == BlockedAction::PastProxy;
    let has_refused_hosts = entries.iter().any(is_connect);
    for status in texts(outcome, command).filter_map(http_refusal::find) {
        // The proxy refuses hosts with the status 403.
        let is_proxys = has_refused_hosts && status == 403;
        if sandbox.network != NetworkAccess::Nothing && !is_proxys {
            allow.push(Permission::Token);
            entries.push(Blocked::probably(BlockedAction::Credentials { status }));
        }
    }
    if entries.iter().any(is_past_proxy) {
        allow.insert(0, Permission::Network);
    }
    if has_refused_hosts {
        allow.insert(
            0,
            match sandbox.refuses {
                Refuses::ByMounts => Permission::Hosts,
                Refuses::ByRules => Permission::Network,
            },
        );
    }
    let mut seen = Vec::new();
    allow.retain(|one| {
        !seen.contains(one) && {
            seen.push(*one);
            true
        }
    });
    let (entries, more) = summarize(entries);
    Findings { entries, more, hint: (!allow.is_empty()).then_some(Hint::Allow(allow)) }
}

/// The shown part of stderr, and of stdout if the command redirects its stderr there.
fn texts<'o>(outcome: &'o CommandOutcome, command: &str) -> impl Iterator<Item = &'o str> {
    let is_joined = ["2>&1", "&>", "|&"].iter().any(|words| command.contains(words));
    let streams = [Some(&outcome.stderr), is_joined.then_some(&outcome.stdout)];
    let texts = streams.into_iter().flatten().flat_map(|one| [Some(one.text()), one.tail()]);
    texts.flatten()
}

/// The clues in the output.
fn clues<'o>(outcome: &'o CommandOutcome, command: &str, refuses: Refuses) -> Vec<Clue<'o>> {
    let clues = texts(outcome, command).flat_map(|text| stderr_clues::find(text, refuses));
    let mut paths = BTreeMap::new();
    clues
        .filter(|clue| match clue {
            Clue::Connect | Clue::UnixSocket => true,
            Clue::Write(path) => {
                let number = paths.len();
                *paths.entry(*path).or_insert(number) < MAX_PATHS
            }
        })
        .collect()
}

/// With allowed hosts, the kernel counts the connections of programs that do not use the proxy.
fn past_proxy(entry: Blocked, network: NetworkAccess) -> Blocked {
    match (&entry.action, network) {
        (BlockedAction::Connect { host: None }, NetworkAccess::AllowedHosts) => {
            Blocked { action: BlockedAction::PastProxy, ..entry }
        }
        _ => entry,
    }
}

/// The directory in which most of the command ran: commands often begin with `cd DIR &&`.
fn starting_folder(command: &str, cwd: &Path, turn: &TurnContext) -> PathBuf {
    leading_cd::find(command).map_or_else(|| cwd.to_owned(), |folder| joined(cwd, folder, turn))
}

/// The path, with `~` for the home directory.
fn joined(folder: &Path, path: &str, turn: &TurnContext) -> PathBuf {
    let home = turn.environment.get("HOME").map(Path::new);
    let below_home = match path {
        "~" => Some(""),
        path => path.strip_prefix("~/"),
    };
    match (below_home, home) {
        (Some(below), Some(home)) => home.join(below),
        _ => folder.join(path),
    }
}

/// Where paths in the output of a command lead.
struct Place<'a> {
    sandbox: &'a SandboxFacts,
    /// Where relative paths start.
    folder: PathBuf,
    turn: &'a TurnContext,
}

impl Place<'_> {
    /// The refused action if a write to `path` failed, and how to allow it. `None` if the sandbox
    /// is not the reason of the failure.
    fn blocked_write(&self, path: &str) -> Option<(BlockedAction, Option<Permission>)> {
        let path = normalized(&joined(&self.folder, path, self.turn));
        let mut roots = self.turn.roots().chain([self.turn.cwd()]);
        let below_root = roots.find_map(|root| path.strip_prefix(root).ok());
        let is_protected = match below_root {
            Some(below) => is_protected(below, PROTECTED_PATHS) || is_git_setting(below),
            // Other repositories would be protected in a writable directory too.
            None => is_git_setting(&path),
        };
        let is_writable = self.sandbox.is_writable(&path);
        if is_protected && (is_writable || is_writable_by_user(&path)) {
            let path = below_root.map_or_else(|| self.shown_from_home(&path), shown);
            return Some((BlockedAction::Change { path }, None));
        }
        let is_hidden = self.sandbox.hidden.iter().any(|hidden| path.starts_with(hidden));
        let is_system = SYSTEM.iter().any(|folder| path.starts_with(folder));
        if (is_writable && !is_hidden) || is_system || !is_writable_by_user(&path) {
            return None;
        }
        if is_hidden && self.sandbox.refuses == Refuses::ByRules {
            // It may as well have been read.
            return None;
        }
        let is_read_only = self.turn.sandbox() == SandboxPolicy::ReadOnly;
        let permission = match below_root {
            Some(_) if is_read_only => Permission::WriteRoots,
            Some(_) | None => Permission::Write,
        };
        let path = self.shown_from_home(&path);
        Some((BlockedAction::Write { path }, (!is_hidden).then_some(permission)))
    }

    /// With `~` for the home directory.
    fn shown_from_home(&self, path: &Path) -> String {
        let home = self.turn.environment.get("HOME").map(Path::new);
        match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", shown(below)),
            None => shown(path),
        }
    }
}

/// Whether the path leads to one of the protected ones, at its top or in a work tree below.
fn is_protected(path: &Path, protected: &[&str]) -> bool {
    let mut rest = path.components();
    loop {
        if protected.iter().any(|path| rest.as_path().starts_with(path)) {
            return true;
        }
        if rest.next().is_none() {
            return false;
        }
    }
}

/// Whether the path leads to a protected path of a repository, its submodules or its worktrees.
fn is_git_setting(path: &Path) -> bool {
    let is_setting = |name: &OsStr| GIT_NAMES.iter().any(|setting| name == *setting);
    let mut inside = path.iter().skip_while(|name| *name != ".git").skip(1);
    match inside.next() {
        // Deeper, other files may have these names too, such as `refs/remotes/origin/main`.
        Some(first) if first == "modules" || first == "worktrees" => {
            let folder = path.parent().and_then(Path::file_name);
            path.file_name().is_some_and(is_setting) || folder.is_some_and(|name| name == "hooks")
        }
        first => first.is_some_and(is_setting),
    }
}

/// Whether the user could write to the path, or create it, without the sandbox.
fn is_writable_by_user(path: &Path) -> bool {
    let existing = path.ancestors().find(|path| path.symlink_metadata().is_ok());
    existing.is_some_and(|path| rustix::fs::access(path, Access::WRITE_OK).is_ok())
}

/// Without `.` and `..`. Symlinks do not matter for a guess.
fn normalized(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            other @ (Component::RootDir | Component::Normal(_) | Component::Prefix(_)) => {
                whole.push(other);
            }
        }
    }
    whole
}

fn shown(path: &Path) -> String {
    let shown = escape::name(path.as_os_str());
    truncate::at_most(&shown, MAX_NOTED_PATH_BYTES).to_owned()
}

/// The settings file that a checkout could not change. Git reports success all the same, and regards the file
/// as changed.
fn blocked_checkout(
    outcome: &CommandOutcome,
    command: &str,
    turn: &TurnContext,
) -> Option<Blocked> {
    if turn.sandbox() != SandboxPolicy::WorkspaceWrite {
        return None;
    }
    let CommandOutcome { stderr, reverted, .. } = outcome;
    let (certainty, path) = match change_in(stderr) {
        Some(path) => (Certainty::Probable, escape::text(path)),
        None => {
            let restored = reverted.iter().find(|entry| entry.is_restored_setting())?;
            let is_git = blocked_change::names_git(command);
            let mut roots = turn.roots();
            let below = roots.find_map(|root| restored.path.strip_prefix(root).ok());
            (Certainty::Certain, escape::name(below.filter(|_| is_git)?.as_os_str()))
        }
    };
    let path = truncate::at_most(&path, MAX_NOTED_PATH_BYTES).to_owned();
    Some(Blocked { action: BlockedAction::Checkout { path }, certainty, count: 1 })
}

fn change_in(stderr: &StreamReport) -> Option<&str> {
    let texts = [Some(stderr.text()), stderr.tail()];
    texts.into_iter().flatten().find_map(|text| blocked_change::find(text, PROTECTED_PATHS))
}
