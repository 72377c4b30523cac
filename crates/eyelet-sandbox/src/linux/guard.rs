//! Protected paths: what a command made of them is undone when nothing of it is left.
//!
//! In the first tier mounts keep what is there, and only what was absent, is a link, or can be moved
//! with a folder around it is looked after here. In the second tier this is all the protection there
//! is. Paths are walked by handle and never through a link, because the command may have left one
//! anywhere.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::layout::Layout;
use super::reach;
use super::repositories::{LEADING, Repositories};
use super::snapshot::{Room, Snapshot, random_name, relocate};
use crate::request::{Place, Policy, Reverted, SandboxRequest, Strictness, Tier};

const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The folder in the private temp folder that takes what was undone.
const REVERTED: &str = "eyelet-reverted";

/// Everything that is looked after during one command.
pub(super) struct Guard {
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

/// Where the way to a watched path begins: at a root, or at one of the pinned folders.
enum Base {
    Root(PathBuf),
    Folder(usize),
}

impl Guard {
    /// Remembers what is there now.
    pub(super) fn new(request: &SandboxRequest, tier: Tier) -> io::Result<Self> {
        let mut guard = Guard { pinned: Vec::new(), watched: Vec::new() };
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
        for (base, below) in guard.places(request, &repositories)? {
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
            let has_git = reach::at(&root.join(".git"))?.is_some();
            if !has_git && request.strictness == Strictness::Strict {
                add(Path::new(".git"));
            }
        }
        let pointers = repositories.pointers.iter().filter_map(|path| split(request, path));
        places.extend(pointers.map(|(root, below)| (Base::Root(root), below)));
        for number in 0..self.pinned.len() {
            places.extend(LEADING.iter().map(|name| (Base::Folder(number), name.into())));
        }
        Ok(places)
    }

    /// Undoes what has changed.
    pub(super) fn restore(self, request: &SandboxRequest, tier: Tier) -> Vec<Reverted> {
        let mut reverted = Vec::new();
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
    /// nothing has, or there is nothing to put it in.
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
        let Some((parent, name)) = self.parent(&watched.base, &watched.below)? else {
            return Ok(None);
        };
        let place = by_handle(&parent, name);
        let path = self.path(&watched.base, &watched.below);
        let moved_to = match is_there {
            true => Some(move_away(&place, &path, request, tier)?),
            false => None,
        };
        if let Some(before) = &watched.before {
            before.put(&place)?;
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
            Base::Root(root) => open_root(root),
            Base::Folder(number) => match self.pinned.get(*number) {
                Some(pinned) => pinned.handle.try_clone(),
                None => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    /// As it is told.
    fn path(&self, base: &Base, below: &Path) -> PathBuf {
        match base {
            Base::Root(root) => root.join(below),
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

/// None where nothing had to be done; else where the command's version is now, if anywhere.
type Undone = io::Result<Option<Option<PathBuf>>>;

/// Does it once more where it failed: what the system lacked may be there again.
fn tried(undo: impl Fn() -> Undone) -> Undone {
    undo().or_else(|_| undo())
}

fn told(path: &Path, undone: Undone) -> Option<Reverted> {
    let is_undone = undone.is_ok();
    let moved_to = undone.unwrap_or(Some(None))?;
    Some(Reverted { path: path.into(), moved_to: moved_to.map(Into::into), is_undone })
}

/// Moves what stands at `place` to where no program looks for it. Returns the new path, as a command
/// names it. `path` is the place's own.
fn move_away(
    place: &Path,
    path: &Path,
    request: &SandboxRequest,
    tier: Tier,
) -> io::Result<PathBuf> {
    // A folder that its owner may not write cannot be moved to another.
    make_writable(place, place.symlink_metadata());
    let new_name = random_name(path.file_name().unwrap_or_default())?;
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
    Ok(path.with_file_name(beside))
}

fn session_folder(temp: &Path) -> io::Result<OwnedFd> {
    let temp = openat(CWD, temp, FOLDER, Mode::empty())?;
    match rustix::fs::mkdirat(&temp, REVERTED, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(openat(&temp, REVERTED, FOLDER, Mode::empty())?)
}

/// The folder that holds `below`, if every step to it from `here` is a folder and no link.
fn parent(mut here: OwnedFd, below: &Path) -> io::Result<Option<(OwnedFd, &OsStr)>> {
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

fn open_root(root: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, root, FOLDER & !OFlags::NOFOLLOW, Mode::empty())?)
}

/// Lets the owner into the folders on the way to `below`, who could not put anything there else.
fn open_up(mut here: OwnedFd, below: &Path) {
    for step in below.components() {
        let folder = PathBuf::from(format!("/proc/self/fd/{}", here.as_raw_fd()));
        make_writable(&folder, folder.metadata());
        match openat(&here, step.as_os_str(), FOLDER, Mode::empty()) {
            Ok(entered) => here = entered,
            Err(_) => return,
        }
    }
}

fn make_writable(folder: &Path, found: io::Result<fs::Metadata>) {
    let is_closed = |found: &fs::Metadata| found.is_dir() && found.mode() & 0o700 != 0o700;
    if let Some(found) = found.ok().filter(is_closed) {
        let mode = Permissions::from_mode(found.mode() & 0o7777 | 0o700);
        // Where it is someone else's, the command could not close it either.
        let _ = fs::set_permissions(folder, mode);
    }
}

/// The root that holds `path`, and the way from it.
fn split(request: &SandboxRequest, path: &Path) -> Option<(PathBuf, PathBuf)> {
    let below =
        |root: &Place| Some((root.path.clone(), path.strip_prefix(&root.path).ok()?.into()));
    request.roots.iter().find_map(below)
}

/// A path that starts at an open folder, whatever its name is by now.
fn by_handle(folder: &OwnedFd, name: &OsStr) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name)
}
