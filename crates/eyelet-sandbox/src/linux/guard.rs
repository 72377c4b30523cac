//! Protected paths: what a command made of them is undone when nothing of it is left.
//!
//! In the first tier mounts keep what is there, and only what was absent, is a link, or can be moved
//! with a folder around it is looked after here. In the second tier this is all the protection there
//! is. Paths are walked by handle and never through a link, because the command may have left one
//! anywhere.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, openat};

use super::repositories::{LEADING, Repositories};
use super::resolve;
use super::snapshot::{Room, Snapshot, is_absence};
use super::undo::{
    FOLDER, Undone, by_handle, make_way, move_away, open_root, open_up, parent, put_anew, swap,
    told, tried,
};
use crate::message::Reverted;
use crate::request::{Place, Policy, SandboxRequest, Strictness, Tier};

/// Everything that is looked after during one command.
pub(super) struct Guard {
    /// What is a folder on the way to something protected, or nothing yet: a root, and the way from
    /// it. A link there would lead to something else.
    ways: BTreeSet<(PathBuf, PathBuf)>,
    pinned: Vec<Pinned>,
    watched: Vec<Watched>,
}

/// A folder that stays where it is. What lies in it is looked after by its handle.
struct Pinned {
    root: PathBuf,
    below: PathBuf,
    handle: OwnedFd,
}

struct Watched {
    base: Base,
    below: PathBuf,
    before: Option<Snapshot>,
}

/// Where the way to a watched path begins.
enum Base {
    /// At a root.
    Root(PathBuf),
    /// At a root, too; but the folder around it may be moved or removed with it.
    Pointer(PathBuf),
    /// At one of the pinned folders.
    Folder(usize),
}

impl Guard {
    /// Remembers what is there now.
    pub(super) fn new(request: &SandboxRequest, tier: Tier) -> io::Result<Self> {
        let mut guard = Guard { ways: BTreeSet::new(), pinned: Vec::new(), watched: Vec::new() };
        if request.policy != Policy::WorkspaceWrite {
            return Ok(guard);
        }
        let repositories = Repositories::of(request)?;
        for folder in &repositories.folders {
            let Some((root, below)) = split(request, folder) else { continue };
            let handle = openat(CWD, folder, FOLDER, Mode::empty())?;
            guard.pinned.push(Pinned { root, below, handle });
        }
        let mut room = Room::new();
        let mut places = guard.places(request, &repositories)?;
        let links = guard.find_ways(&places)?;
        places.extend(links);
        for (base, below) in places {
            let before = guard.take(&base, &below, &mut room)?;
            let is_link = || guard.path(&base, &below).is_symlink();
            // A mount goes with a folder around it that is moved.
            let can_be_moved = below.components().count() > 1;
            let is_kept_by_mounts =
                tier == Tier::Namespaces && before.is_some() && !can_be_moved && !is_link();
            if !is_kept_by_mounts {
                guard.watched.push(Watched { base, below, before });
            }
        }
        Ok(guard)
    }

    /// Every protected path: where the way to it begins, and the way.
    fn places(
        &self,
        request: &SandboxRequest,
        repositories: &Repositories,
    ) -> io::Result<Vec<(Base, PathBuf)>> {
        let mut places = Vec::new();
        for root in &request.roots {
            let root = &root.path;
            let mut add = |below: &Path| places.push((Base::Root(root.clone()), below.to_owned()));
            request.protected.iter().for_each(|below| add(&below.0));
            // A new repository may be made whole, and what is in it is its maker's.
            let has_git = resolve::at(&root.join(".git"))?.is_some();
            if !has_git && request.strictness == Strictness::Strict {
                add(Path::new(".git"));
            }
        }
        for number in 0..self.pinned.len() {
            places.extend(LEADING.iter().map(|name| (Base::Folder(number), name.into())));
        }
        // What a link leads to counts as well.
        let mut targets = BTreeSet::new();
        for (base, below) in &places {
            if !self.has_links(base, below)? {
                continue;
            }
            let path = self.path(base, below);
            targets.extend(targets_of(&path)?.into_iter().filter(|target| *target != path));
        }
        let targets = targets.iter().filter_map(|target| split(request, target));
        places.extend(targets.map(|(root, below)| (Base::Root(root), below)));
        let pointers = repositories.pointers.iter().filter_map(|path| split(request, path));
        places.extend(pointers.map(|(root, below)| (Base::Pointer(root), below)));
        Ok(places)
    }

