//! The first tier: mount namespaces in which only the workspace is writable.
//!
//! Everything is remounted read-only. On top, in this order: the private temp directory at `/tmp`, the
//! roots, the saved output, a private `/dev` and `/proc`, the protected paths, and covers for the denied
//! paths. Directories are mounted by handle, after a check that they are the requested ones.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getegid, geteuid};

use super::covers::{denied, hide};
use super::detached_mount::{
    DetachedMount, RECURSIVE, REPLACED, attach_protected, copy, copy_protected, make_read_only,
    mount_tree,
};
use super::landlock::DEVICES;
use super::privileges::{is_system_administrator, max_processes};
use super::protection::Mounts;
use super::setup_failure::SetupFailure;
use super::sys;
use super::tmp_paths::{TMP, TmpPaths};
use super::worktree_mounts::WorktreeMounts;
use crate::memory_limit::MemoryLimit;
use crate::request::{Place, Policy, SandboxRequest, Tier};

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
/// How much of the memory files in `/dev/shm` may take, as on most systems.
const MAX_SHM_PERCENT: u8 = 50;

/// The `clone` flags of the namespaces of a command. The network namespace belongs to the session.
pub(super) fn clone_flags() -> libc::c_int {
    let mut flags = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    if !is_system_administrator() {
        flags |= libc::CLONE_NEWUSER;
    }
    flags
}

/// Maps user and group to themselves in a new user namespace. Both are the IDs outside of it.
pub(super) fn map_user(user: u32, group: u32) -> Result<(), SetupFailure> {
    let write = |file: &str, text: &str| {
        fs::write(file, text).map_err(SetupFailure::at(format!("cannot write {file}")))
    };
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", &format!("{group} {group} 1"))
}

/// The user and group IDs.
pub(super) fn identity() -> (u32, u32) {
    (geteuid().as_raw(), getegid().as_raw())
}

/// Mounts everything. This process must be the first in its namespaces.
pub(super) fn enter(request: &SandboxRequest, mounts: &Mounts) -> Result<(), SetupFailure> {
    let layout = TmpPaths::new(request, Tier::Namespaces);
    let here = rustix::process::getcwd(Vec::new())
        .map_err(SetupFailure::at("cannot open the working directory"))?;
    let here = PathBuf::from(std::ffi::OsString::from_vec(here.into_bytes()));
    let before =
        rustix::fs::stat(".").map_err(SetupFailure::at("cannot open the working directory"))?;

    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(SetupFailure::at("cannot make mounts private"))?;
    let mut roots = request.roots.iter().map(DetachedMount::new).collect::<Result<Vec<_>, _>>()?;
    // Parents first: no root may cover another.
    roots.sort_by_key(|root| root.path.components().count());
    let worktrees = WorktreeMounts::new(&request.worktrees)?;
    let caches = request.caches.iter().map(DetachedMount::new).collect::<Result<Vec<_>, _>>()?;
    let temp = request.private_temp.as_ref().map(DetachedMount::new).transpose()?;
    let is_below_tmp = |home: &&Place| home.path.starts_with(TMP) && home.path != Path::new(TMP);
    let home = request.home.as_ref().filter(is_below_tmp).filter(|_| layout.covers_tmp);
    // Without it, commands only lose programs that are installed there.
    let home = home.and_then(|home| DetachedMount::new(home).ok());
    let spill = request.spill.as_ref().map(DetachedMount::new).transpose()?;
    let devices = devices()?;

    let everything = READ_ONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    sys::add_mount_attributes(CWD, c"/", RECURSIVE, everything)
        .map_err(SetupFailure::at("cannot make mounts read-only"))?;
    if let Some(temp) = temp {
        temp.restrict(libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV)?;
        let target = if layout.covers_tmp { Path::new(TMP) } else { &temp.path };
        mount_tree(&temp.tree, target)?;
    }
    if let Some(home) = home.filter(|home| home.restrict(everything).is_ok()) {
        home.attach(&layout)?;
    }
    // A worktree may lie inside its repository.
    worktrees.attach(&layout)?;
    for root in roots {
        let mut attributes = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
        if request.policy == Policy::ReadOnly {
            attributes |= READ_ONLY;
        }
        root.restrict(attributes)?;
        root.attach(&layout)?;
    }
    for cache in caches {
        cache.restrict(libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV)?;
        cache.attach(&layout)?;
    }
    if let Some(spill) = spill {
        spill.restrict(everything | libc::MOUNT_ATTR_NOEXEC)?;
        spill.attach(&layout)?;
    }
    mount_dev(&devices, request.memory)?;
    mount_proc()?;
    let hidden = request.hidden.iter().map(|path| denied(&layout.inside(&path.0)));
    // A missing path, or one that another user has closed, needs no cover.
    let hidden: Vec<PathBuf> = hidden.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    pin_around(&hidden, request, mounts)?;
    protect(mounts)?;
    for path in &hidden {
        hide(path)?;
    }

    let inside = layout.inside(&here);
    std::env::set_current_dir(&inside)
        .map_err(|error| SetupFailure::new(&format!("cannot enter {}", inside.display()), error))?;
    let after =
        rustix::fs::stat(".").map_err(SetupFailure::at("cannot open the working directory"))?;
    if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino) {
        let what = format!("cannot use the working directory {}", inside.display());
        return Err(SetupFailure::new(&what, REPLACED));
    }
    Ok(())
}

