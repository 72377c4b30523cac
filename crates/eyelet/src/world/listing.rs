//! The names in a directory, packed one behind the other.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;

use crate::bound::tree::EntryKind;
use crate::call::{Stop, Watch};

use super::dir::Directory;

/// How much of a directory the system hands over at once.
const BUFFER_BYTES: usize = 32 * 1024;
/// How many entries are read between two looks at the watch.
const ENTRIES_PER_CHECK: usize = 1024;
/// Room for names that is kept for the next directory; more is given back.
const KEPT_BYTES: usize = 256 * 1024;

/// Names, one behind the other.
#[derive(Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    ends: Vec<(usize, EntryKind)>,
}

impl Names {
    pub(super) fn push(&mut self, name: &OsStr, kind: EntryKind) {
        self.bytes.extend_from_slice(name.as_bytes());
        self.ends.push((self.bytes.len(), kind));
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsStr, EntryKind)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, kind)| {
            let name = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            (OsStr::from_bytes(name), *kind)
        })
    }

    fn clear(&mut self) {
        if self.bytes.capacity() > KEPT_BYTES {
            *self = Names::default();
        }
        self.bytes.clear();
        self.ends.clear();
    }
}

/// What reads directories, one after the other.
pub(super) struct Lister {
    names: Names,
    buffer: Vec<MaybeUninit<u8>>,
}

/// Whether a directory was read to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Listed {
    Whole,
    /// The system gave an error; the names before it count.
    Broken,
}

impl Lister {
    pub(super) fn new() -> Self {
        Lister { names: Names::default(), buffer: vec![MaybeUninit::uninit(); BUFFER_BYTES] }
    }

    /// Everything in a directory that is not hidden, links and the like included.
    pub(super) fn list(
        &mut self,
        directory: &Directory,
        watch: &Watch,
    ) -> Result<(&Names, Listed), Stop> {
        let Lister { names, buffer } = self;
        names.clear();
        let mut stop = Ok(());
        let read = directory.each_entry(buffer, |name, kind| {
            names.push(name, kind);
            if names.len() % ENTRIES_PER_CHECK == 0 {
                stop = watch.check();
            }
            stop.is_ok()
        });
        stop?;
        Ok((names, if read.is_ok() { Listed::Whole } else { Listed::Broken }))
    }
}
