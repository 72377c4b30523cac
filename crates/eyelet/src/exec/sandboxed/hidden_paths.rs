//! The denied paths that exist at the moment, for the sandbox.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Those of `paths` that exist, without symlinks: few of the secrets exist, and each path costs time in the
/// supervisor. A directory around one of `visible` is replaced by its other entries.
pub(crate) fn existing(paths: &[PathBuf], visible: &[&Path]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for path in paths {
        match path.symlink_metadata() {
            Err(error)
                if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {}
            // The supervisor tries again if a path cannot be resolved here.
            Ok(_) | Err(_) => {
                let real = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                found.extend(around(real, visible));
            }
        }
    }
    found
}

/// `hidden`, or what hides it except for the paths in it that must stay visible.
fn around(hidden: PathBuf, visible: &[&Path]) -> Vec<PathBuf> {
    let mut folders = vec![hidden];
    let mut found = Vec::new();
    while let Some(path) = folders.pop() {
        let holds_visible = visible.iter().any(|visible| visible.starts_with(&path));
        if !holds_visible || visible.contains(&path.as_path()) {
            found.push(path);
            continue;
        }
        let Ok(entries) = fs::read_dir(&path) else {
            found.push(path);
            continue;
        };
        let others = entries.filter_map(Result::ok).map(|entry| entry.path());
        folders.extend(others.filter(|path| !visible.contains(&path.as_path())));
    }
    found
}
