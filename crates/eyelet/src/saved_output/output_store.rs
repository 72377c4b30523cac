//! Saves output that is too long to show to private files.
//!
//! Nothing here makes a call fail: if output cannot be saved, the reply gives the reason instead of
//! a file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, getrlimit};

use crate::paths::root::Root;
use crate::saved_output::private_dir::{ParentDir, PrivateDir, is_random, user_prefix};
use crate::text::escape;
use crate::text::removed_files::RemovedFiles;

/// The maximum size of one file of saved output, in bytes.
pub const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// The maximum size of all saved output of a session, in bytes.
pub const MAX_SESSION_BYTES: u64 = MAX_FULL_FILES * MAX_FILE_BYTES;
/// How many files of the maximum size a session can have.
const MAX_FULL_FILES: u64 = 4;
/// How long saved output of command-line programs is stored, in seconds.
pub const MAX_AGE_SECS: i64 = 24 * 60 * 60;

/// How many removed files are remembered by name.
const MAX_REMEMBERED: usize = 4096;

/// A private directory for saved output. eyelet creates the directory when it first saves output.
#[derive(Debug)]
pub struct OutputStore {
    temp_dir: PathBuf,
    kind: StoreKind,
    max_file_bytes: u64,
    max_session_bytes: u64,
    state: Mutex<StoreState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreKind {
    PerUser,
    Session,
}

#[derive(Debug, Default)]
struct StoreState {
    /// The folder and its name in the temp folder.
    folder: Option<(String, Arc<PrivateDir>)>,
    /// Completely written, oldest first.
    finished: VecDeque<Finished>,
    /// Removed to free space, oldest first.
    removed: VecDeque<String>,
    /// The size of all files.
    used: u64,
    /// Whether files of earlier processes are included.
    is_counted: bool,
    /// Whether the session has ended.
    is_closed: bool,
}

#[derive(Debug)]
struct Finished {
    name: String,
    bytes: u64,
}

impl OutputStore {
    /// Creates a store for a command-line program. The store uses this user's directory in
    /// `temp_dir`, and its files outlive the process. This call also removes files that are older
    /// than a day.
    pub fn per_user(temp_dir: impl Into<PathBuf>) -> Self {
        let output_store = OutputStore::new(temp_dir.into(), StoreKind::PerUser);
        if let Some((_, folder)) = &output_store.state().folder {
            let now = folder.touch().unwrap_or(0);
            for file in folder.files() {
                if file.modified < now - MAX_AGE_SECS {
                    folder.remove(&file.name);
                }
            }
        }
        output_store
    }

    /// Creates a store for a server. The store uses a new directory in `temp_dir`; dropping the
    /// store removes this directory. This call also removes the directories of servers that no
    /// longer run.
    pub fn session(temp_dir: impl Into<PathBuf>) -> Self {
        let output_store = OutputStore::new(temp_dir.into(), StoreKind::Session);
        if let Ok(temp) = ParentDir::open(&output_store.temp_dir) {
            for (name, folder) in temp.dead_sessions(&session_prefix()) {
                temp.remove(&name, &folder);
            }
        }
        output_store
    }

    fn new(temp_dir: PathBuf, kind: StoreKind) -> Self {
        OutputStore {
            temp_dir: temp_dir.components().collect(),
            kind,
            max_file_bytes: MAX_FILE_BYTES,
            max_session_bytes: MAX_SESSION_BYTES,
            state: Mutex::default(),
        }
    }

    /// A store like this one, with a directory of its own.
    pub(crate) fn for_another_session(&self) -> Self {
        OutputStore::new(self.temp_dir.clone(), StoreKind::Session)
            .with_limits(self.max_file_bytes, self.max_session_bytes)
    }

    /// Sets the maximum size of one file. All files together can have four times this size.
    #[must_use]
    pub fn with_file_limit(self, max_file_bytes: u64) -> Self {
        self.with_limits(max_file_bytes, max_file_bytes.saturating_mul(MAX_FULL_FILES))
    }

