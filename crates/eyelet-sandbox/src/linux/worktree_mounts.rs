//! The repositories of linked worktrees in the first tier: writable, except for what git executes or shares.

use std::fs;

use super::detached_mount::{DetachedMount, make_read_only};
use super::setup_failure::SetupFailure;
use super::tmp_paths::TmpPaths;
use crate::request::LinkedWorktree;

/// What a commit, branch, fetch or rebase changes in the common folder. New files, such as locks, can be created
/// beside it; everything else that exists is read-only.
const WRITABLE: &[&str] = &["lfs", "logs", "objects", "packed-refs", "refs", "rr-cache", "shallow"];

/// The mounts of all linked worktrees of a request.
pub(super) struct WorktreeMounts {
    common: Vec<DetachedMount>,
    own: Vec<DetachedMount>,
}

impl WorktreeMounts {
    pub(super) fn new(worktrees: &[LinkedWorktree]) -> Result<Self, SetupFailure> {
        let mut mounts = WorktreeMounts { common: Vec::new(), own: Vec::new() };
        for worktree in worktrees {
            mounts.own.push(DetachedMount::new(&worktree.own)?);
            // A second mount would cover the worktrees of the first.
            if !mounts.common.iter().any(|common| common.path == worktree.common.path) {
                mounts.common.push(DetachedMount::new(&worktree.common)?);
            }
        }
        Ok(mounts)
    }

    pub(super) fn attach(self, layout: &TmpPaths<'_>) -> Result<(), SetupFailure> {
        for mount in self.common {
            let folder = mount.path.clone();
            mount.restrict(libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV)?;
            mount.attach(layout)?;
            let failed = || SetupFailure::at(format!("cannot protect {}", folder.display()));
            for entry in fs::read_dir(&folder).map_err(failed())? {
                let entry = entry.map_err(failed())?;
                let name = entry.file_name();
                let is_link = entry.file_type().map_err(failed())?.is_symlink();
                let is_lock = entry.path().extension().is_some_and(|end| end == "lock");
                if !is_link && !is_lock && !WRITABLE.iter().any(|writable| name == *writable) {
                    match make_read_only(&entry.path()) {
                        // Git may have removed it in the meantime.
                        Err(_) if entry.path().symlink_metadata().is_err() => {}
                        done => drop(done?),
                    }
                }
            }
        }
        for mount in self.own {
            mount.restrict(libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV)?;
            mount.attach(layout)?;
        }
        Ok(())
    }
}
