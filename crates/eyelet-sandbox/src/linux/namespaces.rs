//! The first tier: mount namespaces in which only the workspace is writable.
//!
//! Everything is remounted read-only. On top, in this order: the private temp directory at `/tmp`, the
//! roots, the saved output, a private `/dev` and `/proc`, the protected paths, and covers for the denied
//! paths. Directories are mounted by handle, after a check that they are the requested ones.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    move_mount, open_tree,
};
use rustix::process::{getegid, geteuid};

use super::landlock::DEVICES;
use super::privileges::{is_system_administrator, max_processes};
use super::repositories::{LEADING, Repositories};
use super::setup_failure::SetupFailure;
use super::tmp_paths::{TMP, TmpPaths};
use super::{resolve, sys};
use crate::request::{Network, Place, Policy, SandboxRequest, Tier};

const RECURSIVE: libc::c_int = libc::AT_RECURSIVE;
const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const REPLACED: &str = "the directory was replaced after the check";

/// The `clone` flags of the namespaces that the request needs.
pub(super) fn clone_flags(request: &SandboxRequest) -> libc::c_int {
    let mut flags = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    if !is_system_administrator() {
        flags |= libc::CLONE_NEWUSER;
    }
    if request.network == Network::Off {
        flags |= libc::CLONE_NEWNET;
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
pub(super) fn enter(request: &SandboxRequest) -> Result<(), SetupFailure> {
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
    for root in roots {
        let mut attributes = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
        if request.policy == Policy::ReadOnly {
            attributes |= READ_ONLY;
        }
        root.restrict(attributes)?;
        root.attach(&layout)?;
    }
    if let Some(spill) = spill {
        spill.restrict(everything | libc::MOUNT_ATTR_NOEXEC)?;
        spill.attach(&layout)?;
    }
    mount_dev(&devices)?;
    mount_proc()?;
    if request.network == Network::Off {
        sys::bring_up_loopback()
            .map_err(SetupFailure::at("cannot bring up the loopback interface"))?;
    }
    protect(request)?;
    for path in &request.hidden {
        hide(&layout.inside(&path.0))?;
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

/// A detached copy of a directory's mounts, from before anything was mounted on top.
struct DetachedMount {
    path: PathBuf,
    identity: (u64, u64),
    tree: OwnedFd,
}

impl DetachedMount {
    fn new(place: &Place) -> Result<Self, SetupFailure> {
        let path = place.path.clone();
        if path.parent().is_none() {
            let why = "commands could write to every file";
            return Err(SetupFailure::new("cannot use the root `/`", why));
        }
        let tree = copy(&path)?;
        let found = rustix::fs::fstat(&tree)
            .map_err(SetupFailure::at(format!("cannot open {}", path.display())))?;
        if (found.st_dev, found.st_ino) != place.identity {
            return Err(SetupFailure::new(&format!("cannot use {}", path.display()), REPLACED));
        }
        Ok(DetachedMount { path, identity: place.identity, tree })
    }

    fn restrict(&self, attributes: u64) -> Result<(), SetupFailure> {
        let flags = libc::AT_EMPTY_PATH | RECURSIVE;
        sys::add_mount_attributes(self.tree.as_fd(), c"", flags, attributes)
            .map_err(SetupFailure::at(format!("cannot restrict {}", self.path.display())))
    }

    /// Mounts the directory at its original path. If the private temp directory covers `/tmp`, creates
    /// the path there first.
    fn attach(self, layout: &TmpPaths<'_>) -> Result<(), SetupFailure> {
        let what = format!("cannot mount {}", self.path.display());
        let below_tmp = self.path.strip_prefix(TMP).ok().filter(|_| layout.covers_tmp);
        let target = match below_tmp {
            Some(below) => make_path(below).map_err(|error| SetupFailure::new(&what, error))?,
            None => {
                let target = open_without_links(&self.path).map_err(SetupFailure::at(&what))?;
                let found = rustix::fs::fstat(&target).map_err(SetupFailure::at(&what))?;
                if (found.st_dev, found.st_ino) != self.identity {
                    return Err(SetupFailure::new(&what, REPLACED));
                }
                target
            }
        };
        move_onto(&self.tree, target.as_fd()).map_err(SetupFailure::at(what))
    }
}

fn copy(path: &Path) -> Result<OwnedFd, SetupFailure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(CWD, path, flags).map_err(SetupFailure::at(format!("cannot open {}", path.display())))
}

fn move_onto(tree: &OwnedFd, target: BorrowedFd<'_>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", target, "", flags)?)
}

fn mount_tree(tree: &OwnedFd, target: &Path) -> Result<(), SetupFailure> {
    open_without_links(target)
        .and_then(|handle| move_onto(tree, handle.as_fd()))
        .map_err(SetupFailure::at(format!("cannot mount {}", target.display())))
}

fn open_without_links(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// Creates the directories of `below` in the private `/tmp`. Earlier commands may have created anything
/// there, so this enters only directories and removes other files that are in the way.
fn make_path(below: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = openat(CWD, TMP, flags, Mode::empty())?;
    for component in below.components() {
        let Component::Normal(name) = component else { return Err(Errno::INVAL.into()) };
        match rustix::fs::mkdirat(&here, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let mut entered = openat(&here, name, flags, Mode::empty());
        if matches!(entered, Err(Errno::LOOP | Errno::NOTDIR)) {
            rustix::fs::unlinkat(&here, name, AtFlags::empty())?;
            rustix::fs::mkdirat(&here, name, Mode::RWXU)?;
            entered = openat(&here, name, flags, Mode::empty());
        }
        here = entered?;
    }
    Ok(here)
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

/// Mounts a private `/dev` that has only the harmless devices.
fn mount_dev(devices: &[(&str, OwnedFd)]) -> Result<(), SetupFailure> {
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
    mount_new("tmpfs", "/dev/shm", flags, "mode=1777")?;
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

/// Makes existing protected paths in the roots read-only. Also mounts each repository's directory on
/// itself: a command cannot move a mount point away and create another directory under its name.
fn protect(request: &SandboxRequest) -> Result<(), SetupFailure> {
    if request.policy != Policy::WorkspaceWrite {
        return Ok(());
    }
    let repositories = Repositories::of(request)
        .map_err(|error| SetupFailure::new("cannot find the repositories", error))?;
    for folder in &repositories.folders {
        mount_tree(&copy(folder)?, folder)?;
    }
    for folder in &repositories.folders {
        for name in LEADING {
            make_read_only(request, &folder.join(name))?;
        }
    }
    // Mounting through a symlink would protect its whole target. Changes to symlinks are reverted later.
    for pointer in repositories.pointers.iter().filter(|pointer| !pointer.is_symlink()) {
        make_read_only(request, pointer)?;
    }
    for root in &request.roots {
        for path in &request.protected {
            make_read_only(request, &root.path.join(&path.0))?;
        }
    }
    Ok(())
}

/// Makes one protected path read-only. Protects the target of a symlink; changes to the symlink itself
/// are reverted later.
fn make_read_only(request: &SandboxRequest, path: &Path) -> Result<(), SetupFailure> {
    let Some(real) = real(path)? else { return Ok(()) };
    if !request.roots.iter().any(|root| real.starts_with(&root.path)) {
        return Ok(());
    }
    let tree = copy(&real)?;
    let flags = libc::AT_EMPTY_PATH | RECURSIVE;
    sys::add_mount_attributes(tree.as_fd(), c"", flags, READ_ONLY)
        .map_err(SetupFailure::at(format!("cannot protect {}", real.display())))?;
    mount_tree(&tree, &real)
}

/// The path without symlinks, if it exists.
fn real(path: &Path) -> Result<Option<PathBuf>, SetupFailure> {
    resolve::real(path)
        .map_err(|error| SetupFailure::new(&format!("cannot open {}", path.display()), error))
}

/// Covers a file or directory with an empty one.
fn hide(path: &Path) -> Result<(), SetupFailure> {
    // A missing or inaccessible path needs no cover.
    let Some(real) = real(path)? else { return Ok(()) };
    let found = resolve::at(&real)
        .map_err(|error| SetupFailure::new(&format!("cannot open {}", real.display()), error))?;
    let Some(found) = found else { return Ok(()) };
    if found.is_dir() {
        let flags =
            MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
        let target = real.to_string_lossy();
        mount("tmpfs", real.as_path(), "tmpfs", flags, c"mode=0555,size=4k")
            .map_err(SetupFailure::at(format!("cannot hide {target}")))
    } else {
        mount_tree(&copy(Path::new("/dev/null"))?, &real)
    }
}
