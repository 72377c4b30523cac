//! Resolves symlinks, and checks whether a path exists.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::closed_folder::closed_folder;

/// The path without symlinks, or `None` if no command of this user could open it. Other errors may be
/// temporary, so they are returned: ignoring them could leave the path unprotected.
pub(super) fn real(path: &Path) -> io::Result<Option<PathBuf>> {
    if_accessible(|| fs::canonicalize(path))
}

/// The path to hide from commands, to prevent them from opening a denied path: the path without
/// symlinks, or the closed folder of this user around it. `None` as for [`real`].
pub(super) fn denied(path: &Path) -> io::Result<Option<PathBuf>> {
    match real(path)? {
        Some(real) => Ok(Some(real)),
        None => closed_folder(path).map_or(Ok(None), |closed| real(&closed)),
    }
}

/// The metadata of the path itself, without following a symlink; `None` as for [`real`].
pub(super) fn at(path: &Path) -> io::Result<Option<Metadata>> {
    if_accessible(|| fs::symlink_metadata(path))
}

/// The result of `look`, or `None` if the path is missing or inaccessible to this user. Permission
/// errors are retried once, because a temporary one would leave the path unprotected.
pub(super) fn if_accessible<T>(look: impl Fn() -> io::Result<T>) -> io::Result<Option<T>> {
    const INACCESSIBLE: [Errno; 5] =
        [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS, Errno::LOOP, Errno::NAMETOOLONG];
    let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    match look().or_else(|error| if is_refused(&error) { look() } else { Err(error) }) {
        Ok(found) => Ok(Some(found)),
        Err(error) => match Errno::from_io_error(&error) {
            Some(number) if INACCESSIBLE.contains(&number) => Ok(None),
            Some(_) | None => Err(error),
        },
    }
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
