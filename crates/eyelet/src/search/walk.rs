//! Walks a tree by handles, one name at a time, never through a link, and leaves out what
//! ripgrep's rules leave out. Several walkers share the tree.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cancel::{Stop, Watch};
use crate::text::entry_tree::EntryKind;

use crate::fs::directory::Directory;
use crate::search::entry_names::{Listed, Names};
use crate::search::ignore::load_rules::RuleReader;
use crate::search::ignore::rules::{Level, Rules};
use crate::search::work_queue::Crew;

/// How many directories are kept open while others in them wait.
const MAX_KEPT_OPEN: usize = 64;

/// With so many pieces of work, other threads are worth their start.
const ENOUGH_WORK: usize = 8;

/// Of a directory with many files, so many are one piece of work.
const FILES_PER_PIECE: usize = 64;

/// What a walk passed over for other reasons than the rules.
#[derive(Debug, Default)]
pub(crate) struct PassedOver {
    /// Directories that could not be read.
    pub(crate) unreadable: u64,
    /// Files and directories whose name is not UTF-8; what is in such a directory is not counted.
    pub(crate) not_utf8: u64,
}

/// A walk below one directory, as its walkers share it.
pub(crate) struct Walk<'w> {
    rules: &'w Rules,
    reader: &'w RuleReader<'w>,
    above: &'w Arc<Level>,
    watch: &'w Watch,
    kept_open: Arc<AtomicUsize>,
    pub(crate) crew: Crew<Work>,
}

/// A piece of a walk.
pub(crate) enum Work {
    /// The directory that the walk starts in.
    Top(Arc<Folder>),
    /// A directory that waits to be entered.
    Enter { parent: Arc<Branch>, name: OsString },
    /// Files that the rules let through.
    Files { folder: Arc<Folder>, names: Names },
}

/// An open directory with its path: the search path, and the way from there.
pub(crate) struct Folder {
    pub(crate) directory: Directory,
    pub(crate) path: Arc<Path>,
}

/// A directory that was entered, while directories in it wait.
pub(crate) struct Branch {
    parent: Option<Arc<Branch>>,
    name: OsString,
    level: Arc<Level>,
    kept: Option<Kept>,
}

/// A directory that is kept open, and counted as such.
struct Kept {
    folder: Arc<Folder>,
    count: Arc<AtomicUsize>,
}

/// One of those who walk.
pub(crate) struct Walker<'w> {
    walk: &'w Walk<'w>,
    /// What is in the directory that is read.
    entries: Names,
    /// The directory that was read last, where its branch does not keep it open.
    at_hand: Option<(Arc<Branch>, Arc<Folder>)>,
    passed: PassedOver,
}

impl<'w> Walk<'w> {
    pub(crate) fn new(
        top: &Arc<Folder>,
        rules: &'w Rules,
        reader: &'w RuleReader<'w>,
        above: &'w Arc<Level>,
        watch: &'w Watch,
    ) -> Self {
        let crew = Crew::new(vec![Work::Top(Arc::clone(top))], ENOUGH_WORK);
        Walk { rules, reader, above, watch, kept_open: Arc::default(), crew }
    }
}

impl<'w> Walker<'w> {
    pub(crate) fn new(walk: &'w Walk<'w>) -> Self {
        Walker { walk, entries: Names::default(), at_hand: None, passed: PassedOver::default() }
    }

    /// Hands files to `visit` until there is no `next` piece of work.
    pub(crate) fn run(
        mut self,
        next: &mut dyn FnMut() -> Option<Work>,
        mut visit: impl FnMut(&Folder, &OsStr) -> Result<(), Stop>,
    ) -> Result<PassedOver, Stop> {
        let mut own = None;
        while let Some(work) = own.or_else(&mut *next) {
            self.walk.watch.check()?;
            own = match work {
                Work::Top(top) => self.read(top, None, OsString::new(), &mut visit)?,
                Work::Enter { parent, name } => match self.enter(&parent, &name) {
                    Ok(folder) => self.read(Arc::new(folder), Some(parent), name, &mut visit)?,
                    Err(_) => {
                        self.passed.unreadable += 1;
                        None
                    }
                },
                Work::Files { folder, names } => {
                    visit_all(&folder, &names, &mut visit)?;
                    None
                }
            };
        }
        Ok(self.passed)
    }

    fn enter(&self, parent: &Arc<Branch>, name: &OsStr) -> std::io::Result<Folder> {
        let directory = parent.open(name, self.at_hand.as_ref())?;
        let path = parent.path(&self.walk.rules.top).join(name).into();
        Ok(Folder { directory, path })
    }

