//! The store: records of what protected paths are according to the user, and marks of running commands (`marks.rs`).
//!
//! One folder per user that no command can read or write. All eyelet processes of the user share it. A process that
//! reads or changes a record holds its lock.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::folders::{Identity, open_way};
use crate::linux::sys;
use crate::request::RawPath;

/// How long to wait for other eyelet processes that hold the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_INTERVAL: Duration = Duration::from_millis(1);
/// The folder's name. The number changes with the format of records and marks.
const FORMAT: &str = "protection-5";
/// The mode of its folders.
const PRIVATE: u32 = 0o700;
/// How often to try to open a file whose mode a command changes again and again.
const MAX_ATTEMPTS: usize = 64;
/// How many other records are looked at when a new one is created.
const SWEPT: usize = 8;

/// The state of the protected paths of one place, as the user left them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) path: RawPath,
    pub(super) root: RawPath,
    /// The folders from the root to the place, and the place itself.
    pub(super) folders: Vec<(RawPath, Identity)>,
    /// By path, relative to the place.
    pub(super) objects: Vec<(RawPath, Option<Entry>)>,
    /// Whether a command removed the place.
    pub(super) is_removed: bool,
    /// When each path was restored lately, in milliseconds since the machine started.
    pub(super) restored: Vec<(RawPath, Vec<u64>)>,
    /// In the record of a root: the folders of git below it.
    pub(super) repositories: Vec<RawPath>,
}

impl Record {
    pub(super) fn object(&self, below: &Path) -> Option<&Option<Entry>> {
        self.objects.iter().find(|(own, _)| own.0 == below).map(|(_, entry)| entry)
    }

    pub(super) fn set(&mut self, below: &Path, entry: Option<Entry>) {
        match self.objects.iter_mut().find(|(own, _)| own.0 == below) {
            Some((_, own)) => *own = entry,
            None => self.objects.push((below.into(), entry)),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Store {
    pub(super) folder: PathBuf,
}

/// The exclusive right to the store, until it is dropped.
pub(super) struct Lock {
    _file: File,
}

/// Where the store of this user may be. The first place that works counts.
fn candidates() -> Vec<PathBuf> {
    let user = geteuid().as_raw();
    // Asking the password database may take long.
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let home = HOME.get_or_init(|| sys::home_of(user)).as_ref();
    let home = home.filter(|home| home.is_absolute() && home.parent().is_some());
    let shared = ["/var/tmp", "/tmp"].map(|temp| Path::new(temp).join(format!("eyelet-{user}")));
    home.map(|home| home.join(".local/state/eyelet")).into_iter().chain(shared).collect()
}

impl Store {
    /// Opens the store of this user, and creates it if necessary.
    pub(super) fn open() -> io::Result<Self> {
        let mut reason = None;
        for candidate in candidates() {
            let folder = candidate.join(FORMAT);
            match ensure(&candidate, &folder) {
                Ok(()) => return Ok(Store { folder }),
                Err(error) if is_unusable(&error) => reason = Some((folder, error)),
                Err(error) => return Err(at(&folder, &error)),
            }
        }
        match reason {
            Some((folder, error)) => Err(at(&folder, &error)),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The folder that commands must not access: it may hold stores of other versions.
    pub(super) fn hidden(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    pub(super) fn lock(&self) -> io::Result<Lock> {
        let path = self.folder.join("lock");
        let file = ensure(self.hidden(), &self.folder).and_then(|()| {
            open_file(&path, private_file().write(true).create(true).truncate(false))
        });
        let file = file.map_err(|error| at(&path, &error))?;
        let until = Instant::now() + LOCK_TIMEOUT;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < until => {
                    std::thread::sleep(LOCK_INTERVAL);
                }
                Err(Errno::WOULDBLOCK) => {
                    let seconds = LOCK_TIMEOUT.as_secs();
                    let reason =
                        format!("other eyelet processes have used this lock for {seconds} seconds");
                    return Err(at(&path, &io::Error::other(reason)));
                }
                Err(error) => return Err(at(&path, &error.into())),
            }
        }
    }

    /// The record of a place.
    pub(super) fn load(&self, _lock: &Lock, place: &Path) -> io::Result<Option<Record>> {
        for number in 0.. {
            match read_record(&self.record_path(place, number))? {
                Some(record) if record.path.0 == place => return Ok(Some(record)),
                // Another path with the same hash.
                Some(_) => {}
                None => break,
            }
        }
        Ok(None)
    }

    pub(super) fn save(&self, _lock: &Lock, record: &Record) -> io::Result<()> {
        let text = serde_json::to_vec(record)?;
        for number in 0.. {
            let path = self.record_path(&record.path.0, number);
            let stands = read_record(&path)?;
            if stands.as_ref().is_some_and(|stands| stands.path != record.path) {
                continue;
            }
            let is_new = stands.is_none();
            let temporary = self.folder.join("record.new");
            let mut file =
                open_file(&temporary, private_file().write(true).create(true).truncate(true))?;
            file.write_all(&text)?;
            fs::rename(&temporary, &path)?;
            if is_new {
                self.sweep();
            }
            break;
        }
        Ok(())
    }

    /// Forgets a place.
    pub(super) fn remove(&self, _lock: &Lock, record: &Record) -> io::Result<()> {
        for number in 0.. {
            let path = self.record_path(&record.path.0, number);
            match read_record(&path)? {
                Some(stands) if stands.path != record.path => {}
                Some(_) => return fs::remove_file(&path),
                None => break,
            }
        }
        Ok(())
    }

    fn record_path(&self, place: &Path, number: usize) -> PathBuf {
        let hash = hash(place.as_os_str().as_bytes());
        self.folder.join("records").join(match number {
            0 => format!("{hash:016x}"),
            number => format!("{hash:016x}.{number}"),
        })
    }

    /// Removes a few records whose root no longer exists, to limit their number.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(self.folder.join("records")) else { return };
        let entries: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        let start = getrandom::u64().unwrap_or(0);
        let start = usize::try_from(start % (entries.len().max(1) as u64)).unwrap_or(0);
        for path in entries.iter().cycle().skip(start).take(SWEPT.min(entries.len())) {
            if let Ok(Some(record)) = read_record(path) {
                if is_missing(&record.root.0) {
                    let _ = fs::remove_file(path);
                }
            }
        }
    }
}

pub(super) fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Opens a file of the store. In the second tier, commands can change the mode of the file and of
/// the folders around it.
pub(super) fn open_file(path: &Path, options: &OpenOptions) -> io::Result<File> {
    for _ in 0..MAX_ATTEMPTS {
        match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                open_way(path);
                // If this fails, opening it again tells why.
                let _ = fs::set_permissions(path, Permissions::from_mode(0o600));
            }
            opened => return opened,
        }
    }
    options.open(path)
}

pub(super) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
    options
}

