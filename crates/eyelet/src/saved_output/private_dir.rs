//! Folders and files that only this user can open, created and checked by handle.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

use crate::paths::root::Root;
use crate::text::escape;

/// Opens only a directory, never a symlink.
const OPEN_DIR: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How often a session's folder is created again if another start took it for a dead session's.
const MAX_TRIES: usize = 8;

/// The permissions of anyone but the owner.
const OTHERS: Mode = Mode::RWXG.union(Mode::RWXO);

/// A folder that only this user can open.
#[derive(Debug)]
pub(crate) struct PrivateDir {
    path: PathBuf,
    handle: OwnedFd,
    root: Arc<Root>,
}

/// A file in a private folder.
#[derive(Debug)]
pub(crate) struct StoredFile {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// In seconds of the file system's clock.
    pub(crate) modified: i64,
}

/// A directory that holds private folders, such as the temp directory.
#[derive(Debug)]
pub(crate) struct ParentDir<'p> {
    path: &'p Path,
    handle: OwnedFd,
}

impl<'p> ParentDir<'p> {
    pub(crate) fn open(path: &'p Path) -> Result<Self, String> {
        if !path.is_absolute() {
            return Err(format!("the directory `{}` is not an absolute path", shown(path)));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|error| reason(path, error.into()))?;
        Ok(ParentDir { path, handle })
    }

    /// Opens the private folder `name`. Fails unless only this user can open it.
    pub(crate) fn folder(&self, name: &str) -> Result<PrivateDir, String> {
        let path = self.path.join(name);
        let open = || -> io::Result<_> {
            let handle = rustix::fs::openat(&self.handle, name, OPEN_DIR, Mode::empty())?;
            let stat = rustix::fs::fstat(&handle)?;
            Ok((handle, stat))
        };
        let (handle, stat) = open().map_err(|error| reason(&path, error))?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(format!("{} belongs to another user", shown(&path)));
        }
        if Mode::from_raw_mode(stat.st_mode).intersects(OTHERS) {
            return Err(format!("{} is accessible to other users", shown(&path)));
        }
        let copy = handle.try_clone().map_err(|error| reason(&path, error))?;
        let root = Arc::new(Root::from_handle(path.clone(), copy));
        Ok(PrivateDir { path, handle, root })
    }

    /// Creates the folder `name`, unless it exists.
    pub(crate) fn make_folder(&self, name: &str) -> Result<(), String> {
        match rustix::fs::mkdirat(&self.handle, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(reason(&self.path.join(name), error.into())),
        }
    }

    /// Creates and locks a folder for a session: `prefix` and a random name.
    pub(crate) fn create_session(&self, prefix: &str) -> Result<(String, PrivateDir), String> {
        let mut last_reason = "another process removed the new directory".to_owned();
        for _ in 0..MAX_TRIES {
            let random = random_name().map_err(|error| error.to_string())?;
            let name = format!("{prefix}{random}");
            self.make_folder(&name)?;
            match self.folder(&name) {
                // Another start may have removed it in between, as a dead session's. That does not
                // happen if folders cannot be locked.
                Ok(folder) => {
                    if folder.lock().unwrap_or(true) && self.holds(&name, &folder) {
                        return Ok((name, folder));
                    }
                }
                Err(reason) => {
                    self.remove_empty(&name);
                    last_reason = reason;
                }
            }
        }
        Err(last_reason)
    }

    /// Locks and returns the folders of sessions that have ended without removing theirs.
    pub(crate) fn dead_sessions(&self, prefix: &str) -> Vec<(String, PrivateDir)> {
        let is_session = |name: &String| name.strip_prefix(prefix).is_some_and(is_random);
        let names = names_in(&self.handle).unwrap_or_default().into_iter().filter(is_session);
        names
            .filter_map(|name| self.folder(&name).ok().map(|folder| (name, folder)))
            .filter(|(_, folder)| folder.lock().unwrap_or(false))
            .collect()
    }

    /// Whether `name` still refers to `folder`.
    fn holds(&self, name: &str, folder: &PrivateDir) -> bool {
        let here = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
        let there = rustix::fs::fstat(&folder.handle);
        matches!((here, there), (Ok(here), Ok(there))
            if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino))
    }

    /// Removes the folder `name` and the files in it.
    pub(crate) fn remove(&self, name: &str, folder: &PrivateDir) {
        for file in names_in(&folder.handle).unwrap_or_default() {
            folder.remove(&file);
        }
        self.remove_empty(name);
    }

    /// Removes the folder `name` if it is empty.
    fn remove_empty(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR);
    }
}

