//! Folders that a search cannot read: because their owner may not, for example after `chmod 000`, or because of an error.

use std::fmt::Display;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::geteuid;

/// The owner's right to enter a folder.
const ENTER: u32 = 0o100;
/// The owner's rights to read and enter a folder.
#[cfg(target_os = "linux")]
const SEARCH: u32 = 0o500;

/// Returns the folder of this user that denies access to `path`; this may be `path` itself. Call
/// this function after the system has refused access to `path`.
///
/// A command may have removed access to this folder, and could restore the access. If another user
/// owns the folder, a command can do neither, so this function returns `None`.
pub fn closed_folder(path: &Path) -> Option<PathBuf> {
    // A command may change a mode in between. Without such a change, the second look finds the same.
    (0..2).find_map(|_| {
        let (folder, found) = path.ancestors().find_map(accessible)?;
        let is_own = found.is_dir() && found.uid() == geteuid().as_raw();
        // Other file systems, such as a mount of another user, refuse access for other reasons.
        let is_closed = folder == path || found.mode() & ENTER == 0;
        (is_own && is_closed).then(|| folder.to_owned())
    })
}

fn accessible(path: &Path) -> Option<(&Path, Metadata)> {
    path.metadata().ok().map(|found| (path, found))
}

/// Whether this is a folder that its owner may not search.
#[cfg(target_os = "linux")]
pub(crate) fn is_closed(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_dir() && found.mode() & SEARCH != SEARCH)
}

/// Returns whether the system refused access.
pub fn is_refused<T>(result: &io::Result<T>) -> bool {
    result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Returns whether a search that gets this error may have missed files. Returns false if the error
/// means that the file does not exist, or that commands of this user cannot access it either.
pub fn is_unexpected(error: &io::Error) -> bool {
    const EXPECTED: [Errno; 8] = [
        Errno::ACCESS,
        Errno::LOOP,
        Errno::NAMETOOLONG,
        Errno::NOENT,
        Errno::NOTCONN,
        Errno::NOTDIR,
        Errno::PERM,
        Errno::STALE,
    ];
    Errno::from_io_error(error).is_none_or(|number| !EXPECTED.contains(&number))
}

/// Returns the message with which eyelet refuses commands because a search failed.
pub fn search_failed(at: impl Display, error: impl Display) -> String {
    format!(
        "cannot search {at} for repositories and denied files: {error}; run the command again later"
    )
}

/// Returns the message with which eyelet refuses commands because a search cannot enter a folder.
pub fn cannot_search(closed: impl Display) -> String {
    format!(
        "cannot search {closed} for repositories and denied files: its owner has no permission to \
         read or enter it; run `chmod u+rwx` on it or remove it"
    )
}

#[cfg(all(test, target_os = "linux"))]
#[path = "closed_folder_tests.rs"]
mod tests;
