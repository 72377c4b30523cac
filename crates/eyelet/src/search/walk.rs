//! Walks a tree by handles, one name at a time, never through a link, and leaves out what
//! ripgrep's rules leave out. Several walkers share the tree.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cancel::{Stop, StopCheck};
use crate::text::entry_tree::EntryKind;

use crate::fs::directory::Directory;
use crate::search::entry_names::{EntryNames, ReadStatus};
use crate::search::ignore::load_rules::RuleLoader;
use crate::search::ignore::rules::{RuleLevel, Rules};
use crate::search::work_queue::WorkQueue;

/// How many directories are kept open while others in them wait.
const MAX_OPEN_DIRS: usize = 64;

/// With so many pieces of work, other threads are worth their start.
const PARALLEL_FROM_ITEMS: usize = 8;

/// Of a directory with many files, so many are one piece of work.
const FILES_PER_ITEM: usize = 64;

/// What a walk skipped over for other reasons than the rules.
#[derive(Debug, Default)]
pub(crate) struct SkippedEntries {
    /// Directories that could not be read.
    pub(crate) unreadable: u64,
    /// Files and directories whose name is not UTF-8; what is in such a directory is not counted.
    pub(crate) not_utf8: u64,
}

/// A walk below one directory, as its walkers share it.
pub(crate) struct Walk<'w> {
    rules: &'w Rules,
    loader: &'w RuleLoader<'w>,
    above: &'w Arc<RuleLevel>,
    stop_check: &'w StopCheck,
    kept_open: Arc<AtomicUsize>,
    pub(crate) queue: WorkQueue<WalkItem>,
}

/// A piece of a walk.
pub(crate) enum WalkItem {
    /// The directory that the walk starts in.
    Top(Arc<OpenFolder>),
    /// A directory that waits to be entered.
    Enter { parent: Arc<EnteredDir>, name: OsString },
    /// Files that the rules let through.
    Files { folder: Arc<OpenFolder>, names: EntryNames },
}

/// An open directory with its path: the search path, and the way from there.
pub(crate) struct OpenFolder {
    pub(crate) directory: Directory,
    pub(crate) path: Arc<Path>,
}

/// A directory that was entered, while directories in it wait.
pub(crate) struct EnteredDir {
    parent: Option<Arc<EnteredDir>>,
    name: OsString,
    level: Arc<RuleLevel>,
    kept: Option<KeptOpen>,
}

/// A directory that is kept open, and counted as such.
struct KeptOpen {
    folder: Arc<OpenFolder>,
    count: Arc<AtomicUsize>,
}

/// One of those who walk.
pub(crate) struct Walker<'w> {
    walk: &'w Walk<'w>,
    /// What is in the directory that is read.
    entries: EntryNames,
    /// The directory that was read last, where its entered_dir does not keep it open.
    last_read: Option<(Arc<EnteredDir>, Arc<OpenFolder>)>,
    skipped: SkippedEntries,
}

impl<'w> Walk<'w> {
    pub(crate) fn new(
        top: &Arc<OpenFolder>,
        rules: &'w Rules,
        loader: &'w RuleLoader<'w>,
        above: &'w Arc<RuleLevel>,
        stop_check: &'w StopCheck,
    ) -> Self {
        let queue = WorkQueue::new(vec![WalkItem::Top(Arc::clone(top))], PARALLEL_FROM_ITEMS);
        Walk { rules, loader, above, stop_check, kept_open: Arc::default(), queue }
    }
}

impl<'w> Walker<'w> {
    pub(crate) fn new(walk: &'w Walk<'w>) -> Self {
        Walker {
            walk,
            entries: EntryNames::default(),
            last_read: None,
            skipped: SkippedEntries::default(),
        }
    }

