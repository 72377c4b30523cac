//! Covers of denied paths in the first tier.
//!
//! Commands cannot remove a cover. But if another program replaces a denied file, the kernel drops the cover, and the
//! command could read the new file. Outside the roots, the Landlock rules prevent that. Inside, and without Landlock, this
//! notices it, and the init process covers the new file.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::detached_mount::{copy, mount_tree};
use super::resolve;
use super::setup_failure::SetupFailure;
use super::sys;
use super::tmp_paths::TMP;
use crate::machine::MIN_LANDLOCK;
use crate::request::{SandboxRequest, Tier};
use crate::watch_handle;

/// Everything that puts another file or folder in the place of one.
const REPLACED: WatchFlags =
    WatchFlags::CREATE.union(WatchFlags::MOVED_TO).union(WatchFlags::ONLYDIR);

/// How many events are read at once. Processes that create files all the time could delay the covers otherwise.
const MAX_EVENTS: usize = 100_000;

pub(super) struct Covers {
    inotify: OwnedFd,
    /// The denied paths in the roots; all of them without Landlock.
    denied: Vec<PathBuf>,
    /// The folders that lead to them, by watch descriptor.
    folders: HashMap<i32, PathBuf>,
    /// The roots, and the other directories with Landlock rules of their own.
    roots: Vec<PathBuf>,
}

impl Covers {
    /// None if there is no such path.
    pub(super) fn new(request: &SandboxRequest) -> io::Result<Option<Self>> {
        // A home below `/tmp` has the rules of the private temp directory.
        let home = request.home.iter().filter(|home| home.path.starts_with(TMP));
        let own = request.tops(Tier::Namespaces).chain(&request.caches).chain(home);
        let mut roots: Vec<_> = own.map(|place| place.path.clone()).collect();
        if sys::landlock_version().unwrap_or(0) < MIN_LANDLOCK {
            roots.push("/".into());
        }
        let is_inside = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root));
        let denied = request.hidden.iter().filter_map(|path| resolve::denied(&path.0).transpose());
        let denied: Vec<_> = denied.collect::<io::Result<_>>()?;
        let denied: Vec<_> = denied.into_iter().filter(is_inside).collect();
        if denied.is_empty() {
            return Ok(None);
        }
        let inotify = watch_handle::create()?;
        let mut covers = Covers { inotify, denied, folders: HashMap::new(), roots };
        for path in covers.denied.clone() {
            covers.watch(&path)?;
        }
        Ok(Some(covers))
    }

    /// Becomes readable when a denied path may have lost its cover.
    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// The denied paths that need a new cover, if they exist.
    pub(super) fn lost(&mut self) -> io::Result<Vec<PathBuf>> {
        let changed = self.read()?;
        let is_lost = |path: &&PathBuf| changed.iter().any(|changed| path.starts_with(changed));
        let lost: Vec<_> = self.denied.iter().filter(is_lost).cloned().collect();
        for path in &lost {
            // A folder around it may be another one now.
            self.watch(path)?;
        }
        Ok(lost)
    }

    /// Watches the folders from the root to a path.
    fn watch(&mut self, path: &Path) -> io::Result<()> {
        let is_inside = |folder: &&Path| self.roots.iter().any(|root| folder.starts_with(root));
        let folders: Vec<_> = path.ancestors().skip(1).take_while(is_inside).collect();
        for folder in folders.into_iter().rev() {
            match inotify::add_watch(&self.inotify, folder, REPLACED | WatchFlags::DONT_FOLLOW) {
                Ok(number) => {
                    self.folders.insert(number, folder.to_owned());
                }
                // It is missing, or hidden as a whole.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
                Err(error) => return Err(watch_handle::exhausted(error, "watches")),
            }
        }
        Ok(())
    }

    /// The paths that were replaced since the last call.
    fn read(&self) -> io::Result<Vec<PathBuf>> {
        let mut changed = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        for _ in 0..MAX_EVENTS {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(changed),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                changed.extend(self.roots.iter().cloned());
            }
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            let folder = self.folders.get(&event.wd());
            changed.extend(folder.zip(name).map(|(folder, name)| folder.join(name)));
        }
        Ok(self.roots.clone())
    }
}

/// The cover that hides a denied path, if the path exists.
pub(super) fn denied(path: &Path) -> Result<Option<PathBuf>, SetupFailure> {
    resolve::denied(path)
        .map_err(|error| SetupFailure::new(&format!("cannot open {}", path.display()), error))
}

/// Covers a denied path that was replaced.
pub(super) fn cover(path: &Path) -> Result<(), SetupFailure> {
    denied(path)?.map_or(Ok(()), |path| hide(&path))
}

/// Covers a file or directory with an empty one.
pub(super) fn hide(real: &Path) -> Result<(), SetupFailure> {
    let found = resolve::at(real)
        .map_err(|error| SetupFailure::new(&format!("cannot open {}", real.display()), error))?;
    let Some(found) = found else { return Ok(()) };
    let hidden = if found.is_dir() {
        let flags =
            MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
        let target = real.to_string_lossy();
        mount("tmpfs", real, "tmpfs", flags, c"mode=0555,size=4k")
            .map_err(SetupFailure::at(format!("cannot hide {target}")))
    } else {
        mount_tree(&copy(Path::new("/dev/null"))?, real)
    };
    match hidden {
        // It was removed meanwhile, such as the temp directory of a session that has ended.
        Err(_) if matches!(resolve::at(real), Ok(None)) => Ok(()),
        hidden => hidden,
    }
}
