//! Walks a tree by handles, one name at a time, never through a link, and leaves out what
//! ripgrep's rules leave out.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bound::tree::EntryKind;
use crate::call::{Stop, Watch};

use super::dir::{Directory, Entry};
use super::rule_files::RuleReader;
use super::rules::{Level, Rules};

/// Directories deeper than this are not kept open while their children wait.
const MAX_KEPT_OPEN: usize = 64;

/// How many entries are read between two looks at the watch.
const ENTRIES_PER_CHECK: usize = 1024;

/// A file that the rules let through.
pub(super) struct Candidate<'w> {
    pub(super) directory: &'w Directory,
    pub(super) name: &'w OsStr,
    /// The search path, and the way from there.
    pub(super) path: &'w Path,
}

/// What a walk passed over for other reasons than the rules.
#[derive(Debug, Default)]
pub(super) struct PassedOver {
    /// Directories that could not be read.
    pub(super) unreadable: u64,
    /// Files and directories whose name is not UTF-8; what is in such a directory is not counted.
    pub(super) not_utf8: u64,
}

/// A walk below one directory.
pub(super) struct Walk<'w> {
    rules: &'w Rules,
    reader: &'w RuleReader<'w>,
    watch: &'w Watch,
    waiting: Vec<Waiting>,
    /// The directory that was read last, where its branch does not keep it open.
    at_hand: Option<(Arc<Branch>, Directory)>,
    passed: PassedOver,
}

/// A directory that was entered, while directories in it wait.
struct Branch {
    parent: Option<Arc<Branch>>,
    name: OsString,
    depth: usize,
    level: Arc<Level>,
    handle: Option<Directory>,
}

/// A directory that waits to be entered.
struct Waiting {
    parent: Arc<Branch>,
    name: OsString,
}

impl<'w> Walk<'w> {
    pub(super) fn new(rules: &'w Rules, reader: &'w RuleReader<'w>, watch: &'w Watch) -> Self {
        let passed = PassedOver::default();
        Walk { rules, reader, watch, waiting: Vec::new(), at_hand: None, passed }
    }

    /// Hands every file below `top` to `visit` that the rules let through.
    pub(super) fn run(
        mut self,
        top: Directory,
        above: &Arc<Level>,
        mut visit: impl FnMut(Candidate<'_>) -> Result<(), Stop>,
    ) -> Result<PassedOver, Stop> {
        let path = self.rules.top.clone();
        let (level, found) = self.read(&top, above, &path, &mut visit)?;
        self.branch(Branch::new(None, OsString::new(), level), top, found);
        while let Some(Waiting { parent, name }) = self.waiting.pop() {
            self.watch.check()?;
            let Ok(directory) = parent.open(&name, self.at_hand.as_ref()) else {
                self.passed.unreadable += 1;
                continue;
            };
            let path = parent.path(&self.rules.top).join(&name);
            let (level, found) = self.read(&directory, &parent.level, &path, &mut visit)?;
            self.branch(Branch::new(Some(parent), name, level), directory, found);
        }
        Ok(self.passed)
    }

    /// Lets the directories `found` in a branch wait.
    fn branch(&mut self, mut branch: Branch, directory: Directory, found: Vec<OsString>) {
        if found.is_empty() {
            return;
        }
        let branch = if branch.depth < MAX_KEPT_OPEN {
            branch.handle = Some(directory);
            Arc::new(branch)
        } else {
            let branch = Arc::new(branch);
            self.at_hand = Some((Arc::clone(&branch), directory));
            branch
        };
        let waiting = found.into_iter().map(|name| Waiting { parent: Arc::clone(&branch), name });
        self.waiting.extend(waiting);
    }

    /// Visits the files of a directory. Returns its rules, and the directories in it to be entered.
    fn read(
        &mut self,
        directory: &Directory,
        above: &Arc<Level>,
        path: &Path,
        visit: &mut impl FnMut(Candidate<'_>) -> Result<(), Stop>,
    ) -> Result<(Arc<Level>, Vec<OsString>), Stop> {
        let entries = self.entries(directory)?;
        let level = self.reader.inside(above, path, directory, &entries);
        let mut found = Vec::new();
        for entry in entries {
            match entry.kind {
                EntryKind::File | EntryKind::Directory => {}
                EntryKind::Symlink | EntryKind::Other => continue,
            }
            let path = path.join(&entry.name);
            if self.rules.skip(&level, &path, entry.kind) {
                continue;
            }
            if entry.name.to_str().is_none() {
                self.passed.not_utf8 += 1;
            } else if entry.kind == EntryKind::Directory {
                found.push(entry.name);
            } else {
                self.watch.check()?;
                visit(Candidate { directory, name: &entry.name, path: &path })?;
            }
        }
        Ok((level, found))
    }

    fn entries(&mut self, directory: &Directory) -> Result<Vec<Entry>, Stop> {
        let mut entries = Vec::new();
        let mut stopped = Ok(());
        let read = directory.each(|name, kind| {
            entries.push(Entry { name: name.to_owned(), kind });
            if entries.len() % ENTRIES_PER_CHECK == 0 {
                stopped = self.watch.check();
            }
            if stopped.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        stopped?;
        if read.is_err() {
            self.passed.unreadable += 1;
        }
        Ok(entries)
    }
}

impl Branch {
    fn new(parent: Option<Arc<Branch>>, name: OsString, level: Arc<Level>) -> Self {
        let depth = parent.as_ref().map_or(0, |parent| parent.depth + 1);
        Branch { parent, name, depth, level, handle: None }
    }

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
        at_hand: Option<&(Arc<Branch>, Directory)>,
    ) -> std::io::Result<Directory> {
        if let Some((_, directory)) = at_hand.filter(|(branch, _)| Arc::ptr_eq(branch, self)) {
            return directory.open_directory(name);
        }
        let mut names = vec![name];
        for branch in self.up() {
            if let Some(handle) = &branch.handle {
                return handle.open_below(names.into_iter().rev());
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