fn devices() -> Result<Vec<(&'static str, OwnedFd)>, SetupFailure> {
    let mut devices = Vec::new();
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        if path.symlink_metadata().is_ok() {
            devices.push((*name, copy(&path)?));
        }
    }
    Ok(devices)
}

fn mount_new(
    kind: &str,
    target: &str,
    flags: MountFlags,
    options: &str,
) -> Result<(), SetupFailure> {
    let failed = || format!("cannot mount {kind} at {target}");
    let options = CString::new(options).map_err(SetupFailure::at(failed()))?;
    mount(kind, target, kind, flags, options.as_c_str()).map_err(SetupFailure::at(failed()))
}

/// Mounts a private `/dev` that has only the harmless devices. Files in `/dev/shm` are memory that the limit does not count
/// if no process maps it. They may take up to twice the limit: a command that maps as much must be killed before, with the reason.
fn mount_dev(devices: &[(&str, OwnedFd)], memory: MemoryLimit) -> Result<(), SetupFailure> {
    let failed = || SetupFailure::at("cannot set up /dev");
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount_new("tmpfs", "/dev", flags, "mode=0755,size=64k")?;
    for (name, tree) in devices {
        let path = Path::new("/dev").join(name);
        fs::File::create(&path).map_err(failed())?;
        mount_tree(tree, &path)?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(target, Path::new("/dev").join(name)).map_err(failed())?;
    }
    fs::create_dir("/dev/shm").map_err(failed())?;
    fs::create_dir("/dev/pts").map_err(failed())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let size = match memory {
        MemoryLimit::Bytes(bytes) => bytes.saturating_mul(2).to_string(),
        MemoryLimit::Percent(percent) => {
            let most = percent.saturating_mul(2).min(MAX_SHM_PERCENT);
            // The kernel does not know the limit of a container.
            let bytes = MemoryLimit::Percent(most).bytes();
            bytes.map_or_else(|| format!("{most}%"), |bytes| bytes.to_string())
        }
    };
    mount_new("tmpfs", "/dev/shm", flags, &format!("mode=1777,size={size}"))?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount_new("devpts", "/dev/pts", flags, "newinstance,ptmxmode=0666,mode=0620")?;
    sys::add_mount_attributes(CWD, c"/dev", 0, READ_ONLY).map_err(failed())
}

/// Mounts a private `/proc`, and limits the number of processes.
fn mount_proc() -> Result<(), SetupFailure> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount_new("proc", "/proc", flags, "")?;
    if has_own_pid_limit() {
        let most = max_processes().to_string();
        fs::write("/proc/sys/kernel/pid_max", most)
            .map_err(SetupFailure::at("cannot limit the number of processes"))?;
    }
    // Otherwise root could change kernel settings.
    sys::add_mount_attributes(CWD, c"/proc", 0, READ_ONLY)
        .map_err(SetupFailure::at("cannot make /proc read-only"))
}

/// Whether `pid_max` applies per process namespace. Before Linux 6.14 it applies to the whole machine
/// and must not be changed.
pub(super) fn has_own_pid_limit() -> bool {
    let release = rustix::system::uname();
    let mut numbers = release.release().to_bytes().split(|byte| !byte.is_ascii_digit());
    let mut number = || -> Option<u32> { std::str::from_utf8(numbers.next()?).ok()?.parse().ok() };
    (number(), number()) >= (Some(6), Some(14))
}

/// Pins folders by mounting them on themselves: a command cannot rename a mount point. Makes the protected paths that
/// exist read-only.
fn protect(mounts: &Mounts) -> Result<(), SetupFailure> {
    for (path, identity) in &mounts.pinned {
        let (handle, tree) = copy_protected(path)?;
        check_identity(path, &tree, *identity)?;
        attach_protected(&tree, &handle, path)?;
    }
    for (path, id) in &mounts.read_only {
        if make_read_only(path)? != *id {
            let what = format!("cannot protect {}", path.display());
            return Err(SetupFailure::new(&what, REPLACED));
        }
    }
    Ok(())
}

fn check_identity(path: &Path, tree: &OwnedFd, identity: (u64, u64)) -> Result<(), SetupFailure> {
    let what = format!("cannot protect {}", path.display());
    let found = rustix::fs::fstat(tree).map_err(SetupFailure::at(&what))?;
    match (found.st_dev, found.st_ino) == identity {
        true => Ok(()),
        false => Err(SetupFailure::new(&what, REPLACED)),
    }
}

/// Pins the folders around denied paths in the roots: after a rename, the next command would not know the path.
fn pin_around(
    hidden: &[PathBuf],
    request: &SandboxRequest,
    mounts: &Mounts,
) -> Result<(), SetupFailure> {
    let mut folders = BTreeSet::new();
    for root in request.roots.iter().filter(|_| request.policy == Policy::WorkspaceWrite) {
        for path in hidden.iter().filter(|path| path.starts_with(&root.path)) {
            let around = path.ancestors().skip(1).take_while(|folder| **folder != root.path);
            folders.extend(around.filter(|folder| folder.starts_with(&root.path)));
        }
    }
    for folder in folders {
        if !mounts.pinned.iter().any(|(pinned, _)| pinned == folder) {
            let (handle, tree) = copy_protected(folder)?;
            attach_protected(&tree, &handle, folder)?;
        }
    }
    Ok(())
}
