//! The denied paths that exist at the moment, for the sandbox.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
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
        let entries = fs::read_dir(&path).and_then(|entries| {
            entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()
        });
        // What cannot be listed is hidden as a whole.
        let Ok(others) = entries else {
            found.push(path);
            continue;
        };
        let is_other = |path: &PathBuf| !visible.contains(&path.as_path());
        folders.extend(others.into_iter().filter(is_other));
    }
    found
}