fn read_record(path: &Path) -> io::Result<Option<Record>> {
    let mut text = Vec::new();
    match open_file(path, private_file().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?.read_to_end(&mut text)?,
    };
    // One that a crash of the machine left broken counts as missing.
    Ok(serde_json::from_slice(&text).ok())
}

/// Creates the folders of the store, and restores access to them if a command has removed the
/// access to them or to a folder around them.
fn ensure(own: &Path, folder: &Path) -> io::Result<()> {
    match create(own, folder) {
        Err(_) if open_way(folder) => create(own, folder),
        created => created,
    }
}

fn create(own: &Path, folder: &Path) -> io::Result<()> {
    let all = [own, folder, &folder.join("records"), &folder.join("marks")];
    // The common case.
    if all.into_iter().all(|private| make_private(private).is_ok()) {
        return Ok(());
    }
    if let Some(parent) = own.parent().filter(|parent| !parent.exists()) {
        // Not the home itself.
        if parent.parent().and_then(Path::parent).is_some_and(Path::exists) {
            fs::create_dir_all(parent)?;
        }
    }
    for private in all {
        match fs::DirBuilder::new().mode(PRIVATE).create(private) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => make_private(private)?,
        }
    }
    Ok(())
}

/// Makes sure that only this user can use the folder: in the second tier, commands can change its mode. Fails if it is
/// someone else's.
fn make_private(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != geteuid().as_raw() {
        let reason = "it is not a directory, or another user owns it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    match found.mode() & 0o777 {
        PRIVATE => Ok(()),
        _ => fs::set_permissions(folder, Permissions::from_mode(PRIVATE)),
    }
}

fn is_unusable(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotADirectory | NotFound | PermissionDenied | ReadOnlyFilesystem)
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// FNV-1a: the same in every version of eyelet.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
