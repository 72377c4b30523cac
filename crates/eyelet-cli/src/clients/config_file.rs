//! Reads a client's config file, and replaces it atomically with a backup beside it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A larger file is not a client's config file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The text of a file, or `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Failure> {
    let failed = |reason: String| Failure::new(format!("cannot read {}: {reason}", path.display()));
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Refuse a dangling symlink: writing would replace it.
            return match fs::symlink_metadata(path) {
                Ok(_) => Err(failed("dangling symlink".to_owned())),
                Err(_) => Ok(None),
            };
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    if !about.is_file() {
        return Err(failed("not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(format!("larger than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| failed("not valid UTF-8".to_owned()))
}

/// Replaces the old text by the new one. Returns the path of the backup, if there was an old file.
pub(crate) fn replace(
    path: &Path,
    old: Option<&str>,
    new: &str,
) -> Result<Option<PathBuf>, Failure> {
    let failed =
        |error: io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
    let Some(old) = old else {
        return create(path, new).map(|()| None).map_err(failed);
    };
    // Replace the target of a symlink, not the symlink.
    let path = fs::canonicalize(path).map_err(failed)?;
    let about = fs::metadata(&path).map_err(failed)?;
    let copy = |suffix: &str, text: &str| {
        let (place, file) = create_beside(&path, suffix, 0o600)?;
        // Only root can change the owner; for other users it is already right.
        let _ = fchown(&file, Some(about.uid()), Some(about.gid()));
        file.set_permissions(Permissions::from_mode(about.mode() & 0o7777))?;
        write_synced(file, &place, text).map(|()| place)
    };
    let temporary = copy(".eyelet-new", new).map_err(failed)?;
    let swapped = copy(".eyelet-backup", old).and_then(|backup| {
        if fs::read(&path)? != old.as_bytes() {
            fs::remove_file(&backup)?;
            return Err(changed_meanwhile());
        }
        fs::rename(&temporary, &path).map(|()| backup)
    });
    swapped.map(Some).map_err(|error| {
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let (temporary, file) = create_beside(path, ".eyelet-new", 0o666)?;
    write_synced(file, &temporary, text)?;
    if fs::symlink_metadata(path).is_ok() {
        fs::remove_file(&temporary)?;
        return Err(changed_meanwhile());
    }
    fs::rename(&temporary, path)
}

fn changed_meanwhile() -> io::Error {
    io::Error::other("another program changed the file; try again")
}

/// Creates a file beside another, under the first free name.
fn create_beside(path: &Path, suffix: &str, mode: u32) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default();
    for number in 1_u32.. {
        let mut name = name.to_owned();
        name.push(suffix);
        if number > 1 {
            name.push(format!("-{number}"));
        }
        let place = path.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&place) {
            Ok(file) => return Ok((place, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Writes and syncs a new file, or removes it on failure.
fn write_synced(mut file: File, place: &Path, text: &str) -> io::Result<()> {
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(place);
    }
    written
}