    /// Hands files to `visit` until there is no `next` piece of work.
    pub(crate) fn run(
        mut self,
        next: &mut dyn FnMut() -> Option<WalkItem>,
        mut visit: impl FnMut(&OpenFolder, &OsStr) -> Result<(), Stop>,
    ) -> Result<SkippedEntries, Stop> {
        let mut own = None;
        while let Some(work) = own.or_else(&mut *next) {
            self.walk.stop_check.check()?;
            own = match work {
                WalkItem::Top(top) => self.read(top, None, OsString::new(), &mut visit)?,
                WalkItem::Enter { parent, name } => match self.enter(&parent, &name) {
                    Ok(folder) => self.read(Arc::new(folder), Some(parent), name, &mut visit)?,
                    Err(_) => {
                        self.skipped.unreadable += 1;
                        None
                    }
                },
                WalkItem::Files { folder, names } => {
                    visit_all(&folder, &names, &mut visit)?;
                    None
                }
            };
        }
        Ok(self.skipped)
    }

    fn enter(&self, parent: &Arc<EnteredDir>, name: &OsStr) -> std::io::Result<OpenFolder> {
        let directory = parent.open(name, self.last_read.as_ref())?;
        let path = parent.path(&self.walk.rules.top).join(name).into();
        Ok(OpenFolder { directory, path })
    }

    /// Visits files of a directory and lets the rest of it wait. Returns the piece to go on with.
    fn read(
        &mut self,
        folder: Arc<OpenFolder>,
        parent: Option<Arc<EnteredDir>>,
        name: OsString,
        visit: &mut impl FnMut(&OpenFolder, &OsStr) -> Result<(), Stop>,
    ) -> Result<Option<WalkItem>, Stop> {
        let Walk { rules, loader, above, .. } = self.walk;
        let OpenFolder { directory, path } = &*folder;
        if self.entries.fill(directory, self.walk.stop_check)? == ReadStatus::Partial {
            self.skipped.unreadable += 1;
        }
        let above = parent.as_ref().map_or(*above, |parent| &parent.level);
        let level = loader.load_inside(above, path, directory, &self.entries);
        let mut path_buffer = PathBuffer::new(path);
        let mut folders = Vec::new();
        let mut pieces = vec![EntryNames::default()];
        for (name, kind) in self.entries.iter() {
            match kind {
                EntryKind::File | EntryKind::Directory => {}
                EntryKind::Symlink | EntryKind::Other => continue,
            }
            if rules.skip(&level, path_buffer.to(name), kind) {
                continue;
            }
            if name.to_str().is_none() {
                self.skipped.not_utf8 += 1;
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
            // Someone else would have to find the way into a deep one again. Where files wait,
            // those come first: a worker that goes on downwards would leave them open behind it.
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

    /// The entered_dir of a directory in which others wait.
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

/// The path of a directory with room for the name of what is in it.
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
    /// None where too many are kept open already.
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
    /// Its path, where `top` is the one of the first entered_dir.
    fn path(&self, top: &Path) -> PathBuf {
        let mut names: Vec<_> = self.up().map(|entered_dir| &entered_dir.name).collect();
        // The first entered_dir has no name of its own.
        names.pop();
        let mut path = top.to_owned();
        path.extend(names.into_iter().rev());
        path
    }

    fn up(&self) -> impl Iterator<Item = &EnteredDir> {
        std::iter::successors(Some(self), |entered_dir| entered_dir.parent.as_deref())
    }

    /// Opens the directory `name` in this one, from the nearest handle that is still open.
    fn open(
        self: &Arc<EnteredDir>,
        name: &OsStr,
        last_read: Option<&(Arc<EnteredDir>, Arc<OpenFolder>)>,
    ) -> std::io::Result<Directory> {
        if let Some((_, folder)) =
            last_read.filter(|(entered_dir, _)| Arc::ptr_eq(entered_dir, self))
        {
            return folder.directory.open_directory(name);
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
    /// Frees a deep path one by one: the ordinary way would recurse once per directory.
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(entered_dir) = parent {
            parent =
                Arc::into_inner(entered_dir).and_then(|mut entered_dir| entered_dir.parent.take());
        }
    }
}
