//! Tells files apart, also if the system uses the number of a removed file again.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Statx, StatxFlags, statx};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// A file's inode number and time of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileId(u64, i64, u32);

impl FileId {
    pub(super) fn new(found: &Statx) -> Self {
        FileId(found.stx_ino, found.stx_btime.tv_sec, found.stx_btime.tv_nsec)
    }

    /// Of an open file.
    pub(super) fn of(file: impl AsFd) -> io::Result<Self> {
        let flags = StatxFlags::INO | StatxFlags::BTIME;
        Ok(FileId::new(&statx(file, c"", AtFlags::EMPTY_PATH, flags)?))
    }
}

/// The metadata of an entry itself, if it exists.
pub(super) fn look(folder: impl AsFd, name: &OsStr) -> io::Result<Option<Statx>> {
    let flags = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    match statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, flags) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
