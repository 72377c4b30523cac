//! The paths that `--deny` globs match at the moment, for the sandbox.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use eyelet_sandbox::{closed_folder, is_refused, is_unexpected, search_failed};

use crate::exec::sandboxed::repository_search::is_open;
use crate::paths::deny_list::DenyList;
use crate::text::escape;

/// Each match is a mount for every command.
const MAX_MATCHES: usize = 1000;
/// Scanning a larger tree takes too long.
const MAX_ENTRIES: usize = 1_000_000;

/// How many sets of roots are remembered. A client may send new roots at any time.
const MAX_SETS: usize = 64;

/// The paths that the globs matched when the first command of a set of roots started.
#[derive(Debug, Default)]
pub(crate) struct DeniedPaths {
    /// The most recent last.
    scans: Mutex<Vec<Scan>>,
}

/// The result of one scan, for the globs and roots that it depends on.
#[derive(Debug)]
struct Scan {
    globs: Vec<String>,
    roots: Vec<PathBuf>,
    found: Denied,
}

/// The paths to hide from commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Denied {
    /// The paths that the globs match.
    pub(crate) paths: Vec<PathBuf>,
    /// Directories of this user that could not be searched.
    pub(crate) closed: Vec<PathBuf>,
}

impl DeniedPaths {
    /// The denied paths below `roots` and below the directories that absolute globs name.
    pub(crate) fn below(&self, deny_list: &DenyList, roots: &[&Path]) -> Result<Denied, String> {
        if deny_list.globs().is_empty() {
            return Ok(Denied::default());
        }
        let globs: Vec<_> =
            deny_list.globs().iter().map(|own| own.glob.glob().to_owned()).collect();
        let mut scans = self.scans.lock().unwrap_or_else(PoisonError::into_inner);
        scans.retain(|scan| !scan.found.closed.iter().any(|closed| is_open(closed)));
        if let Some(scan) = scans.iter().find(|scan| scan.globs == globs && scan.roots == roots) {
            return Ok(scan.found.clone());
        }
        if scans.len() >= MAX_SETS {
            scans.remove(0);
        }
        let found = find(deny_list, roots)?;
        let roots = roots.iter().map(|root| (*root).to_owned()).collect();
        scans.push(Scan { globs, roots, found: found.clone() });
        Ok(found)
    }
}

/// Does not follow symlinks.
fn find(deny_list: &DenyList, roots: &[&Path]) -> Result<Denied, String> {
    let mut folders: Vec<PathBuf> = roots.iter().map(|root| (*root).to_owned()).collect();
    for glob in deny_list.globs() {
        let start = if glob.start.is_dir() { Some(&*glob.start) } else { glob.start.parent() };
        let is_known = |start: &&Path| folders.iter().any(|folder| start.starts_with(folder));
        if let Some(start) = start.filter(|start| !is_known(start)) {
            folders.push(start.to_owned());
        }
    }
    let mut found = Denied::default();
    found.paths.extend(folders.iter().filter(|path| deny_list.denies(path)).cloned());
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let mut entries = fs::read_dir(&folder);
        if is_refused(&entries) {
            // A temporary error would leave what is in it readable.
            entries = fs::read_dir(&folder);
        }
        if is_refused(&entries) {
            // What another user has closed, a command cannot open.
            found.closed.extend(closed_folder(&folder));
        }
        let failed = |error: std::io::Error| search_failed(escape::name(folder.as_os_str()), error);
        let entries = match entries {
            Err(error) if is_unexpected(&error) => return Err(failed(error)),
            Ok(entries) => Some(entries),
            Err(_) => None,
        };
        for entry in entries.into_iter().flatten() {
            let entry = entry.map_err(failed)?;
            seen += 1;
            let path = entry.path();
            let is_folder = match entry.file_type() {
                Err(error) if is_unexpected(&error) => return Err(failed(error)),
                kind => kind.is_ok_and(|kind| kind.is_dir()),
            };
            if deny_list.denies(&path) {
                if is_refused(&path.symlink_metadata()) {
                    found.closed.extend(closed_folder(&path));
                }
                found.paths.push(path);
            } else if is_folder {
                folders.push(path);
            }
        }
        if found.paths.len() > MAX_MATCHES {
            return Err(format!(
                "the deny globs match more than {MAX_MATCHES} paths, and each must be hidden from commands; \
                 deny the directories that contain them"
            ));
        }
        if seen > MAX_ENTRIES {
            return Err(format!(
                "the directories that the deny globs apply to contain more than {MAX_ENTRIES} files; \
                 use deny globs or roots that cover fewer files"
            ));
        }
    }
    found.closed.sort();
    found.closed.dedup();
    Ok(found)
}
