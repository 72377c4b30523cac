//! Files that are searched later, newest first. There may be thousands, so they are packed.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// Packed times are stored as seconds and nanoseconds.
const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// How many bytes to reserve per name.
const TYPICAL_NAME_BYTES: usize = 16;

/// A file that the ignore rules do not skip.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'w> {
    /// In nanoseconds since 1970.
    pub(crate) modified: i128,
    pub(crate) folder: &'w Arc<Path>,
    pub(crate) name: &'w OsStr,
}

/// The deferred files of one worker.
#[derive(Default)]
pub(crate) struct DeferredPart {
    store: PathStore,
    files: Vec<PackedFile>,
}

/// The deferred files of all workers.
#[derive(Default)]
pub(crate) struct DeferredFiles {
    stores: Vec<PathStore>,
    files: Vec<PackedFile>,
}

/// The paths of packed files.
#[derive(Default)]
struct PathStore {
    folders: Vec<Arc<Path>>,
    names: Vec<u8>,
}

/// A file whose path is in a store.
pub(crate) struct PackedFile {
    seconds: i64,
    nanoseconds: u32,
    folder: u32,
    name: u32,
    name_bytes: u16,
    store: u16,
}

impl DeferredPart {
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Defers a file. None if there is no room; `most` is the capacity.
    pub(crate) fn add(&mut self, file: Candidate<'_>, most: usize) -> Option<()> {
        let PathStore { folders, names } = &mut self.store;
        if self.files.capacity() == 0 {
            // Reserved once: growing would leave freed blocks behind.
            self.files.reserve_exact(most);
            names.reserve_exact(most.saturating_mul(TYPICAL_NAME_BYTES));
        }
        let is_new = folders.last().is_none_or(|last| !Arc::ptr_eq(last, file.folder));
        let packed = PackedFile {
            seconds: file.modified.div_euclid(NANOS_PER_SECOND).try_into().ok()?,
            nanoseconds: file.modified.rem_euclid(NANOS_PER_SECOND).try_into().ok()?,
            folder: if is_new { folders.len() } else { folders.len() - 1 }.try_into().ok()?,
            name: names.len().try_into().ok()?,
            name_bytes: file.name.len().try_into().ok()?,
            store: 0,
        };
        if is_new {
            folders.push(Arc::clone(file.folder));
        }
        names.extend_from_slice(file.name.as_bytes());
        self.files.push(packed);
        Some(())
    }
}

impl FromIterator<DeferredPart> for DeferredFiles {
    fn from_iter<I: IntoIterator<Item = DeferredPart>>(parts: I) -> Self {
        let mut deferred = DeferredFiles::default();
        for (store, mut part) in (0..).zip(parts) {
            part.files.iter_mut().for_each(|file| file.store = store);
            if deferred.files.is_empty() {
                deferred.files = part.files;
            } else {
                deferred.files.append(&mut part.files);
            }
            deferred.stores.push(part.store);
        }
        deferred
    }
}

impl DeferredFiles {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Removes and returns the newest `count` files, in order.
    pub(crate) fn take_newest(&mut self, count: usize) -> Vec<PackedFile> {
        let DeferredFiles { stores, files } = self;
        let mut newest = std::mem::take(files);
        if count < newest.len() {
            // The files that stay come first, so that the rest can be split off.
            let stay = newest.len() - count;
            newest.select_nth_unstable_by(stay, |one, other| order(stores, other, one));
            let taken = newest.split_off(stay);
            *files = std::mem::replace(&mut newest, taken);
        }
        newest.sort_unstable_by(|one, other| order(stores, one, other));
        newest
    }

    /// A file that `take_newest` returned.
    pub(crate) fn candidate(&self, file: &PackedFile) -> Option<Candidate<'_>> {
        candidate(&self.stores, file)
    }
}

fn candidate<'s>(stores: &'s [PathStore], file: &PackedFile) -> Option<Candidate<'s>> {
    let PathStore { folders, names } = stores.get(usize::from(file.store))?;
    let start = usize::try_from(file.name).ok()?;
    let name = names.get(start..start + usize::from(file.name_bytes))?;
    Some(Candidate {
        modified: i128::from(file.seconds) * NANOS_PER_SECOND + i128::from(file.nanoseconds),
        folder: folders.get(usize::try_from(file.folder).ok()?)?,
        name: OsStr::from_bytes(name),
    })
}

/// Newest first; equal times in byte order of the path.
fn order(stores: &[PathStore], one: &PackedFile, other: &PackedFile) -> Ordering {
    let time = |file: &PackedFile| (file.seconds, file.nanoseconds);
    time(other).cmp(&time(one)).then_with(|| {
        match (candidate(stores, one), candidate(stores, other)) {
            (Some(one), Some(other)) => one.path_order(other),
            (one, other) => one.is_some().cmp(&other.is_some()),
        }
    })
}

impl Candidate<'_> {
    fn path_order(self, other: Candidate<'_>) -> Ordering {
        let (one, another) = (self.name.as_bytes(), other.name.as_bytes());
        if Arc::ptr_eq(self.folder, other.folder) {
            return one.cmp(another);
        }
        let (left, right) = (bytes(self.folder), bytes(other.folder));
        let both = left.len().min(right.len());
        left.get(..both).cmp(&right.get(..both)).then_with(|| {
            // At most one of the two has bytes left.
            let left = left.get(both..).unwrap_or_default().iter();
            let right = right.get(both..).unwrap_or_default().iter();
            left.chain(slash(self.folder))
                .chain(one)
                .cmp(right.chain(slash(other.folder)).chain(another))
        })
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// The separator between a folder's path and a name in it.
fn slash(folder: &Path) -> &'static [u8] {
    if bytes(folder).last() == Some(&b'/') { b"" } else { b"/" }
}

#[cfg(test)]
#[path = "deferred_storage_tests.rs"]
mod tests;