    /// Whether it is a link, or a step on the way to it is.
    fn has_links(&self, base: &Base, below: &Path) -> io::Result<bool> {
        for step in below.ancestors().filter(|step| !step.as_os_str().is_empty()) {
            let found = resolve::at(&self.path(base, step))?;
            if found.is_some_and(|found| found.is_symlink()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes note of the folders on the ways to these places. Returns the links there.
    fn find_ways(&mut self, places: &[(Base, PathBuf)]) -> io::Result<Vec<(Base, PathBuf)>> {
        let from_root = |(base, below): &(Base, PathBuf)| match base {
            Base::Root(root) | Base::Pointer(root) => Some((root.clone(), below.clone())),
            Base::Folder(_) => None,
        };
        let pinned = self.pinned.iter().map(|pinned| (pinned.root.clone(), pinned.below.clone()));
        let ends: Vec<_> = places.iter().filter_map(from_root).chain(pinned).collect();
        let mut links = BTreeSet::new();
        for (root, below) in ends {
            let mut steps: Vec<&Path> = below.ancestors().skip(1).collect();
            steps.retain(|step| !step.as_os_str().is_empty());
            for step in steps.into_iter().rev() {
                let found = resolve::at(&root.join(step))?;
                if found.as_ref().is_some_and(fs::Metadata::is_symlink) {
                    links.insert((root.clone(), step.to_owned()));
                    break;
                }
                if found.is_none_or(|found| found.is_dir()) {
                    self.ways.insert((root.clone(), step.to_owned()));
                }
            }
        }
        Ok(links.into_iter().map(|(root, below)| (Base::Root(root), below)).collect())
    }

    /// Undoes what has changed.
    pub(super) fn restore(self, request: &SandboxRequest, tier: Tier) -> Vec<Reverted> {
        let mut reverted = Vec::new();
        for (root, below) in &self.ways {
            let cleared = tried(|| clear(root, below, request, tier));
            reverted.extend(told(&root.join(below), cleared));
        }
        for pinned in &self.pinned {
            let undone = tried(|| pinned.put_back(request, tier));
            reverted.extend(told(&pinned.root.join(&pinned.below), undone));
        }
        for watched in &self.watched {
            let undone = tried(|| self.undo(watched, request, tier));
            reverted.extend(told(&self.path(&watched.base, &watched.below), undone));
        }
        reverted
    }

    /// Where something has changed, moves away what is there, and puts back what was. None where
    /// nothing has.
    fn undo(&self, watched: &Watched, request: &SandboxRequest, tier: Tier) -> Undone {
        let is_as_before = |now: &io::Result<Option<Snapshot>>| {
            now.as_ref().is_ok_and(|now| *now == watched.before)
        };
        let mut now = self.take(&watched.base, &watched.below, &mut Room::new());
        if !is_as_before(&now) {
            open_up(self.base(&watched.base)?, &watched.below);
            now = self.take(&watched.base, &watched.below, &mut Room::new());
        }
        if is_as_before(&now) {
            return Ok(None);
        }
        let is_there = !matches!(now, Ok(None));
        let parent = match self.parent(&watched.base, &watched.below)? {
            None if watched.before.is_some() && matches!(watched.base, Base::Root(_)) => {
                make_way(self.base(&watched.base)?, &watched.below)?
            }
            parent => parent,
        };
        let Some((parent, name)) = parent else { return Ok(None) };
        let place = by_handle(&parent, name);
        let path = self.path(&watched.base, &watched.below);
        let swapped = watched.before.as_ref().map(|before| swap(before, &parent, name, is_there));
        if let Some(Ok(aside)) = swapped {
            let stays = || aside.file_name().map(|name| path.with_file_name(name));
            let move_away = || move_away(&aside, &path, request, tier).ok().or_else(stays);
            return Ok(Some(is_there.then(move_away).flatten()));
        }
        // Where there is no room for both, or something is mounted.
        let moved_to = match is_there {
            true => Some(move_away(&place, &path, request, tier)?),
            false => None,
        };
        if let Some(before) = &watched.before {
            put_anew(before, &place)?;
        }
        Ok(Some(moved_to))
    }

    fn take(&self, base: &Base, below: &Path, room: &mut Room) -> io::Result<Option<Snapshot>> {
        match self.parent(base, below)? {
            Some((parent, name)) => Snapshot::take(&by_handle(&parent, name), room),
            None => Ok(None),
        }
    }

    fn parent<'p>(&self, base: &Base, below: &'p Path) -> io::Result<Option<(OwnedFd, &'p OsStr)>> {
        parent(self.base(base)?, below)
    }

    fn base(&self, base: &Base) -> io::Result<OwnedFd> {
        match base {
            Base::Root(root) | Base::Pointer(root) => open_root(root),
            Base::Folder(number) => match self.pinned.get(*number) {
                Some(pinned) => pinned.handle.try_clone(),
                None => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    /// As it is told.
    fn path(&self, base: &Base, below: &Path) -> PathBuf {
        match base {
            Base::Root(root) | Base::Pointer(root) => root.join(below),
            Base::Folder(number) => match self.pinned.get(*number) {
                Some(pinned) => pinned.root.join(&pinned.below).join(below),
                None => below.to_owned(),
            },
        }
    }
}

impl Pinned {
    /// Where something else has its name, moves that away; then brings it back from where it is. None
    /// where nothing is to be done: a folder around it may have been moved with it.
    fn put_back(&self, request: &SandboxRequest, tier: Tier) -> Undone {
        let Some((parent, name)) = parent(open_root(&self.root)?, &self.below)? else {
            return Ok(None);
        };
        let place = by_handle(&parent, name);
        let own = rustix::fs::fstat(&self.handle)?;
        let found = place.symlink_metadata().ok();
        if found
            .as_ref()
            .is_some_and(|found| (found.dev(), found.ino()) == (own.st_dev, own.st_ino))
        {
            return Ok(None);
        }
        open_up(open_root(&self.root)?, &self.below);
        let path = self.root.join(&self.below);
        let moved_to = match found {
            Some(_) => Some(move_away(&place, &path, request, tier)?),
            None => None,
        };
        let now = fs::read_link(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))?;
        let is_inside = request.roots.iter().any(|root| now.starts_with(&root.path));
        // One that was removed cannot be brought back.
        let is_back = is_inside && fs::rename(now, &place).is_ok();
        Ok((is_back || moved_to.is_some()).then_some(moved_to))
    }
}

/// Moves away what is no folder and stands on a way where a folder was, or nothing.
fn clear(root: &Path, below: &Path, request: &SandboxRequest, tier: Tier) -> Undone {
    let Some((parent, name)) = parent(open_root(root)?, below)? else { return Ok(None) };
    let place = by_handle(&parent, name);
    let is_clear = match place.symlink_metadata() {
        Err(error) if is_absence(&error) => true,
        found => found?.is_dir(),
    };
    if is_clear {
        return Ok(None);
    }
    open_up(open_root(root)?, below);
    Ok(Some(Some(move_away(&place, &root.join(below), request, tier)?)))
}

/// What `path` leads to: as far as its folder, and whole.
fn targets_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = path.parent().map(resolve::real).transpose()?.flatten();
    let beside = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
    Ok(beside.into_iter().chain(resolve::real(path)?).collect())
}

/// The root that holds `path`, and the way from it.
fn split(request: &SandboxRequest, path: &Path) -> Option<(PathBuf, PathBuf)> {
    let below =
        |root: &Place| Some((root.path.clone(), path.strip_prefix(&root.path).ok()?.into()));
    request.roots.iter().find_map(below)
}
