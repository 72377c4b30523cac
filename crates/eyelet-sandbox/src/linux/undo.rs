//! Undoing what a command made of a protected path: moving it away, and making room for what was
//! there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::io::Errno;

use super::snapshot::{Snapshot, random_name, relocate};
use super::tmp_paths::TmpPaths;
use crate::message::{Fate, Reverted};
use crate::remove::remove_all;
use crate::request::{SandboxRequest, Tier};

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
    check_mounts(place)?;
    // A folder that its owner may not write cannot be moved to another.
    make_writable(place, place.symlink_metadata());
    let new_name = random_name(path.file_name().unwrap_or_default())?;
    if let Some(temp) = &request.private_temp {
        let moved = session_folder(&temp.path)
            .and_then(|folder| relocate(place, &by_handle(&folder, &new_name)));
        if moved.is_ok() {
            let path = temp.path.join(REVERTED).join(&new_name);
            return Ok(TmpPaths::new(request, tier).inside(&path));
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
    check_mounts(&by_handle(parent, name))?;
    let aside = beside(&random_name(name)?);
    let path = by_handle(parent, &aside);
    put_anew(before, &path)?;
    let flags = if is_there { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    match renameat_with(parent, &aside, parent, name, flags) {
        Ok(()) => Ok(path),
        Err(error) => {
            let _ = remove_all(&path);
            Err(error.into())
        }
    }
}

/// Fails where something is mounted below `place`: it would be moved along, and later be emptied.
fn check_mounts(place: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return Ok(()) };
    let path = parent.canonicalize()?.join(name);
    let is_below = |mounted: &[u8]| {
        let rest = mounted.strip_prefix(path.as_os_str().as_bytes());
        rest.is_some_and(|rest| rest.starts_with(b"/"))
    };
    let mounts = fs::read("/proc/self/mountinfo")?;
    let points = mounts
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4).map(unescaped));
    match points.into_iter().any(|point| is_below(&point)) {
        true => Err(Errno::BUSY.into()),
        false => Ok(()),
    }
}

/// The system writes a space in a path as `\040`, and a few others like it.
fn unescaped(point: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(point.len());
    let mut rest = point;
    while let [first, after @ ..] = rest {
        let code = after.get(..3).filter(|_| *first == b'\\');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 8).ok());
        path.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    path
}

/// Makes what was there before. What could be made only in part would mislead more than nothing.
pub(super) fn put_anew(before: &Snapshot, place: &Path) -> io::Result<()> {
    before.put(place).inspect_err(|_| {
        let _ = remove_all(place);
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

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn paths_of_mounts_are_read_as_they_are() {
        for (written, meant) in [
            ("/a/b", "/a/b"),
            ("/a\\040b\\011c\\012d\\134e", "/a b\tc\nd\\e"),
            ("/a\\", "/a\\"),
            ("\\04", "\\04"),
        ] {
            assert_eq!(unescaped(written.as_bytes()), meant.as_bytes());
        }
    }
}
