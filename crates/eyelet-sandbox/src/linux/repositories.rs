//! The repositories in the roots, and what in them has git execute something when a person runs it
//! there later.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::resolve::{at, if_accessible, real};
use crate::machine::{MAX_LOOKED_AT, MAX_REPOSITORIES};
use crate::request::SandboxRequest;

/// In a folder of git's: where it finds commands, and what leads it to other such files.
pub(super) const LEADING: &[&str] = &["config", "config.worktree", "commondir", "hooks"];

/// What is protected of repositories: paths without links, inside the roots.
#[derive(Debug, Default)]
pub(super) struct Repositories {
    /// Folders of git's own; in them [`LEADING`] stays as it is.
    pub(super) folders: Vec<PathBuf>,
    /// Files and links that stand where such a folder is looked for, and lead to one.
    pub(super) pointers: Vec<PathBuf>,
}

impl Repositories {
    /// Those that are there now.
    pub(super) fn of(request: &SandboxRequest) -> io::Result<Self> {
        let mut search = Search { request, found: Repositories::default(), left: MAX_LOOKED_AT };
        for root in &request.roots {
            search.look(&root.path.join(".git"))?;
        }
        for nested in &request.nested {
            search.look(&nested.0)?;
        }
        Ok(search.found)
    }
}

struct Search<'r> {
    request: &'r SandboxRequest,
    found: Repositories,
    left: usize,
}

impl Search<'_> {
    /// Looks at what stands where the folder of a repository is looked for.
    fn look(&mut self, git: &Path) -> io::Result<()> {
        let Some(found) = at(git)? else { return Ok(()) };
        if !found.is_dir() {
            let Some(place) = self.inside(git.parent())?.zip(git.file_name()) else {
                return Ok(());
            };
            self.found.pointers.push(place.0.join(place.1));
        }
        if if_accessible(|| fs::metadata(git))?.is_some_and(|found| found.is_dir()) {
            return self.add(git);
        }
        pointed(git)?.map_or(Ok(()), |folder| self.add(&folder))
    }

    /// Adds a folder of git's, the one that it shares settings with, and those that lie in it.
    fn add(&mut self, folder: &Path) -> io::Result<()> {
        let Some(folder) = self.inside(Some(folder))? else { return Ok(()) };
        let is_folder = at(&folder)?.is_some_and(|found| found.is_dir());
        let is_full = self.found.folders.len() >= MAX_REPOSITORIES;
        if is_full || !is_folder || self.found.folders.contains(&folder) {
            return Ok(());
        }
        self.found.folders.push(folder.clone());
        if let Some(shared) = pointed(&folder.join("commondir"))? {
            self.add(&shared)?;
        }
        for worktree in self.folders_in(&folder.join("worktrees"))? {
            self.add(&worktree)?;
        }
        self.add_modules(&folder.join("modules"))
    }

    /// A submodule's name may have several parts.
    fn add_modules(&mut self, folder: &Path) -> io::Result<()> {
        for module in self.folders_in(folder)? {
            match at(&module.join("HEAD"))? {
                Some(_) => self.add(&module)?,
                None => self.add_modules(&module)?,
            }
        }
        Ok(())
    }

    fn folders_in(&mut self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let Some(entries) = if_accessible(|| fs::read_dir(folder))? else { return Ok(Vec::new()) };
        let mut folders = Vec::new();
        for entry in entries {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
        Ok(folders)
    }

    /// The path without links, if it lies in a root: nothing else can be changed anyway.
    fn inside(&self, path: Option<&Path>) -> io::Result<Option<PathBuf>> {
        let Some(path) = path else { return Ok(None) };
        let is_inside =
            |real: &PathBuf| self.request.roots.iter().any(|root| real.starts_with(&root.path));
        Ok(real(path)?.filter(is_inside))
    }
}

/// Where a file of git's points to: `.git` with a word before the path, `commondir` without.
fn pointed(file: &Path) -> io::Result<Option<PathBuf>> {
    if !if_accessible(|| fs::metadata(file))?.is_some_and(|found| found.is_file()) {
        return Ok(None);
    }
    let Some(text) = if_accessible(|| fs::read(file))? else { return Ok(None) };
    let path = text.trim_ascii();
    let path = path.strip_prefix(b"gitdir:").unwrap_or(path).trim_ascii();
    Ok(file.parent().map(|folder| folder.join(OsStr::from_bytes(path))))
}
