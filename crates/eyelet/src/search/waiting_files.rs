//! Files that wait to be looked into, newest first. Thousands may: they are packed.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// What the packed form of a time is counted in.
const SECOND: i128 = 1_000_000_000;

/// The room for a name, as a rule.
const NAME_BYTES: usize = 16;

/// A file that the rules let through.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'w> {
    /// In nanoseconds since 1970.
    pub(crate) modified: i128,
    pub(crate) folder: &'w Arc<Path>,
    pub(crate) name: &'w OsStr,
}

/// The files that one worker lets wait.
#[derive(Default)]
pub(crate) struct Part {
    store: Store,
    files: Vec<Packed>,
}

/// The files that all workers let wait.
#[derive(Default)]
pub(crate) struct Waiting {
    stores: Vec<Store>,
    files: Vec<Packed>,
}

/// Where the paths of packed files stand.
#[derive(Default)]
struct Store {
    folders: Vec<Arc<Path>>,
    names: Vec<u8>,
}

/// A candidate whose path stands in a store.
pub(crate) struct Packed {
    seconds: i64,
    nanoseconds: u32,
    folder: u32,
    name: u32,
    name_bytes: u16,
    store: u16,
}

impl Part {
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Lets a file wait, as one of `most`. None where there is no room.
    pub(crate) fn add(&mut self, file: Candidate<'_>, most: usize) -> Option<()> {
        let Store { folders, names } = &mut self.store;
        if self.files.capacity() == 0 {
            // Only what is used is taken from the system; what grows leaves holes behind.
            self.files.reserve_exact(most);
            names.reserve_exact(most.saturating_mul(NAME_BYTES));
        }
        let is_new = folders.last().is_none_or(|last| !Arc::ptr_eq(last, file.folder));
        let packed = Packed {
            seconds: file.modified.div_euclid(SECOND).try_into().ok()?,
            nanoseconds: file.modified.rem_euclid(SECOND).try_into().ok()?,
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

impl FromIterator<Part> for Waiting {
    fn from_iter<I: IntoIterator<Item = Part>>(parts: I) -> Self {
        let mut waiting = Waiting::default();
        for (store, mut part) in (0..).zip(parts) {
            part.files.iter_mut().for_each(|file| file.store = store);
            if waiting.files.is_empty() {
                waiting.files = part.files;
            } else {
                waiting.files.append(&mut part.files);
            }
            waiting.stores.push(part.store);
        }
        waiting
    }
}

impl Waiting {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Takes the newest `count` out, in order.
    pub(crate) fn take_newest(&mut self, count: usize) -> Vec<Packed> {
        let Waiting { stores, files } = self;
        let mut newest = std::mem::take(files);
        if count < newest.len() {
            // Those that stay come first, so that the others can be split off.
            let stay = newest.len() - count;
            newest.select_nth_unstable_by(stay, |one, other| order(stores, other, one));
            let taken = newest.split_off(stay);
            *files = std::mem::replace(&mut newest, taken);
        }
        newest.sort_unstable_by(|one, other| order(stores, one, other));
        newest
    }

    /// A file that was taken out of here.
    pub(crate) fn candidate(&self, file: &Packed) -> Option<Candidate<'_>> {
        candidate(&self.stores, file)
    }
}

fn candidate<'s>(stores: &'s [Store], file: &Packed) -> Option<Candidate<'s>> {
    let Store { folders, names } = stores.get(usize::from(file.store))?;
    let start = usize::try_from(file.name).ok()?;
    let name = names.get(start..start + usize::from(file.name_bytes))?;
    Some(Candidate {
        modified: i128::from(file.seconds) * SECOND + i128::from(file.nanoseconds),
        folder: folders.get(usize::try_from(file.folder).ok()?)?,
        name: OsStr::from_bytes(name),
    })
}

/// Newest first, equal times by the bytes of the path.
fn order(stores: &[Store], one: &Packed, other: &Packed) -> Ordering {
    let time = |file: &Packed| (file.seconds, file.nanoseconds);
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
            // One of the two has nothing left.
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

/// What stands between a folder's path and a name in it.
fn slash(folder: &Path) -> &'static [u8] {
    if bytes(folder).last() == Some(&b'/') { b"" } else { b"/" }
}

#[cfg(test)]
#[path = "waiting_files_tests.rs"]
mod tests;
