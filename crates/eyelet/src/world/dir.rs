//! Directories by handle: what is in them, and what is below them, never through a link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use crate::bound::tree::EntryKind;

use super::confine::{ConfinedPath, OpenFailure, Opened, Veil, Want};

/// One name in a directory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) kind: EntryKind,
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Directory {
    handle: OwnedFd,
    /// Where something in it, or below it, may be hidden.
    veil: Option<Veil>,
}

impl Directory {
    /// Opens the directory that a call asked for; a link to one is followed.
    pub(crate) fn open(path: &ConfinedPath) -> Result<Directory, OpenFailure> {
        let Opened { handle, veil } = path.open(Want::Directory)?;
        Ok(Directory { handle, veil })
    }

    /// Opens the directory `name` in this one, if it is one and no link.
    pub(crate) fn open_directory(&self, name: &OsStr) -> io::Result<Directory> {
        let flags = OFlags::RDONLY
            | OFlags::DIRECTORY
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        if self.hides(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let handle = rustix::fs::openat(&self.handle, name, flags, Mode::empty())?;
        let veil = self.veil.as_ref().and_then(|veil| {
            let real = veil.real.join(name);
            let hidden = std::sync::Arc::clone(&veil.hidden);
            hidden.concerns(&real).then_some(Veil { hidden, real })
        });
        Ok(Directory { handle, veil })
    }

    /// Opens the directory at the end of `names`, one step at a time.
    pub(crate) fn open_below<'n>(
        &self,
        names: impl IntoIterator<Item = &'n OsStr>,
    ) -> io::Result<Directory> {
        let mut here: Option<Directory> = None;
        for name in names {
            here = Some(here.as_ref().unwrap_or(self).open_directory(name)?);
        }
        match here {
            Some(directory) => Ok(directory),
            None => {
                let handle = self.handle.try_clone()?;
                Ok(Directory { handle, veil: self.veil.clone() })
            }
        }
    }

    /// Opens the regular file `name` in this directory; links and everything else are refused.
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if self.hides(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let handle = rustix::fs::openat(&self.handle, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&handle)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(File::from(handle))
    }

    /// Everything in this directory but `.`, `..` and what is hidden, in the system's order.
    pub(crate) fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<Entry>> + '_> {
        let entries = rustix::fs::Dir::read_from(&self.handle)?;
        Ok(entries.filter_map(|entry| self.entry(entry).transpose()))
    }

    fn entry(&self, entry: rustix::io::Result<rustix::fs::DirEntry>) -> io::Result<Option<Entry>> {
        let entry = entry?;
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        if name == "." || name == ".." || self.hides(&name) {
            return Ok(None);
        }
        let mut file_type = entry.file_type();
        if file_type == FileType::Unknown {
            // Some file systems do not tell the type along with the name.
            file_type = rustix::fs::statat(&self.handle, &name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        let kind = if file_type == FileType::Directory {
            EntryKind::Directory
        } else if file_type == FileType::RegularFile {
            EntryKind::File
        } else if file_type == FileType::Symlink {
            EntryKind::Symlink
        } else {
            EntryKind::Other
        };
        Ok(Some(Entry { name, kind }))
    }

    /// Whether the entry `name` is one that is not shown.
    fn hides(&self, name: &OsStr) -> bool {
        self.veil.as_ref().is_some_and(|veil| veil.hidden.hides(&veil.real.join(name)))
    }

    /// The handle itself, for what only `world` does with it.
    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}
