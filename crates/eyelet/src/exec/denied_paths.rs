//! The paths that `--deny` globs match at the moment, for the sandbox.

use std::fs;
use std::path::{Path, PathBuf};

use crate::paths::deny_list::DenyList;

/// Each match is a mount for every command.
const MAX_MATCHES: usize = 1000;
/// Scanning a larger tree takes too long.
const MAX_ENTRIES: usize = 1_000_000;

/// Finds the denied paths below `roots` and below the directories that absolute globs name. Does
/// not follow symlinks.
pub(crate) fn paths<'r>(
    deny_list: &DenyList,
    roots: impl Iterator<Item = &'r Path>,
) -> Result<Vec<PathBuf>, String> {
    let mut folders: Vec<PathBuf> = roots.map(Path::to_owned).collect();
    for glob in deny_list.globs() {
        let start = before_wildcards(glob.glob());
        if !folders.iter().any(|folder| start.starts_with(folder)) {
            folders.push(start);
        }
    }
    let mut found: Vec<_> = folders.iter().filter(|path| deny_list.denies(path)).cloned().collect();
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        // If eyelet cannot read it, the command cannot either.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.filter_map(Result::ok) {
            seen += 1;
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if deny_list.denies(&path) {
                found.push(path);
            } else if is_folder {
                folders.push(path);
            }
        }
        if seen > MAX_ENTRIES || found.len() > MAX_MATCHES {
            return Err(format!(
                "the deny globs match more than {MAX_MATCHES} paths or require a scan of more than \
                 {MAX_ENTRIES} files"
            ));
        }
    }
    Ok(found)
}

/// The directory that contains all matches of an absolute glob.
fn before_wildcards(glob: &str) -> PathBuf {
    let is_plain = |part: &std::path::Component<'_>| {
        !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{', '\\'])
    };
    let plain: PathBuf = Path::new(glob).components().take_while(is_plain).collect();
    match plain.is_dir() {
        true => plain,
        false => plain.parent().unwrap_or(&plain).to_owned(),
    }
}
