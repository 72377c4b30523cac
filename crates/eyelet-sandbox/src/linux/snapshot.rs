//! A file or a folder as it was: enough to tell whether it changed, and to put it back.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, lchown, symlink,
};
use std::path::{Path, PathBuf};

use crate::remove::remove_all;

/// What is above this is not kept.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const MAX_ENTRIES: usize = 10_000;

/// One file, link or folder with all that is in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// Device, number, mode, size, and the time of the last change, which nobody can set.
    mark: (u64, u64, u32, u64, i64, i64),
    owner: (u32, u32),
    content: Content,
}

#[derive(Debug, PartialEq, Eq)]
enum Content {
    File(Vec<u8>),
    Link(PathBuf),
    Folder(Vec<(OsString, Snapshot)>),
    /// A pipe, a socket or a device: nothing that could be kept.
    Other,
}

/// How much more may be kept.
#[derive(Debug)]
pub(super) struct Room {
    bytes: u64,
    entries: usize,
}

impl Room {
    pub(super) fn new() -> Self {
        Room { bytes: MAX_BYTES, entries: MAX_ENTRIES }
    }
}

impl Snapshot {
    /// Takes what stands at `path`; none where nothing does.
    pub(super) fn take(path: &Path, room: &mut Room) -> io::Result<Option<Self>> {
        let found = match fs::symlink_metadata(path) {
            Err(error) if is_absence(&error) => return Ok(None),
            found => found?,
        };
        room.entries = room.entries.checked_sub(1).ok_or_else(too_much)?;
        let content = if found.is_symlink() {
            Content::Link(fs::read_link(path)?)
        } else if found.is_file() {
            Content::File(read(path, room)?)
        } else if found.is_dir() {
            let mut entries = Vec::new();
            for entry in fs::read_dir(path)? {
                let name = entry?.file_name();
                if let Some(entry) = Snapshot::take(&path.join(&name), room)? {
                    entries.push((name, entry));
                }
            }
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            Content::Folder(entries)
        } else {
            Content::Other
        };
        let size = if found.is_dir() { 0 } else { found.size() };
        // A folder's own time changes with its entries, which are compared themselves.
        let (seconds, nanoseconds) =
            if found.is_dir() { (0, 0) } else { (found.ctime(), found.ctime_nsec()) };
        Ok(Some(Snapshot {
            mark: (found.dev(), found.ino(), found.mode(), size, seconds, nanoseconds),
            owner: (found.uid(), found.gid()),
            content,
        }))
    }

    /// Makes it anew at `path`, where nothing stands, or what cannot be removed because something is
    /// mounted there.
    pub(super) fn put(&self, path: &Path) -> io::Result<()> {
        match &self.content {
            Content::File(bytes) => {
                let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(true).mode(0o600).custom_flags(flags);
                options.open(path)?.write_all(bytes)?;
            }
            Content::Link(target) => symlink(target, path)?,
            Content::Folder(entries) => {
                let is_there = path.symlink_metadata().is_ok_and(|found| found.is_dir());
                if !is_there {
                    fs::create_dir(path)?;
                }
                for (name, entry) in entries {
                    entry.put(&path.join(name))?;
                }
            }
            Content::Other => return Ok(()),
        }
        let (user, group) = self.owner;
        // Only root can give files away; for others they are their own anyway.
        let _ = lchown(path, Some(user), Some(group));
        if !matches!(self.content, Content::Link(_)) {
            fs::set_permissions(path, Permissions::from_mode(self.mark.2 & 0o777))?;
        }
        Ok(())
    }
}

/// Moves what stands at `from` to `to`, where nothing does, by copying where it has to be. What
/// something is mounted on stays, emptied if it is a folder.
pub(super) fn relocate(from: &Path, to: &Path) -> io::Result<()> {
    use io::ErrorKind::{CrossesDevices, ResourceBusy};
    match fs::rename(from, to) {
        Err(error) if matches!(error.kind(), CrossesDevices | ResourceBusy) => {
            if let Some(copy) = Snapshot::take(from, &mut Room::new())? {
                copy.put(to)?;
            }
            match remove_all(from) {
                Err(error) if error.kind() == ResourceBusy && is_emptied(from) => Ok(()),
                removed => removed,
            }
        }
        renamed => renamed,
    }
}

/// Whether nothing is left of it but itself.
fn is_emptied(path: &Path) -> bool {
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    !is_folder || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn read(path: &Path, room: &mut Room) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut bytes = Vec::new();
    file.take(room.bytes + 1).read_to_end(&mut bytes)?;
    room.bytes = room.bytes.checked_sub(bytes.len() as u64).ok_or_else(too_much)?;
    Ok(bytes)
}

pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn too_much() -> io::Error {
    io::Error::other(format!("they exceed {MAX_BYTES} bytes or {MAX_ENTRIES} files"))
}

/// 64 random bits as text, for a name that nobody has.
pub(super) fn random_name(of: &OsStr) -> io::Result<OsString> {
    let random = getrandom::u64().map_err(io::Error::other)?;
    let mut name = OsString::from(format!("{random:016x}-"));
    name.push(of);
    Ok(name)
}
