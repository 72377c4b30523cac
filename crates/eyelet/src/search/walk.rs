//! Walks a tree by handle without following symlinks, and skips what ripgrep's ignore rules skip.
//! Several walkers share the tree.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cancel::{Stop, StopCheck};
use crate::error::ToolError;
use crate::text::entry_tree::EntryKind;

use crate::fs::directory::Directory;
use crate::search::entry_names::{EntryNames, ReadStatus};
use crate::search::ignore::load_rules::RuleLoader;
use crate::search::ignore::rules::{Ignored, RuleLevel, Rules, SkipReason};
use crate::search::outcome::{SearchCounts, SearchFailure};
use crate::search::work_queue::WorkQueue;

/// How many directories stay open while their subdirectories wait.
const MAX_OPEN_DIRS: usize = 64;

/// With fewer items, one thread is faster.
const PARALLEL_FROM_ITEMS: usize = 8;

/// How many files of a large directory form one item.
const FILES_PER_ITEM: usize = 64;

/// A walk below one directory, shared by its walkers.
pub(crate) struct Walk<'w> {
    rules: &'w Rules,
    loader: &'w RuleLoader<'w>,
    stop_check: &'w StopCheck,
    /// Decides before the rules do whether a file matters.
    file_filter: Option<FileFilter<'w>>,
    kept_open: Arc<AtomicUsize>,
    pub(crate) queue: WorkQueue<WalkItem>,
}

/// Whether a file with this path matters to the search.
pub(crate) type FileFilter<'w> = &'w (dyn Fn(&Path) -> bool + Sync);

/// An item of work.
pub(crate) enum WalkItem {
    /// The directory where the walk starts.
    Top(Arc<OpenFolder>),
    /// A directory to enter.
    Enter { parent: Arc<EnteredDir>, name: OsString },
    /// Files to search.
    Files { folder: Arc<OpenFolder>, names: EntryNames },
}

/// An open directory and its path: the search path plus the names below it.
pub(crate) struct OpenFolder {
    pub(crate) directory: Directory,
    pub(crate) path: Arc<Path>,
}

impl OpenFolder {
    /// Fails if entries below were skipped for lack of file descriptors or memory.
    pub(crate) fn check_complete(&self) -> Result<(), SearchFailure> {
        self.directory.check_complete().map_err(|error| {
            SearchFailure::Failed(ToolError::io("path could not be searched completely", &error))
        })
    }
}

/// A directory that was entered and has subdirectories waiting.
pub(crate) struct EnteredDir {
    parent: Option<Arc<EnteredDir>>,
    name: OsString,
    level: Arc<RuleLevel>,
    kept: Option<KeptOpen>,
}

/// A directory that stays open, and counts as such.
struct KeptOpen {
    folder: Arc<OpenFolder>,
    count: Arc<AtomicUsize>,
}

/// One walker.
pub(crate) struct Walker<'w> {
    walk: &'w Walk<'w>,
    /// The entries of the current directory.
    entries: EntryNames,
    /// The directory that was read last, if it does not stay open.
    last_read: Option<(Arc<EnteredDir>, Arc<OpenFolder>)>,
    /// The numbers of skipped files.
    counts: SearchCounts,
}

impl<'w> Walk<'w> {
    pub(crate) fn new(
        top: &Arc<OpenFolder>,
        rules: &'w Rules,
        loader: &'w RuleLoader<'w>,
        stop_check: &'w StopCheck,
    ) -> Self {
        let queue = WorkQueue::new(vec![WalkItem::Top(Arc::clone(top))], PARALLEL_FROM_ITEMS);
        Walk { rules, loader, stop_check, file_filter: None, kept_open: Arc::default(), queue }
    }

    /// Skips files for which `filter` is false, without counting them.
    pub(crate) fn with_file_filter(mut self, filter: FileFilter<'w>) -> Self {
        self.file_filter = Some(filter);
        self
    }
}

