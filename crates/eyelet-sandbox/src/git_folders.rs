//! The folders of git that belong to a repository: submodules and linked worktrees.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::closed_folder::{closed_folder, is_refused, is_unexpected};

/// No valid pointer to a folder of git is longer.
const MAX_POINTER_BYTES: u64 = 65_536;

/// The result of [`git_folders`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitFolders {
    /// The folders of git that were found.
    pub found: Vec<PathBuf>,
    /// Folders of this user that could not be searched because they deny access (see
    /// [`closed_folder`]).
    pub closed: Vec<PathBuf>,
    /// A folder that could not be searched because of another error, and this error.
    pub failed: Option<(PathBuf, String)>,
}

/// Finds the folders of git inside `folder`, which is a `.git` folder or a bare repository: the
/// folders of submodules and of linked worktrees. Ignores folders in `worktrees` to which no work
/// tree points, because git does not use them.
pub fn git_folders(folder: &Path) -> GitFolders {
    let mut git = GitFolders::default();
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        let worktrees = git.folders_in(&folder.join("worktrees"));
        for worktree in worktrees.into_iter().filter(|worktree| is_used(worktree)) {
            git.found.push(worktree.clone());
            // A linked worktree has submodules of its own.
            todo.push(worktree);
        }
        let mut modules = git.folders_in(&folder.join("modules"));
        while let Some(module) = modules.pop() {
            let head = module.join("HEAD");
            let found = head.symlink_metadata();
            if is_refused(&found) {
                git.closed.extend(closed_folder(&head));
            } else if let Some(error) = found.as_ref().err().filter(|error| is_unexpected(error)) {
                git.failed = Some((head, error.to_string()));
            } else if found.is_ok() {
                git.found.push(module.clone());
                todo.push(module);
            } else {
                // A submodule's name may have several parts.
                modules.extend(git.folders_in(&module));
            }
        }
    }
    git
}

impl GitFolders {
    fn folders_in(&mut self, folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder);
        if is_refused(&entries) {
            self.closed.extend(closed_folder(folder));
        }
        let mut folders = Vec::new();
        let read = entries.and_then(|entries| {
            for entry in entries {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                }
            }
            Ok(())
        });
        if let Some(error) = read.err().filter(is_unexpected) {
            self.failed = Some((folder.to_owned(), error.to_string()));
        }
        folders
    }
}

/// Whether a work tree points to this folder.
fn is_used(worktree: &Path) -> bool {
    let back = pointed_folder(&worktree.join("gitdir")).and_then(|git| match git {
        Some(git) => pointed_folder(&git),
        None => Ok(None),
    });
    // If it cannot be found out, it counts as used.
    let Ok(back) = back else { return true };
    let own = fs::canonicalize(worktree).ok();
    own.is_some() && back.and_then(|back| fs::canonicalize(back).ok()) == own
}

/// The folder that a folder of git shares its settings with.
pub(crate) fn common_folder(folder: &Path) -> io::Result<Option<PathBuf>> {
    pointed_folder(&folder.join("commondir"))
}

/// Where a file of git points to: `.git` with a word before the path, `commondir` and `gitdir` without.
pub(crate) fn pointed_folder(file: &Path) -> io::Result<Option<PathBuf>> {
    use std::io::Read as _;
    let is_file = fs::metadata(file).is_ok_and(|found| found.is_file());
    if !is_file {
        return Ok(None);
    }
    let mut text = Vec::new();
    match fs::File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        opened => opened?.take(MAX_POINTER_BYTES).read_to_end(&mut text)?,
    };
    let path = text.trim_ascii();
    let path = path.strip_prefix(b"gitdir:").unwrap_or(path).trim_ascii();
    Ok(file.parent().map(|folder| folder.join(OsStr::from_bytes(path))))
}