    /// Sets the maximum size of one file, and of all files together.
    #[must_use]
    pub fn with_limits(mut self, max_file_bytes: u64, max_session_bytes: u64) -> Self {
        self.max_file_bytes = max_file_bytes;
        self.max_session_bytes = max_session_bytes;
        self
    }

    /// Removes a server's directory at once, even if other parts of the program still refer to this
    /// store. Afterwards, the store saves no more output.
    pub fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_closed = self.kind == StoreKind::Session;
        if let (StoreKind::Session, Some((name, folder))) = (self.kind, state.folder.take()) {
            if let Ok(temp) = ParentDir::open(&self.temp_dir) {
                temp.remove(&name, &folder);
            }
        }
    }

    /// The most bytes of a file's path as displayed.
    pub(crate) fn max_path_bytes(&self) -> usize {
        // The names of the folder and the file, with separators.
        const NAMES: usize = 100;
        escape::name(self.temp_dir.as_os_str()).len() + NAMES
    }

    /// The folder as a readable root, if it exists.
    pub(crate) fn root(&self) -> Option<Arc<Root>> {
        let state = self.state();
        state.folder.as_ref().map(|(_, folder)| Arc::clone(folder.root()))
    }

    /// Why the saved output at `path` is gone, if it is known to have been removed.
    pub(crate) fn removed(&self, path: &Path) -> Option<String> {
        let name = path.file_name()?.to_str()?;
        let limit = self.max_session_bytes;
        let state = self.state();
        let (_, folder) = state.folder.as_ref()?;
        if folder.path_of(name) != path || !is_random(name) {
            return None;
        }
        if state.removed.iter().any(|removed| removed == name) {
            return Some(format!(
                "was removed: saved output exceeded the session limit of {limit} bytes; run the \
                 command again"
            ));
        }
        // Another process of this user may have removed it.
        let hours = MAX_AGE_SECS / 3600;
        (self.kind == StoreKind::PerUser).then(|| {
            format!(
                "no longer exists: saved output is removed after {hours} hours, or earlier if all \
                 of it exceeds {limit} bytes; run the command again"
            )
        })
    }

    /// Creates a file. The error is the reason for the reply.
    pub(crate) fn create(self: &Arc<Self>) -> Result<SavedFile, String> {
        let mut state = self.state();
        if state.is_closed {
            // Nobody would remove a new folder.
            return Err("the session has ended".to_owned());
        }
        let mut folder = self.folder(&mut state)?;
        let mut created = folder.create();
        if created.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            // A cleaner of the temp folder removed it.
            *state = StoreState::default();
            folder = self.folder(&mut state)?;
            created = folder.create();
        }
        let (name, file) = created.map_err(|error| error.to_string())?;
        // Above the process's own limit, the system would kill it with a signal.
        let most = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        Ok(SavedFile {
            output_store: Arc::clone(self),
            folder,
            name,
            file: Some(file),
            bytes: 0,
            most: most.min(self.max_file_bytes),
            is_full: false,
        })
    }

    /// The state. Finds the user's folder if it exists; does not create it.
    fn state(&self) -> MutexGuard<'_, StoreState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.folder.is_none() && self.kind == StoreKind::PerUser {
            let name = user_prefix();
            let found = ParentDir::open(&self.temp_dir).and_then(|temp| temp.folder(&name));
            state.folder = found.ok().map(|folder| (name, Arc::new(folder)));
        }
        state
    }

    /// The folder, created if necessary.
    fn folder(&self, state: &mut StoreState) -> Result<Arc<PrivateDir>, String> {
        let (name, folder) = match state.folder.take() {
            Some(made) => made,
            None => self.make_folder()?,
        };
        if self.kind == StoreKind::PerUser && !state.is_counted {
            // Files of this user's other processes count too.
            state.is_counted = true;
            let files = folder.files();
            state.used = files.iter().map(|file| file.bytes).sum();
            state.finished = files
                .into_iter()
                .map(|file| Finished { name: file.name, bytes: file.bytes })
                .collect();
        }
        state.folder = Some((name, Arc::clone(&folder)));
        Ok(folder)
    }

    fn make_folder(&self) -> Result<(String, Arc<PrivateDir>), String> {
        let temp = ParentDir::open(&self.temp_dir)?;
        if self.kind == StoreKind::PerUser {
            let name = user_prefix();
            temp.make_folder(&name)?;
            let folder = temp.folder(&name)?;
            return Ok((name, Arc::new(folder)));
        }
        let (name, folder) = temp.create_session(&session_prefix())?;
        Ok((name, Arc::new(folder)))
    }

    /// Frees space for `wanted` bytes by removing the oldest finished files, which are added to
    /// `removed_files`. Returns how many bytes may be written.
    fn reserve(&self, wanted: u64, removed_files: &mut RemovedFiles) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let StoreState { folder: Some((_, folder)), finished, used, removed, .. } = &mut *state
        else {
            return 0;
        };
        let mut in_use = Vec::new();
        while used.saturating_add(wanted) > self.max_session_bytes {
            let Some(oldest) = finished.pop_front() else { break };
            if folder.is_unused(&oldest.name) {
                folder.remove(&oldest.name);
                *used = used.saturating_sub(oldest.bytes);
                removed_files.add(folder.path_of(&oldest.name));
                removed.push_back(oldest.name);
                if removed.len() > MAX_REMEMBERED {
                    removed.pop_front();
                }
            } else {
                in_use.push(oldest);
            }
        }
        finished.extend(in_use);
        let granted = wanted.min(self.max_session_bytes.saturating_sub(*used));
        *used += granted;
        granted
    }
}

