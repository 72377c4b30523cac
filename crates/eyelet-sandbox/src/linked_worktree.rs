//! Linked worktrees: the folders of git that a `.git` file leads to.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use crate::git_folders::{common_folder, pointed_folder};
use crate::request::{LinkedWorktree, Place};

/// Returns the folders to which this `.git` file points, if git linked them. `git_file` must be a
/// path without symlinks.
///
/// A command can write any `.git` file. Therefore the function accepts the folders only if they are
/// a real repository of this user, if they point back to the file, and if git has used them since
/// the file was written.
pub fn linked_worktree(git_file: &Path) -> Option<LinkedWorktree> {
    let file = own_file(git_file)?;
    let own = pointed(git_file)?;
    let worktrees = own.parent().filter(|parent| parent.ends_with("worktrees"))?;
    let common = worktrees.parent()?;
    own_file(&own.join("commondir"))?;
    own_file(&own.join("gitdir"))?;
    own_file(&own.join("HEAD"))?;
    let shared = common_folder(&own).ok().flatten();
    let is_linked = shared.and_then(without_links).as_deref() == Some(common)
        && pointed(&own.join("gitdir")).as_deref() == Some(git_file);
    // The worktree may be gone, and its `.git` file made anew by a command, which cannot change the index.
    let index = own_file(&own.join("index"))?;
    let is_used = (index.ctime(), index.ctime_nsec()) >= (file.ctime(), file.ctime_nsec());
    if !is_linked || !is_used {
        return None;
    }
    own_file(&common.join("HEAD"))?;
    own_file(&common.join("config"))?;
    own_folder(worktrees)?;
    own_folder(&common.join("objects"))?;
    own_folder(&common.join("refs"))?;
    Some(LinkedWorktree { own: place(&own)?, common: place(common)? })
}

/// The path to which a file of git points, if the path contains no symlink.
fn pointed(file: &Path) -> Option<PathBuf> {
    pointed_folder(file).ok().flatten().and_then(without_links)
}

/// The path without `..`, if it exists and has no symlinks.
fn without_links(path: PathBuf) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                plain.push(component);
            }
        }
    }
    let real = fs::canonicalize(&plain).ok()?;
    (real == plain).then_some(plain)
}

/// A file of this user, not a symlink.
fn own_file(path: &Path) -> Option<Metadata> {
    let found = fs::symlink_metadata(path).ok()?;
    (found.is_file() && is_own(&found)).then_some(found)
}

/// A folder of this user, not a symlink.
fn own_folder(path: &Path) -> Option<Metadata> {
    let found = fs::symlink_metadata(path).ok()?;
    (found.is_dir() && is_own(&found)).then_some(found)
}

fn is_own(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

fn place(path: &Path) -> Option<Place> {
    let found = own_folder(path)?;
    Some(Place { path: path.to_owned(), identity: (found.dev(), found.ino()) })
}
