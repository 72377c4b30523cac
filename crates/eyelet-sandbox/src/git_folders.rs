//! The folders of git that belong to a repository: submodules and linked worktrees.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::closed_folder::{closed_folder, is_refused};

/// No valid pointer to a folder of git is longer.
const MAX_POINTER_BYTES: u64 = 65_536;

/// What [`git_folders`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitFolders {
    /// The folders of git.
    pub found: Vec<PathBuf>,
    /// Folders of this user that could not be searched (see [`closed_folder`]).
    pub closed: Vec<PathBuf>,
}

/// The folders of git inside `folder`, which is a `.git` folder or a bare repository: those of submodules and of
/// linked worktrees. Folders in `worktrees` that no work tree points to do not count: git does not use them.
pub fn git_folders(folder: &Path) -> GitFolders {
    let mut git = GitFolders::default();
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        let worktrees = git.folders_in(&folder.join("worktrees"));
        git.found.extend(worktrees.into_iter().filter(|worktree| is_used(worktree)));
        let mut modules = git.folders_in(&folder.join("modules"));
        while let Some(module) = modules.pop() {
            let head = module.join("HEAD");
            let found = head.symlink_metadata();
            if is_refused(&found) {
                git.closed.extend(closed_folder(&head));
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
        let entries = entries.into_iter().flatten().filter_map(Result::ok);
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.map(|entry| entry.path()).collect()
    }
}

/// Whether a work tree points to this folder.
fn is_used(worktree: &Path) -> bool {
    let back = pointed_folder(&worktree.join("gitdir")).ok().flatten();
    let back = back.and_then(|git| pointed_folder(&git).ok().flatten());
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
