//! A protected file, symlink or folder as it was: enough to tell whether it changed, and to restore it.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Statx, openat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::folders::{enter, names};
use crate::linux::file_id::{FileId, look};
use crate::request::Raw;

/// The largest protected path that can be recorded.
pub(super) const MAX_BYTES: u64 = 64 * 1024 * 1024;
pub(super) const MAX_ENTRIES: usize = 10_000;
/// How deep a protected folder is recorded. Each level takes an open file, stack, and several levels of JSON.
pub(super) const MAX_DEPTH: usize = 20;

/// Changes within one tick of the kernel's clock have the same time. Therefore a recently changed
/// file may change again unnoticed.
const TICK: Duration = Duration::from_millis(50);

/// One file, symlink or folder with its entries.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) id: FileId,
    mode: u32,
    owner: (u32, u32),
    /// Tells an unchanged file without reading it: its size and the time of its last change, which no command
    /// can set.
    stamp: Option<(u64, i64, u32)>,
    /// Whether the file has other names.
    #[serde(skip)]
    is_linked: bool,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Content {
    File(Raw),
    Link(Raw),
    Folder(Vec<(Raw, Entry)>),
    /// A pipe, a socket or a device.
    Other,
    /// Too large, or not readable by its owner.
    Unrecorded,
}

/// How much may still be recorded.
#[derive(Debug)]
pub(super) struct Room {
    bytes: u64,
    entries: usize,
    depth: usize,
}

impl Room {
    pub(super) fn new() -> Self {
        Room { bytes: MAX_BYTES, entries: MAX_ENTRIES, depth: MAX_DEPTH }
    }
}

/// Entries are equal if they have the same effect. A file that was not recorded is known by its identity.
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        let is_unrecorded = self.content == Content::Unrecorded;
        let is_link = matches!(self.content, Content::Link(_));
        (is_link || self.mode == other.mode)
            && self.content == other.content
            && (!is_unrecorded || self.id == other.id)
    }
}

impl Eq for Entry {}

impl Entry {
    /// The entry `name` of a folder, if there is one. Files that have not changed since `known` are not read.
    pub(super) fn take(
        folder: impl AsFd,
        name: &OsStr,
        known: Option<&Entry>,
        room: &mut Room,
    ) -> io::Result<Option<Self>> {
        let Some(found) = look(&folder, name)? else { return Ok(None) };
        let content = match room.entries.checked_sub(1) {
            None => Content::Unrecorded,
            Some(left) => {
                room.entries = left;
                content(&folder, name, &found, known, room)?
            }
        };
        Ok(Some(Entry {
            id: FileId::new(&found),
            mode: u32::from(found.stx_mode) & 0o7777,
            owner: (found.stx_uid, found.stx_gid),
            stamp: stamp(&found),
            is_linked: found.stx_nlink > 1 && !is_folder(&found),
            content,
        }))
    }

    /// Whether it is not the recorded one only for its time stamps.
    pub(super) fn is_identical(&self, other: &Entry) -> bool {
        let is_same = self.id == other.id && self.stamp == other.stamp && self == other;
        match (&self.content, &other.content) {
            (Content::Folder(own), Content::Folder(others)) => {
                is_same
                    && own.iter().zip(others).all(|((_, own), (_, other))| own.is_identical(other))
            }
            (_, _) => is_same,
        }
    }

    /// Whether both are files or symlinks of the same content, whatever their mode.
    pub(super) fn has_content_of(&self, other: &Entry) -> bool {
        !matches!(self.content, Content::Unrecorded | Content::Other)
            && self.content == other.content
    }

    pub(super) fn is_folder(&self) -> bool {
        matches!(self.content, Content::Folder(_))
    }

    pub(super) fn is_file(&self) -> bool {
        matches!(self.content, Content::File(_))
    }

    pub(super) fn is_link(&self) -> bool {
        matches!(self.content, Content::Link(_))
    }

    /// Whether it, or a file in it, had other names, through which commands can write.
    pub(super) fn is_linked(&self) -> bool {
        self.is_linked || self.entries().any(|(_, entry)| entry.is_linked())
    }