    /// Visits files of a directory and lets the rest of it wait. Returns the piece to go on with.
    fn read(
        &mut self,
        folder: Arc<Folder>,
        parent: Option<Arc<Branch>>,
        name: OsString,
        visit: &mut impl FnMut(&Folder, &OsStr) -> Result<(), Stop>,
    ) -> Result<Option<Work>, Stop> {
        let Walk { rules, reader, above, .. } = self.walk;
        let Folder { directory, path } = &*folder;
        if self.entries.fill(directory, self.walk.watch)? == Listed::Broken {
            self.passed.unreadable += 1;
        }
        let above = parent.as_ref().map_or(*above, |parent| &parent.level);
        let level = reader.inside(above, path, directory, &self.entries);
        let mut trail = Trail::new(path);
        let mut folders = Vec::new();
        let mut pieces = vec![Names::default()];
        for (name, kind) in self.entries.iter() {
            match kind {
                EntryKind::File | EntryKind::Directory => {}
                EntryKind::Symlink | EntryKind::Other => continue,
            }
            if rules.skip(&level, trail.to(name), kind) {
                continue;
            }
            if name.to_str().is_none() {
                self.passed.not_utf8 += 1;
            } else if kind == EntryKind::Directory {
                folders.push(name.to_owned());
            } else if let Some(names) = pieces.last_mut() {
                names.push(name, kind);
                if names.len() == FILES_PER_PIECE {
                    pieces.push(Names::default());
                }
            }
        }
        let first = pieces.pop().unwrap_or_default();
        let mut own = None;
        if !folders.is_empty() {
            let parent = self.branch(&folder, parent, name, level);
            let mut folders =
                folders.into_iter().map(|name| Work::Enter { parent: Arc::clone(&parent), name });
            // Someone else would have to find the way into a deep one again. Where files wait,
            // those come first: a worker that goes on downwards would leave them open behind it.
            if pieces.is_empty() {
                own = folders.next_back();
            }
            self.walk.crew.add(folders);
        }
        if !pieces.is_empty() {
            let files =
                pieces.into_iter().map(|names| Work::Files { folder: Arc::clone(&folder), names });
            self.walk.crew.add(files);
        }
        visit_all(&folder, &first, visit)?;
        Ok(own)
    }

    /// The branch of a directory in which others wait.
    fn branch(
        &mut self,
        folder: &Arc<Folder>,
        parent: Option<Arc<Branch>>,
        name: OsString,
        level: Arc<Level>,
    ) -> Arc<Branch> {
        let kept = Kept::new(folder, &self.walk.kept_open);
        let at_hand = kept.is_none();
        let branch = Arc::new(Branch { parent, name, level, kept });
        if at_hand {
            self.at_hand = Some((Arc::clone(&branch), Arc::clone(folder)));
        }
        branch
    }
}

fn visit_all(
    folder: &Folder,
    names: &Names,
    visit: &mut impl FnMut(&Folder, &OsStr) -> Result<(), Stop>,
) -> Result<(), Stop> {
    names.iter().try_for_each(|(name, _)| visit(folder, name))
}

/// The path of a directory with room for the name of what is in it.
pub(crate) struct Trail {
    path: Vec<u8>,
    length: usize,
}

impl Trail {
    pub(crate) fn new(folder: &Path) -> Self {
        let mut path = folder.as_os_str().as_bytes().to_vec();
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        let length = path.len();
        Trail { path, length }
    }

    /// The path of `name` in the directory.
    pub(crate) fn to(&mut self, name: &OsStr) -> &Path {
        self.path.truncate(self.length);
        self.path.extend_from_slice(name.as_bytes());
        Path::new(OsStr::from_bytes(&self.path))
    }
}

impl Kept {
    /// None where too many are kept open already.
    fn new(folder: &Arc<Folder>, count: &Arc<AtomicUsize>) -> Option<Kept> {
        if count.fetch_add(1, Ordering::Relaxed) >= MAX_KEPT_OPEN {
            count.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Kept { folder: Arc::clone(folder), count: Arc::clone(count) })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Branch {
    /// Its path, where `top` is the one of the first branch.
    fn path(&self, top: &Path) -> PathBuf {
        let mut names: Vec<_> = self.up().map(|branch| &branch.name).collect();
        // The first branch has no name of its own.
        names.pop();
        let mut path = top.to_owned();
        path.extend(names.into_iter().rev());
        path
    }

    fn up(&self) -> impl Iterator<Item = &Branch> {
        std::iter::successors(Some(self), |branch| branch.parent.as_deref())
    }

    /// Opens the directory `name` in this one, from the nearest handle that is still open.
    fn open(
        self: &Arc<Branch>,
        name: &OsStr,
        at_hand: Option<&(Arc<Branch>, Arc<Folder>)>,
    ) -> std::io::Result<Directory> {
        if let Some((_, folder)) = at_hand.filter(|(branch, _)| Arc::ptr_eq(branch, self)) {
            return folder.directory.open_directory(name);
        }
        let mut names = vec![name];
        for branch in self.up() {
            if let Some(kept) = &branch.kept {
                return kept.folder.directory.open_below(names.into_iter().rev());
            }
            names.push(&branch.name);
        }
        Err(std::io::ErrorKind::NotFound.into())
    }
}

impl Drop for Branch {
    /// Frees a deep path one by one: the ordinary way would recurse once per directory.
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(branch) = parent {
            parent = Arc::into_inner(branch).and_then(|mut branch| branch.parent.take());
        }
    }
}
