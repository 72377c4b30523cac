//! Conflict copies: versions of protected paths that eyelet moves aside instead of deleting them, because they may be
//! the user's.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use rustix::fs::{Mode, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::entry::{Entry, Room, remove};
use super::folders::{enter, enter_or_create, look, make_accessible, open, reopening, split};
use super::store::hash;
use crate::message::{Fate, Reverted};

/// How many conflict copies of one path are kept.
const MAX_COPIES: usize = 8;
/// The longest name of a file.
const MAX_NAME: usize = 255;

/// Where a version is now.
#[derive(Debug)]
pub(super) struct SetAside {
    /// None if it was deleted, because the disk is full.
    pub(super) name: Option<OsString>,
    /// How many older copies were removed for it.
    pub(super) removed: u32,
}

/// `NAME.eyelet-conflict`, short enough for a number behind it.
pub(super) fn conflict_name(name: &OsStr) -> OsString {
    with_suffix(name, ".eyelet-conflict", MAX_NAME - ".8".len())
}

/// `name` with a suffix. A hash replaces the end of a name that would be longer than `most` bytes.
fn with_suffix(name: &OsStr, suffix: &str, most: usize) -> OsString {
    let mut bytes = name.as_bytes().to_vec();
    if bytes.len() + suffix.len() > most {
        let hash = format!("-{:016x}", hash(&bytes));
        bytes.truncate(most.saturating_sub(hash.len() + suffix.len()));
        // Not in the middle of a character.
        if let Err(error) = std::str::from_utf8(&bytes) {
            if error.error_len().is_none() {
                bytes.truncate(error.valid_up_to());
            }
        }
        bytes.extend_from_slice(hash.as_bytes());
    }
    bytes.extend_from_slice(suffix.as_bytes());
    OsString::from_vec(bytes)
}

/// Moves `name` of the folder `from` into the folder `to`, as `base` or `base.N`. If a copy with the same content
/// exists, removes it instead.
pub(super) fn set_aside(
    from: &OwnedFd,
    name: &OsStr,
    to: &OwnedFd,
    base: &OsStr,
) -> io::Result<SetAside> {
    // At once: a command may have made it so large that reading it takes long.
    let temporary = temporary_name()?;
    relocate(from, name, to, &temporary)?;
    // If a command prevents another name, the copy keeps the one that it has.
    Ok(settle(to, &temporary, base).unwrap_or(SetAside { name: Some(temporary), removed: 0 }))
}

/// Gives the copy `temporary` in the folder `to` its name.
fn settle(to: &OwnedFd, temporary: &OsStr, base: &OsStr) -> io::Result<SetAside> {
    let take = |name: &OsStr| reopening(&[to], || Entry::take(to, name, None, &mut Room::new()));
    let rename = |name: &OsStr| {
        reopening(&[to], || Ok(renameat_with(to, temporary, to, name, RenameFlags::NOREPLACE)?))
    };
    let own = take(temporary)?;
    for candidate in candidates(base) {
        let stands = take(&candidate)?;
        let is_equal = |stands: &Entry| own.as_ref().is_some_and(|own| own.has_content_of(stands));
        if stands.as_ref().is_some_and(is_equal) {
            reopening(&[to], || remove(to, temporary))?;
            return Ok(SetAside { name: Some(candidate), removed: 0 });
        }
        if stands.is_some() {
            continue;
        }
        match rename(&candidate) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(SetAside { name: Some(candidate), removed: 0 }),
        }
    }
    let oldest = remove_oldest(to, base)?;
    rename(&oldest)?;
    Ok(SetAside { name: Some(oldest), removed: 1 })
}

/// A name that nobody has.
pub(super) fn temporary_name() -> io::Result<OsString> {
    let random = getrandom::u64().map_err(io::Error::other)?;
    Ok(OsString::from(format!(".eyelet-restore-{random:016x}")))
}

/// Whether the disk is full.
pub(super) fn lacks_space(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT))
}

/// Deletes a version that cannot be set aside because the disk is full: a plant must not stay.
pub(super) fn or_delete(
    aside: io::Result<SetAside>,
    from: &OwnedFd,
    name: &OsStr,
) -> io::Result<SetAside> {
    match aside {
        Err(error) if lacks_space(&error) => {
            reopening(&[from], || remove(from, name))?;
            Ok(SetAside { name: None, removed: 0 })
        }
        aside => aside,
    }
}