impl PrivateDir {
    /// The folder as a readable root.
    pub(crate) fn root(&self) -> &Arc<Root> {
        &self.root
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A handle of its own.
    pub(crate) fn open(&self) -> Result<OwnedFd, String> {
        self.handle.try_clone().map_err(|error| reason(&self.path, error))
    }

    /// The path of a file in it, for display.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Locks the folder until the last handle closes; false if another process has locked it.
    fn lock(&self) -> io::Result<bool> {
        lock(&self.handle)
    }

    /// Creates a file with a random name and locks it until it is closed.
    pub(crate) fn create(&self) -> io::Result<(String, File)> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let name = random_name()?;
        let handle =
            rustix::fs::openat(&self.handle, name.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
        // If files cannot be locked, no file counts as unused either.
        let _ = lock(&handle);
        Ok((name, File::from(handle)))
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.handle, name, AtFlags::empty());
    }

    /// Whether no process is writing the file.
    pub(crate) fn is_unused(&self, name: &str) -> bool {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => lock(&handle).unwrap_or(false),
            Err(error) => error == Errno::NOENT,
        }
    }

    /// The files in it, oldest first.
    pub(crate) fn files(&self) -> Vec<StoredFile> {
        let stored = |name: String| {
            let stat =
                rustix::fs::statat(&self.handle, name.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let bytes = u64::try_from(stat.st_size).unwrap_or(0);
            Some(StoredFile { name, bytes, modified: stat.st_mtime })
        };
        let names = names_in(&self.handle).unwrap_or_default();
        let mut files: Vec<_> = names.into_iter().filter_map(stored).collect();
        files.sort_by_key(|file| file.modified);
        files
    }

    /// Sets the folder's modification time and returns it: the time by the file system's clock. It
    /// also shows cleaners of temp directories that the folder is in use.
    pub(crate) fn touch(&self) -> io::Result<i64> {
        let nothing = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
        let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let times = Timestamps { last_access: nothing, last_modification: now };
        rustix::fs::futimens(&self.handle, &times)?;
        Ok(rustix::fs::fstat(&self.handle)?.st_mtime)
    }
}

/// The start of the names of this user's folders.
pub(crate) fn user_prefix() -> String {
    format!("eyelet-{}", rustix::process::geteuid().as_raw())
}

/// This user's folders in `temp_dir`, those of other sessions included.
pub(crate) fn folders_of_user(temp_dir: &Path) -> Vec<PathBuf> {
    let prefix = user_prefix();
    let is_own = |name: &String| {
        name.strip_prefix(&prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let names = ParentDir::open(temp_dir).ok().and_then(|temp| names_in(&temp.handle).ok());
    let names = names.unwrap_or_default().into_iter().filter(is_own);
    names.map(|name| temp_dir.join(name)).collect()
}

/// 128 random bits as text.
pub(crate) fn random_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// Whether it has the form of a random name.
pub(crate) fn is_random(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Every UTF-8 name: eyelet's own names are ASCII.
fn names_in(handle: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(handle)? {
        let entry = entry?;
        if let Ok(name) = entry.file_name().to_str() {
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
    }
    Ok(names)
}

fn lock(handle: &OwnedFd) -> io::Result<bool> {
    match rustix::fs::flock(handle.as_fd(), FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn reason(path: &Path, error: io::Error) -> String {
    format!("{}: {error}", shown(path))
}

fn shown(path: &Path) -> String {
    escape::name(path.as_os_str()).into_owned()
}
