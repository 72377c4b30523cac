//! The names in a directory, packed into one buffer.

use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;

use crate::cancel::{Stop, StopCheck};
use crate::text::entry_tree::EntryKind;

use crate::fs::directory::Directory;

/// How many entries are read between two stop checks.
const ENTRIES_PER_CHECK: usize = 1024;
/// A larger buffer is freed instead of being reused for the next directory.
const MAX_REUSED_BYTES: usize = 256 * 1024;

/// Names and kinds of entries.
#[derive(Default)]
pub(crate) struct EntryNames {
    bytes: Vec<u8>,
    ends: Vec<(usize, EntryKind)>,
}

impl EntryNames {
    pub(crate) fn push(&mut self, name: &OsStr, kind: EntryKind) {
        self.bytes.extend_from_slice(name.as_bytes());
        self.ends.push((self.bytes.len(), kind));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&OsStr, EntryKind)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, kind)| {
            let name = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            (OsStr::from_bytes(name), *kind)
        })
    }

    fn clear(&mut self) {
        if self.bytes.capacity() > MAX_REUSED_BYTES {
            *self = EntryNames::default();
        }
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Whether a directory was read to its end.
pub(crate) enum ReadStatus {
    Complete,
    /// The system returned this error; the names before it are there.
    Partial(io::Error),
}

impl EntryNames {
    /// Replaces the names with those of a directory: every kind of entry, except denied ones.
    pub(crate) fn fill(
        &mut self,
        directory: &Directory,
        stop_check: &StopCheck,
    ) -> Result<ReadStatus, Stop> {
        self.clear();
        let mut stop = Ok(());
        let read = directory.each(|name, kind| {
            self.push(name, kind);
            if self.len() % ENTRIES_PER_CHECK == 0 {
                stop = stop_check.check();
            }
            if stop.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        stop?;
        Ok(read.map_or_else(ReadStatus::Partial, |()| ReadStatus::Complete))
    }
}
