//! Restores the paths of commands whose supervisors were killed, before the next command on the same paths starts.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::check::{Check, NoUser};
use super::marks::{Found, Mark};
use super::moved::Search;
use super::store::{Lock, Store};
use super::users_changes::tops;
use crate::message::{Fate, Reverted};

/// The result of [`recover`].
pub(super) struct Recovered {
    /// The marks of the commands that run.
    pub(super) marks: Vec<Mark>,
    /// Where moved folders can be.
    pub(super) tops: Vec<PathBuf>,
}

/// Restores the paths of commands whose supervisors were killed. If `search` is not complete then, it has to be called
/// again.
pub(super) fn recover(
    store: &Store,
    lock: &Lock,
    own: &Mark,
    reverted: &mut Vec<Reverted>,
    search: &mut Search,
) -> io::Result<Recovered> {
    let marks = store.marks(lock, None)?;
    let tops = tops(marks.iter().map(|found| &found.mark).chain([own]));
    for Found { path, mark, reverted: noted, is_alive } in &marks {
        if *is_alive || !mark.overlaps(own) {
            continue;
        }
        reverted.extend(noted.iter().filter(|noted| noted.fate != Fate::Failed).cloned());
        let mut check = Check {
            store,
            lock,
            search,
            judge: &mut NoUser,
            reverted: std::mem::take(reverted),
            kept_changing: None,
        };
        // Nothing is restored in a root that someone created anew.
        for place in mark.places.iter().filter(|place| mark.has_root(&place.root.0)) {
            check.place(place);
        }
        *reverted = check.reverted;
        if !search.is_complete() {
            break;
        }
        // Otherwise it would count as the user's from now on.
        if let Some(failed) = reverted.iter().find(|reverted| reverted.fate == Fate::Failed) {
            let path = failed.path.0.display();
            let what = "an earlier command changed this path, and eyelet could not restore it; \
                        check the path and the free disk space";
            return Err(io::Error::other(format!("{path}: {what}")));
        }
        fs::remove_file(path)?;
    }
    let alive = marks.into_iter().filter(|found| found.is_alive);
    Ok(Recovered { marks: alive.map(|found| found.mark).collect(), tops })
}