impl<'w> Walker<'w> {
    pub(crate) fn new(walk: &'w Walk<'w>) -> Self {
        Walker {
            walk,
            entries: EntryNames::default(),
            last_read: None,
            counts: SearchCounts::default(),
        }
    }

    /// Passes files to `visit` until there is no `next` item.
    pub(crate) fn run(
        mut self,
        next: &mut dyn FnMut() -> Option<WalkItem>,
        mut visit: impl FnMut(&OpenFolder, &OsStr) -> Result<(), Stop>,
    ) -> Result<SearchCounts, Stop> {
        let mut own = None;
        while let Some(work) = own.or_else(&mut *next) {
            self.walk.stop_check.check()?;
            own = match work {
                WalkItem::Top(top) => self.read(top, None, OsString::new(), &mut visit)?,
                WalkItem::Enter { parent, name } => match self.enter(&parent, &name) {
                    Ok(folder) => self.read(Arc::new(folder), Some(parent), name, &mut visit)?,
                    Err(_) => {
                        self.counts.add_unreadable(&parent.path(&self.walk.rules.top), &name);
                        None
                    }
                },
                WalkItem::Files { folder, names } => {
                    visit_all(&folder, &names, &mut visit)?;
                    None
                }
            };
        }
        Ok(self.counts)
    }

    fn enter(&self, parent: &Arc<EnteredDir>, name: &OsStr) -> std::io::Result<OpenFolder> {
        let directory = parent.open(name, self.last_read.as_ref())?;
        let path = parent.path(&self.walk.rules.top).join(name).into();
        Ok(OpenFolder { directory, path })
    }

    /// Visits files of a directory and queues the rest. Returns the item to continue with.
    fn read(
        &mut self,
        folder: Arc<OpenFolder>,
        parent: Option<Arc<EnteredDir>>,
        name: OsString,
        visit: &mut impl FnMut(&OpenFolder, &OsStr) -> Result<(), Stop>,
    ) -> Result<Option<WalkItem>, Stop> {
        let Walk { rules, loader, .. } = self.walk;
        let OpenFolder { directory, path } = &*folder;
        let status = self.entries.fill(directory, self.walk.stop_check)?;
        if let ReadStatus::Partial(_) = status {
            self.counts.add_unreadable(path, OsStr::new(""));
        }
        let above = parent.as_ref().map_or(&rules.above, |parent| &parent.level);
        let level = match rules.ignored {
            Ignored::Show => Arc::clone(above),
            Ignored::Skip => loader.load_inside(above, path, directory, &self.entries),
        };
        let mut path_buffer = PathBuffer::new(path);
        let mut folders = Vec::new();
        let mut pieces = vec![EntryNames::default()];
        for (name, kind) in self.entries.iter() {
            match kind {
                EntryKind::File | EntryKind::Directory => {}
                EntryKind::Symlink | EntryKind::Other => continue,
            }
            let path = path_buffer.to(name);
            if kind == EntryKind::File && self.walk.file_filter.is_some_and(|filter| !filter(path))
            {
                continue;
            }
            if let Some(reason) = rules.skip(&level, path, kind) {
                self.counts.skipped.ignored += u64::from(reason == SkipReason::Ignored);
                continue;
            }
            if name.to_str().is_none() {
                self.counts.skipped.not_utf8 += 1;
            } else if kind == EntryKind::Directory {
                folders.push(name.to_owned());
            } else if let Some(names) = pieces.last_mut() {
                names.push(name, kind);
                if names.len() == FILES_PER_ITEM {
                    pieces.push(EntryNames::default());
                }
            }
        }
        let first = pieces.pop().unwrap_or_default();
        let mut own = None;
        if !folders.is_empty() {
            let parent = self.entered_dir(&folder, parent, name, level);
            let mut folders = folders
                .into_iter()
                .map(|name| WalkItem::Enter { parent: Arc::clone(&parent), name });
            // Another worker would have to open a deep directory from the top again. But queued
            // files come first: their directory stays open until they are searched.
            if pieces.is_empty() {
                own = folders.next_back();
            }
            self.walk.queue.add(folders);
        }
        if !pieces.is_empty() {
            let files = pieces
                .into_iter()
                .map(|names| WalkItem::Files { folder: Arc::clone(&folder), names });
            self.walk.queue.add(files);
        }
        visit_all(&folder, &first, visit)?;
        Ok(own)
    }

