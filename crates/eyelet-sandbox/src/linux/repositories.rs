//! The repositories in the roots, and what in them has git execute something when a person runs it
//! there later.

use std::fs;
use std::path::{Path, PathBuf};

use crate::doctor::{MAX_LOOKED_AT, MAX_REPOSITORIES};
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
    pub(super) fn of(request: &SandboxRequest) -> Self {
        let mut search = Search { request, found: Repositories::default(), left: MAX_LOOKED_AT };
        for root in &request.roots {
            search.look(&root.path.join(".git"));
        }
        for nested in &request.nested {
            search.look(&nested.0);
        }
        search.found
    }
}

struct Search<'r> {
    request: &'r SandboxRequest,
    found: Repositories,
    left: usize,
}

impl Search<'_> {
    /// Looks at what stands where the folder of a repository is looked for.
    fn look(&mut self, git: &Path) {
        let Ok(found) = git.symlink_metadata() else { return };
        if !found.is_dir() {
            let Some(place) = self.inside(git.parent()).zip(git.file_name()) else { return };
            self.found.pointers.push(place.0.join(place.1));
        }
        if git.is_dir() {
            self.add(git);
        } else if let Some(folder) = pointed(git) {
            self.add(&folder);
        }
    }

    /// Adds a folder of git's, the one that it shares settings with, and those that lie in it.
    fn add(&mut self, folder: &Path) {
        let Some(folder) = self.inside(Some(folder)) else { return };
        let is_full = self.found.folders.len() >= MAX_REPOSITORIES;
        if is_full || !folder.is_dir() || self.found.folders.contains(&folder) {
            return;
        }
        self.found.folders.push(folder.clone());
        if let Some(shared) = pointed(&folder.join("commondir")) {
            self.add(&shared);
        }
        for worktree in self.folders_in(&folder.join("worktrees")) {
            self.add(&worktree);
        }
        self.add_modules(&folder.join("modules"));
    }

    /// A submodule's name may have several parts.
    fn add_modules(&mut self, folder: &Path) {
        for module in self.folders_in(folder) {
            if module.join("HEAD").symlink_metadata().is_ok() {
                self.add(&module);
            } else {
                self.add_modules(&module);
            }
        }
    }

    fn folders_in(&mut self, folder: &Path) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let mut folders = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
        folders
    }

    /// The path without links, if it lies in a root: nothing else can be changed anyway.
    fn inside(&self, path: Option<&Path>) -> Option<PathBuf> {
        let real = fs::canonicalize(path?).ok()?;
        self.request.roots.iter().any(|root| real.starts_with(&root.path)).then_some(real)
    }
}

/// Where a file of git's points to: `.git` with a word before the path, `commondir` without.
fn pointed(file: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let path = text.trim();
    Some(file.parent()?.join(path.strip_prefix("gitdir:").unwrap_or(path).trim()))
}