/// Keeps conflict copies with the same content once.
pub(super) fn drop_duplicate(reverted: &mut Reverted) -> io::Result<()> {
    let Fate::Conflict { to, .. } = &mut reverted.fate else { return Ok(()) };
    let (parent, name) = split(&to.0)?;
    let base = conflict_name(reverted.path.0.file_name().unwrap_or_default());
    if let Some(folder) = open(parent)? {
        let kept = without_duplicate(&folder, &base, name)?;
        to.0.set_file_name(kept);
    }
    Ok(())
}

/// Removes the copy `name` if an earlier one has the same content: it may have been moved while it was written. Returns
/// the one that stays.
fn without_duplicate(folder: &OwnedFd, base: &OsStr, name: &OsStr) -> io::Result<OsString> {
    let own = Entry::take(folder, name, None, &mut Room::new())?;
    for candidate in candidates(base).take_while(|candidate| candidate != name) {
        let earlier = Entry::take(folder, &candidate, None, &mut Room::new())?;
        if own
            .as_ref()
            .zip(earlier.as_ref())
            .is_some_and(|(own, earlier)| own.has_content_of(earlier))
        {
            remove(folder, name)?;
            return Ok(candidate);
        }
    }
    Ok(name.to_owned())
}

/// The folder `base` or `base.N` in `here` that takes conflict copies.
pub(super) fn folder(here: &OwnedFd, base: &OsStr) -> io::Result<(OwnedFd, OsString)> {
    for candidate in candidates(base) {
        match enter_or_create(here, &candidate, Mode::RWXU) {
            Ok(folder) => {
                make_accessible(&folder);
                return Ok((folder, candidate));
            }
            // Something else has that name.
            Err(error)
                if matches!(Errno::from_io_error(&error), Some(Errno::NOTDIR | Errno::LOOP)) => {}
            Err(error) => return Err(error),
        }
    }
    let name = remove_oldest(here, base)?;
    Ok((enter_or_create(here, &name, Mode::RWXU)?, name))
}

fn candidates(base: &OsStr) -> impl Iterator<Item = OsString> {
    (1..=MAX_COPIES).map(move |number| match number {
        1 => base.to_owned(),
        number => with_suffix(base, &format!(".{number}"), MAX_NAME),
    })
}

fn remove_oldest(here: &OwnedFd, base: &OsStr) -> io::Result<OsString> {
    let mut oldest = None;
    for candidate in candidates(base) {
        let Some(found) = look(here, &candidate)? else { return Ok(candidate) };
        let time = (found.st_ctime, found.st_ctime_nsec);
        if oldest.as_ref().is_none_or(|(oldest, _)| time < *oldest) {
            oldest = Some((time, candidate));
        }
    }
    let Some((_, name)) = oldest else { return Ok(base.to_owned()) };
    remove(here, &name)?;
    Ok(name)
}

/// Renames, or copies to another mount.
fn relocate(from: &OwnedFd, name: &OsStr, to: &OwnedFd, new: &OsStr) -> io::Result<()> {
    let renamed = reopening(&[from, to], || {
        if let Some(folder) = enter(from, name)? {
            // The system moves only folders that their owner may write.
            make_accessible(&folder);
        }
        Ok(renameat_with(from, name, to, new, RenameFlags::NOREPLACE)?)
    });
    let error = match renamed {
        Err(error) => error,
        renamed => return renamed,
    };
    if !matches!(Errno::from_io_error(&error), Some(Errno::XDEV | Errno::BUSY)) {
        return Err(error);
    }
    if let Some(entry) = reopening(&[from], || Entry::take(from, name, None, &mut Room::new()))? {
        create(&entry, to, new)?;
    }
    reopening(&[from], || remove(from, name))
}

/// Creates an entry, or nothing.
pub(super) fn create(entry: &Entry, folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    reopening(&[folder], || {
        entry.create(folder, name).inspect_err(|_| {
            let _ = reopening(&[folder], || remove(folder, name));
        })
    })
}

#[cfg(test)]
#[path = "conflicts_tests.rs"]
mod tests;
