//! Files that wait to be looked into, newest first.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// A file that the rules let through.
pub(super) struct Candidate {
    /// In nanoseconds since 1970.
    pub(super) modified: i128,
    pub(super) folder: Arc<Path>,
    pub(super) name: Box<OsStr>,
}

impl Candidate {
    /// What keeping it costs in memory, its folder's path apart.
    pub(super) fn cost(&self) -> usize {
        // The allocator rounds up and adds a word.
        size_of::<Candidate>() + self.name.len() + 24
    }

    /// Newest first, equal times by the bytes of the path.
    fn order(&self, other: &Candidate) -> Ordering {
        other.modified.cmp(&self.modified).then_with(|| self.path_order(other))
    }

    fn path_order(&self, other: &Candidate) -> Ordering {
        let (one, another) = (self.name.as_bytes(), other.name.as_bytes());
        if Arc::ptr_eq(&self.folder, &other.folder) {
            return one.cmp(another);
        }
        let (left, right) = (bytes(&self.folder), bytes(&other.folder));
        let both = left.len().min(right.len());
        left.get(..both).cmp(&right.get(..both)).then_with(|| {
            // One of the two has nothing left.
            let left = left.get(both..).unwrap_or_default().iter();
            let right = right.get(both..).unwrap_or_default().iter();
            left.chain(slash(&self.folder))
                .chain(one)
                .cmp(right.chain(slash(&other.folder)).chain(another))
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

/// Takes the newest `count` out of `candidates`, in order.
pub(super) fn take_newest(candidates: &mut Vec<Candidate>, count: usize) -> Vec<Candidate> {
    if count < candidates.len() {
        // Those that stay come first, so that the others can be split off.
        let stay = candidates.len() - count;
        candidates.select_nth_unstable_by(stay, |one, other| other.order(one));
        let mut newest = candidates.split_off(stay);
        newest.sort_unstable_by(Candidate::order);
        return newest;
    }
    let mut all = std::mem::take(candidates);
    all.sort_unstable_by(Candidate::order);
    all
}

#[cfg(test)]
#[path = "candidate_tests.rs"]
mod tests;