impl Drop for OutputStore {
    fn drop(&mut self) {
        self.close();
    }
}

fn session_prefix() -> String {
    format!("{}-", user_prefix())
}

/// A file that is being written. Dropping it before `finish` removes it.
#[derive(Debug)]
pub(crate) struct SavedFile {
    output_store: Arc<OutputStore>,
    folder: Arc<PrivateDir>,
    name: String,
    /// `None` once the file is finished.
    file: Option<File>,
    bytes: u64,
    most: u64,
    is_full: bool,
}

impl SavedFile {
    /// Appends as many bytes as the limits allow. Files removed to free space are added to
    /// `removed_files`.
    pub(crate) fn write(
        &mut self,
        bytes: &[u8],
        removed_files: &mut RemovedFiles,
    ) -> Result<(), String> {
        if self.is_full || bytes.is_empty() {
            return Ok(());
        }
        let wanted = (bytes.len() as u64).min(self.most.saturating_sub(self.bytes));
        let granted = self.output_store.reserve(wanted, removed_files);
        self.bytes += granted;
        self.is_full = granted < bytes.len() as u64;
        let part = bytes.get(..usize::try_from(granted).unwrap_or(0)).unwrap_or_default();
        if let Some(file) = &mut self.file {
            file.write_all(part).map_err(|error| error.to_string())?;
        }
        if self.bytes == 0 {
            return Err(format!(
                "saved output reached its limit of {} bytes",
                self.output_store.max_session_bytes.min(self.most)
            ));
        }
        Ok(())
    }

    /// The path of the file, and its size if it does not contain all that was written.
    pub(crate) fn so_far(&self) -> (PathBuf, Option<u64>) {
        (self.folder.path_of(&self.name), self.is_full.then_some(self.bytes))
    }

    /// Completes the file.
    pub(crate) fn finish(mut self) {
        // Closed first: removing an open file frees no space.
        self.file = None;
        let finished = Finished { name: self.name.clone(), bytes: self.bytes };
        let mut state = self.output_store.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.finished.push_back(finished);
    }
}

impl Drop for SavedFile {
    fn drop(&mut self) {
        if self.file.is_some() {
            self.folder.remove(&self.name);
            let mut state = self.output_store.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.used = state.used.saturating_sub(self.bytes);
        }
    }
}
