//! A client's file: read whole, kept beside itself, replaced in one step.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use crate::failure::{FAILED, Failure};

/// No client has settings of that size; what has is something else.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The text of a file; nothing where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Failure> {
    let failed = |reason: String| failure(path, &format!("cannot be read: {reason}"));
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A link to nothing is not nothing: writing would replace the link.
            return match fs::symlink_metadata(path) {
                Ok(_) => Err(failed("it is a link to nothing".to_owned())),
                Err(_) => Ok(None),
            };
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    if !about.is_file() {
        return Err(failed("it is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(format!("it is above {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| failed("it is not UTF-8".to_owned()))
}

/// Puts the new text in the place of the old one; the backup, where there was an old one.
pub(crate) fn replace(
    path: &Path,
    old: Option<&str>,
    new: &str,
) -> Result<Option<PathBuf>, Failure> {
    let failed = |error: io::Error| failure(path, &format!("cannot be written: {error}"));
    let Some(old) = old else {
        return create(path, new).map(|()| None).map_err(failed);
    };
    // A link stays a link: what it leads to is replaced.
    let path = fs::canonicalize(path).map_err(failed)?;
    let about = fs::metadata(&path).map_err(failed)?;
    let copy = |suffix: &str, text: &str| {
        let (place, file) = beside(&path, suffix, 0o600)?;
        // Only root can give a file away; for others it is their own anyway.
        let _ = fchown(&file, Some(about.uid()), Some(about.gid()));
        file.set_permissions(Permissions::from_mode(about.mode() & 0o7777))?;
        put(file, &place, text).map(|()| place)
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
        // It is of no use to anyone.
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let (temporary, file) = beside(path, ".eyelet-new", 0o666)?;
    put(file, &temporary, text)?;
    if fs::symlink_metadata(path).is_ok() {
        fs::remove_file(&temporary)?;
        return Err(changed_meanwhile());
    }
    fs::rename(&temporary, path)
}

fn changed_meanwhile() -> io::Error {
    io::Error::other("someone else changed it meanwhile; try again")
}

/// A new file beside another, under the first name that is free.
fn beside(path: &Path, suffix: &str, mode: u32) -> io::Result<(PathBuf, File)> {
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

/// Fills a new file for good, or takes it away again.
fn put(mut file: File, place: &Path, text: &str) -> io::Result<()> {
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(place);
    }
    written
}

/// What is wrong with a file, as one line.
pub(crate) fn failure(path: &Path, what: &str) -> Failure {
    Failure { message: format!("{} {what}", path.display()), exit: FAILED }
}
