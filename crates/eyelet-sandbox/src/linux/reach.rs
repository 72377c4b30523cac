//! Paths without links, and whether there is anything at them.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// The path without links; none where nothing is there that a command of this user could open. Any
/// other error may pass, and then what was to be protected would be there.
pub(super) fn real(path: &Path) -> io::Result<Option<PathBuf>> {
    reached(|| fs::canonicalize(path))
}

/// What stands at the path, be it a link.
pub(super) fn at(path: &Path) -> io::Result<Option<Metadata>> {
    reached(|| fs::symlink_metadata(path))
}

/// What `look` finds, or none where it is out of reach for everyone like this process. A refusal has to
/// come twice: one that passes would leave something unprotected.
pub(super) fn reached<T>(look: impl Fn() -> io::Result<T>) -> io::Result<Option<T>> {
    const OUT_OF_REACH: [Errno; 5] =
        [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS, Errno::LOOP, Errno::NAMETOOLONG];
    let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    match look().or_else(|error| if is_refused(&error) { look() } else { Err(error) }) {
        Ok(found) => Ok(Some(found)),
        Err(error) => match Errno::from_io_error(&error) {
            Some(number) if OUT_OF_REACH.contains(&number) => Ok(None),
            Some(_) | None => Err(error),
        },
    }
}

#[cfg(test)]
#[path = "reach_tests.rs"]
mod tests;
