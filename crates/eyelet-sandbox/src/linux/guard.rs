//! Protected paths: what a command made of them is undone when nothing of it is left.
//!
//! In the first tier mounts keep what is there, and only what was absent or is a link is looked
//! after here. In the second tier this is all the protection there is. Paths are walked by handle and
//! never through a link, because the command may have left one anywhere.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::layout::Layout;
use super::snapshot::{Room, Snapshot, random_name, relocate};
use crate::request::{Policy, Reverted, SandboxRequest, Strictness, Tier};

const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The folder in the private temp folder that takes what was undone.
const REVERTED: &str = "eyelet-reverted";

/// Everything that is looked after during one command.
pub(super) struct Guard {
    watched: Vec<Watched>,
}

struct Watched {
    root: PathBuf,
    below: PathBuf,
    before: Option<Snapshot>,
}

impl Guard {
    /// Remembers what is there now.
    pub(super) fn new(request: &SandboxRequest, tier: Tier) -> io::Result<Self> {
        let mut watched = Vec::new();
        if request.policy == Policy::WorkspaceWrite {
            let mut room = Room::new();
            for (root, below) in places(request) {
                let before = take(&root, &below, &mut room)?;
                let is_kept_by_mounts =
                    tier == Tier::Namespaces && before.is_some() && !root.join(&below).is_symlink();
                if !is_kept_by_mounts {
                    watched.push(Watched { root, below, before });
                }
            }
        }
        Ok(Guard { watched })
    }

    /// Undoes what has changed.
    pub(super) fn restore(self, request: &SandboxRequest, tier: Tier) -> Vec<Reverted> {
        let mut reverted = Vec::new();
        for watched in self.watched {
            let now = take(&watched.root, &watched.below, &mut Room::new());
            if now.as_ref().is_ok_and(|now| *now == watched.before) {
                continue;
            }
            let is_there = !matches!(now, Ok(None));
            let path = watched.root.join(&watched.below);
            // What cannot be undone is not said to be.
            if let Ok(Some(moved_to)) = watched.undo(is_there, request, tier) {
                reverted.push(Reverted { path: path.into(), moved_to: moved_to.map(Into::into) });
            }
        }
        reverted
    }
}

impl Watched {
    /// Moves away what is there, and puts back what was. None where there is nothing to put it in.
    fn undo(
        &self,
        is_there: bool,
        request: &SandboxRequest,
        tier: Tier,
    ) -> io::Result<Option<Option<PathBuf>>> {
        let Some((parent, name)) = parent(&self.root, &self.below)? else { return Ok(None) };
        let place = by_handle(&parent, name);
        let moved_to =
            if is_there { Some(self.move_away(&place, name, request, tier)?) } else { None };
        if let Some(before) = &self.before {
            before.put(&place)?;
        }
        Ok(Some(moved_to))
    }

    fn move_away(
        &self,
        place: &Path,
        name: &OsStr,
        request: &SandboxRequest,
        tier: Tier,
    ) -> io::Result<PathBuf> {
        let new_name = random_name(name)?;
        if let Some(temp) = &request.private_temp {
            let moved = session_folder(&temp.path)
                .and_then(|folder| relocate(place, &by_handle(&folder, &new_name)));
            if moved.is_ok() {
                let path = temp.path.join(REVERTED).join(&new_name);
                return Ok(Layout::of(request, tier).inside(&path));
            }
        }
        // Beside it, under a name that no program looks for.
        let mut beside = OsStr::new("eyelet-reverted-").to_owned();
        beside.push(&new_name);
        fs::rename(place, place.with_file_name(&beside))?;
        Ok(self.root.join(&self.below).with_file_name(beside))
    }
}

fn session_folder(temp: &Path) -> io::Result<OwnedFd> {
    let temp = openat(CWD, temp, FOLDER, Mode::empty())?;
    match rustix::fs::mkdirat(&temp, REVERTED, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(openat(&temp, REVERTED, FOLDER, Mode::empty())?)
}

fn take(root: &Path, below: &Path, room: &mut Room) -> io::Result<Option<Snapshot>> {
    match parent(root, below)? {
        Some((parent, name)) => Snapshot::take(&by_handle(&parent, name), room),
        None => Ok(None),
    }
}

/// The folder that holds `below`, if every step to it is a folder and no link.
fn parent<'p>(root: &Path, below: &'p Path) -> io::Result<Option<(OwnedFd, &'p OsStr)>> {
    let mut here = openat(CWD, root, FOLDER & !OFlags::NOFOLLOW, Mode::empty())?;
    let Some(name) = below.file_name() else { return Ok(None) };
    for step in below.parent().into_iter().flat_map(Path::components) {
        match openat(&here, step.as_os_str(), FOLDER, Mode::empty()) {
            Ok(entered) => here = entered,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some((here, name)))
}

/// A path that starts at an open folder, whatever its name is by now.
fn by_handle(folder: &OwnedFd, name: &OsStr) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name)
}

/// Every protected path: a folder, and what is protected below it.
fn places(request: &SandboxRequest) -> Vec<(PathBuf, PathBuf)> {
    let mut places = Vec::new();
    for root in &request.roots {
        let git = root.path.join(".git");
        let has_git = git.symlink_metadata().is_ok();
        for below in &request.protected {
            // A new repository may be made whole; then its hooks are its maker's.
            if has_git || !below.0.starts_with(".git") {
                places.push((root.path.clone(), below.0.clone()));
            }
        }
        if !has_git && request.strictness == Strictness::Strict {
            places.push((root.path.clone(), ".git".into()));
        }
        for path in linked_repositories(&root.path, request) {
            if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
                if folder.is_dir() {
                    places.push((folder.to_owned(), name.into()));
                }
            }
        }
    }
    places
}

/// The settings and hooks of a repository that a root's `.git` file points to, as far as they lie
/// in the roots themselves.
pub(super) fn linked_repositories(root: &Path, request: &SandboxRequest) -> Vec<PathBuf> {
    let pointed = |file: &Path, from: &Path| -> Option<PathBuf> {
        let text = fs::read_to_string(file).ok()?;
        let text = text.trim();
        Some(from.join(text.strip_prefix("gitdir:").unwrap_or(text).trim()))
    };
    let file = root.join(".git");
    if !file.is_file() {
        return Vec::new();
    }
    let Some(folder) = pointed(&file, root) else { return Vec::new() };
    let shared = pointed(&folder.join("commondir"), &folder).unwrap_or_else(|| folder.clone());
    let mut paths = vec![file];
    for path in &request.protected {
        if let Ok(below) = path.0.strip_prefix(".git") {
            paths.push(folder.join(below));
            paths.push(shared.join(below));
        }
    }
    let is_inside = |path: &PathBuf| {
        let real = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
        real.is_some_and(|real| request.roots.iter().any(|root| real.starts_with(&root.path)))
    };
    paths.retain(is_inside);
    paths.dedup();
    paths
}
