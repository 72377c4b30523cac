//! Protected files that are replaced while a command of the first tier runs.
//!
//! Commands cannot replace a mount point, but the user can, from outside. The kernel then drops the mount, and the command
//! can write to the new file until it is mounted again; if it keeps a handle of the file, even longer.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::inotify::ReadFlags;
use rustix::fs::{Mode, OFlags, openat};

use super::folders;
use super::marks::{Mark, MarkFile};
use super::places::Place;
use super::watch::Event;
use crate::linux::file_id::{FileId, look};
use crate::linux::sys;

/// How long git may take to replace a config whose lock file it has created.
const GIT_LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// How often to look whether it has.
const GIT_LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// Mounts a path read-only in the command's namespace, and returns which file it is. Fails with [`init_gone`] if the
/// command has just ended.
pub(crate) type Mount<'a> = &'a mut dyn FnMut(&Path) -> io::Result<FileId>;

/// The init process does not answer any more, because its command has ended.
pub(crate) fn init_gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

/// Whether the error is [`init_gone`]. Nothing else in a check writes to a pipe or socket.
pub(super) fn is_init_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// The files that replaced those that were mounted before the command started, by path.
#[derive(Debug, Default)]
pub(super) struct ReplacedFiles {
    files: BTreeMap<PathBuf, Versions>,
    /// Paths that were removed.
    removed: BTreeSet<PathBuf>,
}

#[derive(Debug, Default)]
struct Versions {
    /// The file that is mounted now.
    mounted: Option<FileId>,
    /// The file whose content was checked after it was mounted.
    checked: Option<FileId>,
}

impl ReplacedFiles {
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    pub(super) fn is_removed(&self, path: &Path) -> bool {
        self.removed.contains(path)
    }

    /// Whether this file was checked: changes since then are not the user's.
    pub(super) fn is_checked(&self, path: &Path, id: FileId) -> bool {
        self.files.get(path).is_some_and(|versions| versions.checked == Some(id))
    }

    pub(super) fn set_checked(&mut self, path: &Path, id: FileId) {
        self.files.entry(path.to_owned()).or_default().checked = Some(id);
    }

    /// Mounts the file that is there now, unless it is mounted. Returns which file it is.
    pub(super) fn mount(&mut self, path: &Path, mount: Mount<'_>) -> io::Result<FileId> {
        let versions = self.files.entry(path.to_owned()).or_default();
        match (versions.mounted, current(path)) {
            (Some(mounted), Some(current)) if mounted == current => Ok(mounted),
            (_, _) => {
                let mounted = mount(path)?;
                versions.mounted = Some(mounted);
                Ok(mounted)
            }
        }
    }

    /// Mounts files again that were replaced, as fast as possible. `events` is `None` if there were too many to tell.
    pub(super) fn mount_again(
        &mut self,
        own: &mut Mark,
        file: &MarkFile,
        events: Option<&[Event]>,
        mount: Mount<'_>,
    ) -> io::Result<()> {
        let Some(events) = events else {
            return own
                .mounted
                .clone()
                .iter()
                .try_for_each(|(path, _)| note_replaced(own, file, &path.0));
        };
        for path in with(events, own, ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            // Fails if it was removed again, or is a symlink.
            let _ = self.mount(&path, mount);
            note_replaced(own, file, &path)?;
        }
        self.removed.extend(with(events, own, ReadFlags::DELETE | ReadFlags::MOVED_FROM));
        Ok(())
    }
}

/// Notes that another file is at this path than before the command started.
pub(super) fn note_replaced(own: &mut Mark, file: &MarkFile, path: &Path) -> io::Result<()> {
    if own.never_replaced(path).is_none() {
        return Ok(());
    }
    own.replaced.push(path.into());
    file.note_replaced(path)
}

/// The mounted paths with such events.
fn with(events: &[Event], own: &Mark, flags: ReadFlags) -> BTreeSet<PathBuf> {
    let events = events.iter().filter(|event| event.flags.intersects(flags));
    let events = events.filter(|event| own.mounted(&event.path).is_some());
    events.map(|event| event.path.clone()).collect()
}

/// The file that is there now.
fn current(path: &Path) -> Option<FileId> {
    let (parent, name) = folders::split(path).ok()?;
    let parent = folders::open(parent).ok()??;
    look(parent, name).ok()?.map(|found| FileId::new(&found))
}

/// Whether some process has the file open for writing, or can open it by another name. Does not
/// apply to folders, because their content is checked separately.
pub(super) fn is_writable(path: &Path) -> io::Result<bool> {
    let (parent, name) = folders::split(path)?;
    let Some(parent) = folders::open(parent)? else { return Ok(true) };
    if folders::enter(&parent, name)?.is_some() {
        return Ok(false);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(&parent, name, flags, Mode::empty())?;
    let is_linked = rustix::fs::fstat(&file)?.st_nlink > 1;
    Ok(is_linked || sys::has_writer(file))
}

/// Waits if the user is about to replace a git config: the command may have changed the new version, which would count
/// as the user's once the mark is gone.
pub(super) fn wait_for_git(places: &[Place]) {
    let until = Instant::now() + GIT_LOCK_TIMEOUT;
    let repositories = places.iter().filter(|place| place.is_repository());
    while Instant::now() < until && repositories.clone().any(is_locked) {
        std::thread::sleep(GIT_LOCK_INTERVAL);
    }
}

/// Whether git has just created a lock file to replace a config.
fn is_locked(place: &Place) -> bool {
    let Ok(Some(folder)) = folders::open(&place.path.0) else { return false };
    ["config.lock", "config.worktree.lock"].iter().any(|name| {
        let lock = folders::look(&folder, OsStr::new(name)).ok().flatten();
        lock.is_some_and(|lock| {
            let changed = Duration::new(
                u64::try_from(lock.st_ctime).unwrap_or(0),
                u32::try_from(lock.st_ctime_nsec).unwrap_or(0),
            );
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            now < changed + GIT_LOCK_TIMEOUT
        })
    })
}