    /// The content of a file.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            Content::File(bytes) => Some(bytes.0.as_bytes()),
            Content::Link(_) | Content::Folder(_) | Content::Other | Content::Unrecorded => None,
        }
    }

    /// Whether it, or something in it, could not be recorded.
    pub(super) fn has_unrecorded(&self) -> bool {
        match &self.content {
            Content::Unrecorded => true,
            Content::Folder(entries) => entries.iter().any(|(_, entry)| entry.has_unrecorded()),
            Content::File(_) | Content::Link(_) | Content::Other => false,
        }
    }

    /// How many files, symlinks and folders it consists of.
    pub(super) fn count(&self) -> usize {
        1 + self.entries().map(|(_, entry)| entry.count()).sum::<usize>()
    }

    /// The entries of a folder, by name.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&OsStr, &Entry)> {
        let entries = match &self.content {
            Content::Folder(entries) => entries.as_slice(),
            Content::File(_) | Content::Link(_) | Content::Other | Content::Unrecorded => &[],
        };
        entries.iter().map(|(name, entry)| (name.0.as_os_str(), entry))
    }

    pub(super) fn entry(&self, name: &OsStr) -> Option<&Entry> {
        self.entries().find(|(own, _)| *own == name).map(|(_, entry)| entry)
    }

    /// Creates it as `name`, which must not exist.
    pub(super) fn create(&self, folder: impl AsFd, name: &OsStr) -> io::Result<()> {
        match &self.content {
            Content::File(bytes) => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = openat(folder, name, flags, Mode::from_raw_mode(0o600))?;
                self.write(&file, bytes)
            }
            Content::Link(target) => Ok(rustix::fs::symlinkat(&target.0, folder, name)?),
            Content::Folder(entries) => {
                rustix::fs::mkdirat(&folder, name, Mode::RWXU)?;
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let own = openat(&folder, name, flags, Mode::empty())?;
                for (name, entry) in entries {
                    entry.create(&own, &name.0)?;
                }
                self.set_attributes(&own)
            }
            Content::Other => Ok(()),
            Content::Unrecorded => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Writes a file's content into what stands there: the only way for a mount point.
    pub(super) fn write_in_place(&self, folder: impl AsFd, name: &OsStr) -> io::Result<()> {
        let Content::File(bytes) = &self.content else { return Err(Errno::BUSY.into()) };
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty())?;
        self.write(&file, bytes)
    }

    fn write(&self, file: &OwnedFd, bytes: &Raw) -> io::Result<()> {
        let mut writer = std::fs::File::from(file.try_clone()?);
        writer.write_all(bytes.0.as_bytes())?;
        self.set_attributes(file)
    }

    /// Sets owner and mode of an open file or folder.
    pub(super) fn set_attributes(&self, file: impl AsFd) -> io::Result<()> {
        let (user, group) = self.owner;
        let (user, group) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(group));
        // Only root can give files away; for others they are their own anyway.
        let _ = rustix::fs::fchown(&file, Some(user), Some(group));
        Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(self.mode & 0o777))?)
    }

    pub(super) fn has_mode_of(&self, other: &Entry) -> bool {
        self.mode == other.mode
    }
}

fn content(
    folder: impl AsFd,
    name: &OsStr,
    found: &Statx,
    known: Option<&Entry>,
    room: &mut Room,
) -> io::Result<Content> {
    let is_same = |known: &&Entry| {
        known.id == FileId::new(found) && known.stamp.is_some() && known.stamp == stamp(found)
    };
    let taken = match FileType::from_raw_mode(found.stx_mode.into()) {
        FileType::RegularFile => match known.filter(is_same).map(|known| &known.content) {
            Some(content @ Content::File(_)) => return Ok(content.clone()),
            Some(_) | None => read(folder, name, room),
        },
        FileType::Symlink => rustix::fs::readlinkat(folder, name, Vec::new())
            .map(|target| Content::Link(Raw(std::ffi::OsString::from_vec(target.into_bytes()))))
            .map_err(io::Error::from),
        FileType::Directory => entries(folder, name, known, room),
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Ok(Content::Other),
    };
    match taken {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Content::Unrecorded),
        taken => taken,
    }
}

fn entries(
    folder: impl AsFd,
    name: &OsStr,
    known: Option<&Entry>,
    room: &mut Room,
) -> io::Result<Content> {
    let Some(depth) = room.depth.checked_sub(1) else { return Ok(Content::Unrecorded) };
    room.depth = depth;
    let entries = entries_within(folder, name, known, room);
    room.depth += 1;
    entries
}

fn entries_within(
    folder: impl AsFd,
    name: &OsStr,
    known: Option<&Entry>,
    room: &mut Room,
) -> io::Result<Content> {
    let mut entries = Vec::new();
    // If it is gone by now, the next look finds that.
    let Some(own) = enter(folder, name)? else { return Ok(Content::Folder(entries)) };
    for name in names(&own)? {
        if room.entries == 0 {
            return Ok(Content::Unrecorded);
        }
        let known = known.and_then(|known| known.entry(&name));
        if let Some(entry) = Entry::take(&own, &name, known, room)? {
            entries.push((Raw(name), entry));
        }
    }
    Ok(Content::Folder(entries))
}

fn read(folder: impl AsFd, name: &OsStr, room: &mut Room) -> io::Result<Content> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty()) {
        // It was replaced; the next look finds that.
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(Content::Other),
        // A process holds a lease on it, to delay others that open it.
        Err(Errno::AGAIN) => return Ok(Content::Unrecorded),
        file => file?,
    };
    let mut bytes = Vec::new();
    std::fs::File::from(file).take(room.bytes + 1).read_to_end(&mut bytes)?;
    match room.bytes.checked_sub(bytes.len() as u64) {
        None => Ok(Content::Unrecorded),
        Some(left) => {
            room.bytes = left;
            Ok(Content::File(Raw(std::ffi::OsString::from_vec(bytes))))
        }
    }
}

fn is_folder(found: &Statx) -> bool {
    FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory
}

/// None for a file that is too young to be recognised, and for everything but files.
fn stamp(found: &Statx) -> Option<(u64, i64, u32)> {
    let is_file = FileType::from_raw_mode(found.stx_mode.into()) == FileType::RegularFile;
    let time = found.stx_ctime;
    let changed = UNIX_EPOCH + Duration::new(u64::try_from(time.tv_sec).ok()?, time.tv_nsec);
    let is_old = SystemTime::now().duration_since(changed).is_ok_and(|age| age > TICK);
    let time = (found.stx_size, time.tv_sec, time.tv_nsec);
    (is_file && is_old).then_some(time)
}

/// Removes what stands there, of whatever kind.
pub(super) fn remove(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => crate::remove::remove_directory(folder, name),
        removed => Ok(removed?),
    }
}