    /// Adds a directory that has subdirectories waiting.
    fn entered_dir(
        &mut self,
        folder: &Arc<OpenFolder>,
        parent: Option<Arc<EnteredDir>>,
        name: OsString,
        level: Arc<RuleLevel>,
    ) -> Arc<EnteredDir> {
        let kept = KeptOpen::new(folder, &self.walk.kept_open);
        let last_read = kept.is_none();
        let entered_dir = Arc::new(EnteredDir { parent, name, level, kept });
        if last_read {
            self.last_read = Some((Arc::clone(&entered_dir), Arc::clone(folder)));
        }
        entered_dir
    }
}

fn visit_all(
    folder: &OpenFolder,
    names: &EntryNames,
    visit: &mut impl FnMut(&OpenFolder, &OsStr) -> Result<(), Stop>,
) -> Result<(), Stop> {
    names.iter().try_for_each(|(name, _)| visit(folder, name))
}

/// A directory's path with room to append a name.
pub(crate) struct PathBuffer {
    path: Vec<u8>,
    length: usize,
}

impl PathBuffer {
    pub(crate) fn new(folder: &Path) -> Self {
        let mut path = folder.as_os_str().as_bytes().to_vec();
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        let length = path.len();
        PathBuffer { path, length }
    }

    /// The path of `name` in the directory.
    pub(crate) fn to(&mut self, name: &OsStr) -> &Path {
        self.path.truncate(self.length);
        self.path.extend_from_slice(name.as_bytes());
        Path::new(OsStr::from_bytes(&self.path))
    }
}

impl KeptOpen {
    /// None if too many directories are open.
    fn new(folder: &Arc<OpenFolder>, count: &Arc<AtomicUsize>) -> Option<KeptOpen> {
        if count.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN_DIRS {
            count.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(KeptOpen { folder: Arc::clone(folder), count: Arc::clone(count) })
    }
}

impl Drop for KeptOpen {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl EnteredDir {
    /// The path of the directory; `top` is the path of the directory where the walk starts.
    fn path(&self, top: &Path) -> PathBuf {
        let mut names: Vec<_> = self.up().map(|entered_dir| &entered_dir.name).collect();
        // The first directory has no name of its own.
        names.pop();
        let mut path = top.to_owned();
        path.extend(names.into_iter().rev());
        path
    }

    fn up(&self) -> impl Iterator<Item = &EnteredDir> {
        std::iter::successors(Some(self), |entered_dir| entered_dir.parent.as_deref())
    }

    /// Opens the directory `name` in this one, from the nearest open ancestor.
    fn open(
        self: &Arc<EnteredDir>,
        name: &OsStr,
        last_read: Option<&(Arc<EnteredDir>, Arc<OpenFolder>)>,
    ) -> std::io::Result<Directory> {
        if let Some((_, folder)) =
            last_read.filter(|(entered_dir, _)| Arc::ptr_eq(entered_dir, self))
        {
            return folder.directory.open_dir(name);
        }
        let mut names = vec![name];
        for entered_dir in self.up() {
            if let Some(kept) = &entered_dir.kept {
                return kept.folder.directory.open_below(names.into_iter().rev());
            }
            names.push(&entered_dir.name);
        }
        Err(std::io::ErrorKind::NotFound.into())
    }
}

impl Drop for EnteredDir {
    /// Frees the chain in a loop: the default would recurse once per directory.
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(entered_dir) = parent {
            parent =
                Arc::into_inner(entered_dir).and_then(|mut entered_dir| entered_dir.parent.take());
        }
    }
}
