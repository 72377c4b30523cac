//! Undoing what a command made of a protected path: moving it away, and making room for what was
//! there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::io::Errno;

use super::layout::Layout;
use super::snapshot::{Snapshot, random_name, relocate, remove};
use crate::request::{Fate, Reverted, SandboxRequest, Tier};

pub(super) const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The folder in the private temp folder that takes what was undone.
const REVERTED: &str = "eyelet-reverted";

/// None where nothing had to be done; else where the command's version is now, if anywhere.
pub(super) type Undone = io::Result<Option<Option<PathBuf>>>;

/// Does it once more where it failed: what the system lacked may be there again.
pub(super) fn tried(undo: impl Fn() -> Undone) -> Undone {
    undo().or_else(|_| undo())
}

pub(super) fn told(path: &Path, undone: Undone) -> Option<Reverted> {
    let fate = match undone {
        Ok(None) => return None,
        Ok(Some(Some(to))) => Fate::MovedTo(to.into()),
        Ok(Some(None)) => Fate::PutBack,
        Err(_) => Fate::Failed,
    };
    Some(Reverted { path: path.into(), fate })
}

/// Moves what stands at `place` to where no program looks for it. Returns the new path, as a command
/// names it. `path` is the place's own.
pub(super) fn move_away(
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
    let beside = beside(&new_name);
    fs::rename(place, place.with_file_name(&beside))?;
    Ok(path.with_file_name(beside))
}

/// A name that no program looks for.
fn beside(name: &OsStr) -> OsString {
    let mut beside = OsString::from("eyelet-reverted-");
    beside.push(name);
    beside
}

/// Makes what was there before under a name beside it, and swaps the two: whenever this is killed, one
/// of them has the place. Returns where the command's version is now, or would be.
pub(super) fn swap(
    before: &Snapshot,
    parent: &OwnedFd,
    name: &OsStr,
    is_there: bool,
) -> io::Result<PathBuf> {
    let aside = beside(&random_name(name)?);
    let path = by_handle(parent, &aside);
    put_anew(before, &path)?;
    let flags = if is_there { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    match renameat_with(parent, &aside, parent, name, flags) {
        Ok(()) => Ok(path),
        Err(error) => {
            let _ = remove(&path);
            Err(error.into())
        }
    }
}

/// Makes what was there before. What could be made only in part would mislead more than nothing.
pub(super) fn put_anew(before: &Snapshot, place: &Path) -> io::Result<()> {
    before.put(place).inspect_err(|_| {
        let _ = remove(place);
    })
}

fn session_folder(temp: &Path) -> io::Result<OwnedFd> {
    let temp = openat(CWD, temp, FOLDER, Mode::empty())?;
    enter_or_make(&temp, OsStr::new(REVERTED), Mode::RWXU)
}

/// The folder of this name, made where it is missing, and no link.
fn enter_or_make(here: &OwnedFd, name: &OsStr, mode: Mode) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(here, name, mode) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(openat(here, name, FOLDER, Mode::empty())?)
}

/// The folder that holds `below`, if every step to it from `here` is a folder and no link.
pub(super) fn parent(mut here: OwnedFd, below: &Path) -> io::Result<Option<(OwnedFd, &OsStr)>> {
    let Some(name) = below.file_name() else { return Ok(None) };
    for step in below.parent().into_iter().flat_map(Path::components) {
        match openat(&here, step.as_os_str(), FOLDER, Mode::empty()) {
            Ok(entered) => here = entered,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some((here, name)))
}

/// The same, with those folders made that are missing.
pub(super) fn make_way(mut here: OwnedFd, below: &Path) -> io::Result<Option<(OwnedFd, &OsStr)>> {
    let Some(name) = below.file_name() else { return Ok(None) };
    for step in below.parent().into_iter().flat_map(Path::components) {
        here = enter_or_make(&here, step.as_os_str(), Mode::from_raw_mode(0o755))?;
    }
    Ok(Some((here, name)))
}

pub(super) fn open_root(root: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, root, FOLDER & !OFlags::NOFOLLOW, Mode::empty())?)
}

/// Lets the owner into the folders on the way to `below`, who could not put anything there else.
pub(super) fn open_up(mut here: OwnedFd, below: &Path) {
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

/// A path that starts at an open folder, whatever its name is by now.
pub(super) fn by_handle(folder: &OwnedFd, name: &OsStr) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name)
}
