//! Finds the git repositories below the roots, in the background.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use eyelet_sandbox::{
    LinkedWorktree, closed_folder, git_folders, is_refused, is_unexpected, linked_worktree,
    search_failed,
};
use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::cpu_count::cpu_count;
use crate::exec::refusal::Refusal;
use crate::text::escape;

/// How long a command waits for a search.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// How many roots are remembered. A client may send new roots at any time.
const MAX_ROOTS: usize = 64;

/// The repositories below one or more roots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repositories {
    /// Every `.git` and every bare repository, and the directories of git inside them.
    pub(crate) folders: Vec<PathBuf>,
    /// The linked worktrees, wherever their main repository is. A `.git` file that a command creates later does
    /// not count.
    pub(crate) worktrees: Vec<LinkedWorktree>,
    /// Directories of this user that could not be searched.
    pub(crate) closed: Vec<PathBuf>,
    /// Why a directory could not be searched, if there was another reason.
    failed: Option<String>,
}

/// The repositories below each root when its first command started. Repositories created later are not
/// included.
#[derive(Debug, Default)]
pub(crate) struct RepositorySearch {
    /// The most recent last.
    searches: Mutex<Vec<Arc<Search>>>,
}

impl RepositorySearch {
    /// The repositories in these roots. Fails if the search takes too long; it continues, and a later command
    /// gets its result.
    pub(crate) fn below(&self, roots: &[&Path]) -> Result<Repositories, Refusal> {
        // All of them search at the same time.
        let searches: Vec<_> = roots.iter().map(|root| self.search(root, find)).collect();
        let deadline = Instant::now() + MAX_WAIT;
        let mut all = Repositories::default();
        for search in searches {
            let found = search.wait(deadline.saturating_duration_since(Instant::now()))?;
            all.folders.extend(found.folders);
            all.worktrees.extend(found.worktrees);
            all.closed.extend(found.closed);
        }
        Ok(all)
    }

    /// The search below `root`, started if necessary.
    fn search(&self, root: &Path, find: fn(&Search) -> Repositories) -> Arc<Search> {
        let mut searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        searches.retain(|search| search.root != root || !search.is_outdated());
        if let Some(search) = searches.iter().find(|search| search.root == root) {
            return Arc::clone(search);
        }
        if searches.len() >= MAX_ROOTS {
            searches.remove(0);
        }
        let search = Arc::new(Search { root: root.to_owned(), ..Search::default() });
        searches.push(Arc::clone(&search));
        let task = Arc::clone(&search);
        let started = thread::Builder::new().name("repositories".to_owned()).spawn(move || {
            let found = find(&task);
            task.finish(found);
        });
        if started.is_err() {
            // The machine allows no more threads.
            let found = find(&search);
            search.finish(found);
        }
        search
    }
}

/// The search below one root.
#[derive(Debug, Default)]
struct Search {
    root: PathBuf,
    /// How many directories it has read.
    directories: AtomicU64,
    found: Mutex<Option<Repositories>>,
    has_finished: Condvar,
}

impl Search {
    /// Whether it failed, or could not search a directory that is open now.
    fn is_outdated(&self) -> bool {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.as_ref().is_some_and(|found| {
            found.failed.is_some() || found.closed.iter().any(|closed| is_open(closed))
        })
    }

    fn finish(&self, found: Repositories) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        self.has_finished.notify_all();
    }

    fn wait(&self, time: Duration) -> Result<Repositories, Refusal> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.has_finished.wait_timeout_while(found, time, |found| found.is_none());
        let (found, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let found = found.clone().ok_or_else(|| {
            Refusal::Later(format!(
                "still searching the root `{}` for git repositories to protect ({} directories so far); \
                 run the command again later",
                escape::name(self.root.as_os_str()),
                self.directories.load(Ordering::Relaxed)
            ))
        })?;
        match found.failed {
            Some(reason) => Err(Refusal::Later(reason)),
            None => Ok(found),
        }
    }
}

fn find(search: &Search) -> Repositories {
    let all = Mutex::new(Repositories::default());
    let mut walk = WalkBuilder::new(&search.root);
    let walk = walk.standard_filters(false).follow_links(false).threads(cpu_count());
    walk.build_parallel().run(|| {
        Box::new(|entry| {
            let all = || all.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let path = path_of(&error).unwrap_or(&search.root);
                    if let Some(error) = error.io_error() {
                        all().note_error(path, error);
                    }
                    return WalkState::Continue;
                }
            };
            if is_directory(&entry) {
                search.directories.fetch_add(1, Ordering::Relaxed);
            }
            if is_git_name(&entry) && is_refused(&entry.path().symlink_metadata()) {
                all().closed.extend(closed_folder(entry.path()));
                return WalkState::Continue;
            }
            let Some(repository) = repository(&entry) else { return WalkState::Continue };
            let worktree = linked_worktree(&repository);
            let mut inside = vec![git_folders(&repository)];
            // The submodules of a linked worktree.
            inside.extend(worktree.iter().map(|worktree| git_folders(&worktree.own.path)));
            let mut all = all();
            for inside in inside {
                all.folders.extend(inside.found);
                all.closed.extend(inside.closed);
                let failed = inside.failed.map(|(path, error)| failed_at(&path, error));
                all.failed = all.failed.take().or(failed);
            }
            all.folders.push(repository);
            all.worktrees.extend(worktree);
            WalkState::Skip
        })
    });
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.folders.sort();
    all.closed.sort();
    all.closed.dedup();
    all
}

impl Repositories {
    fn note_error(&mut self, path: &Path, error: &io::Error) {
        if error.kind() == ErrorKind::PermissionDenied {
            // What another user has closed, commands cannot change.
            self.closed.extend(closed_folder(path));
        } else if is_unexpected(error) {
            self.failed = Some(failed_at(path, error));
        }
    }
}

fn failed_at(path: &Path, error: impl Display) -> String {
    search_failed(escape::name(path.as_os_str()), error)
}

/// The path that the walk could not read.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    if let ignore::Error::WithDepth { err, .. } = error {
        return path_of(err);
    }
    if let ignore::Error::WithPath { path, .. } = error { Some(path) } else { None }
}

/// Whether the directory can be searched.
pub(crate) fn is_open(directory: &Path) -> bool {
    directory.read_dir().is_ok() && directory.join(".").metadata().is_ok()
}

/// Whether an entry of this name can show a repository.
fn is_git_name(entry: &DirEntry) -> bool {
    [".git", "HEAD"].iter().any(|name| entry.file_name() == OsStr::new(name))
}

fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// The repository that this entry shows: `.git`, or the directory of a bare repository.
fn repository(entry: &DirEntry) -> Option<PathBuf> {
    if entry.file_name() == OsStr::new(".git") {
        return Some(entry.path().to_owned());
    }
    let is_head = entry.file_name() == OsStr::new("HEAD") && !is_directory(entry);
    let directory = entry.path().parent().filter(|_| is_head)?;
    let is_bare = directory.join("objects").is_dir() && directory.join("refs").is_dir();
    is_bare.then(|| directory.to_owned())
}

#[cfg(test)]
#[path = "repository_search_tests.rs"]
mod tests;
