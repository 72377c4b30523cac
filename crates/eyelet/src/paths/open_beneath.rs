//! Opens paths beneath roots by handle: never outside of them, never a denied path.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::paths::deny_list::{DenyList, DenyScope};
use crate::paths::root::{NAME_ONLY, Root};

/// The most symlinks in one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// How often a component that changes meanwhile is tried again, and how often a walk restarts.
const MAX_RETRIES: usize = 64;

/// How many directories a walk keeps open, whatever the depth.
const MAX_OPEN_DIRS: usize = 32;

/// A path beneath one of several roots. Symlinks may lead into the other roots.
#[derive(Clone, Debug)]
pub(crate) struct PathBeneath {
    roots: Arc<[Arc<Root>]>,
    /// The root that contains it.
    root_dir: Arc<Root>,
    rest: PathBuf,
    deny_list: Arc<DenyList>,
}

/// An open file or directory, and its path if the deny list may apply below it.
pub(crate) struct Opened {
    pub(crate) handle: OwnedFd,
    pub(crate) deny_scope: Option<DenyScope>,
}

/// Why nothing was opened.
#[derive(Debug)]
pub(crate) enum BeneathError {
    /// The path leads out of the roots.
    Outside,
    /// The path leads to a denied path.
    Denied,
    System(Errno),
}

impl From<Errno> for BeneathError {
    fn from(error: Errno) -> Self {
        BeneathError::System(error)
    }
}

impl PathBeneath {
    /// Finds the first root that contains `path`, which is absolute.
    pub(crate) fn find(
        roots: Arc<[Arc<Root>]>,
        path: &Path,
        deny_list: &Arc<DenyList>,
    ) -> Option<PathBeneath> {
        let (root_dir, rest) = root_holding(&roots, path)?;
        let (root_dir, rest) = (Arc::clone(root_dir), rest.to_owned());
        Some(PathBeneath { roots, root_dir, rest, deny_list: Arc::clone(deny_list) })
    }

    /// Opens the path, with one `openat2` if possible. Walks it if the kernel lacks `openat2`, if a
    /// symlink is absolute or leads into another root, or if there is a deny list.
    pub(crate) fn open(&self, flags: OFlags) -> Result<Opened, BeneathError> {
        #[cfg(target_os = "linux")]
        if self.deny_list.is_empty() {
            match open_beneath(self.root_dir.handle(), &self.rest, flags) {
                Err(Errno::XDEV | Errno::NOSYS) => {}
                opened => return Ok(Opened { handle: opened?, deny_scope: None }),
            }
        }
        ComponentWalk::new(self).open(flags)
    }
}

/// The first root that contains `path`, and the rest of the path below it.
fn root_holding<'r, 'p>(
    roots: &'r [Arc<Root>],
    path: &'p Path,
) -> Option<(&'r Arc<Root>, &'p Path)> {
    roots.iter().find_map(|root| Some((root, root.strip(path)?)))
}

/// One `openat2` call that the kernel confines to `directory`.
#[cfg(target_os = "linux")]
fn open_beneath(directory: BorrowedFd<'_>, rest: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let rest = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut tries = 0;
    loop {
        // EAGAIN: a rename during the lookup, so the kernel could not decide.
        match openat2(directory, rest, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if tries < MAX_RETRIES => tries += 1,
            opened => return opened,
        }
    }
}

/// Walks a path one component at a time, each from the handle of its parent. Resolves symlinks
/// itself, starting again from the roots.
struct ComponentWalk<'b> {
    target: &'b PathBeneath,
    root: &'b Arc<Root>,
    /// The directories entered below the root. The last ones are open.
    entered: Vec<(OsString, Option<OwnedFd>)>,
    /// The remaining components, in reverse order.
    todo: Vec<OsString>,
    retries: usize,
}

impl<'b> ComponentWalk<'b> {
    fn new(target: &'b PathBeneath) -> Self {
        let todo = components_of(&target.rest);
        ComponentWalk { target, root: &target.root_dir, entered: Vec::new(), todo, retries: 0 }
    }

    fn open(mut self, flags: OFlags) -> Result<Opened, BeneathError> {
        let mut links = 0;
        if self.target.deny_list.denies_root(self.root.real_path()) {
            return Err(BeneathError::Denied);
        }
        loop {
            let Some(step) = self.todo.pop() else {
                let handle = rustix::fs::openat(self.here(), ".", flags, Mode::empty())?;
                return Ok(self.opened(handle, None));
            };
            if step == ".." {
                self.leave()?;
                continue;
            }
            if self.is_denied(&step) {
                return Err(BeneathError::Denied);
            }
            match rustix::fs::readlinkat(self.here(), &step, Vec::new()) {
                Ok(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    self.follow(&PathBuf::from(OsString::from_vec(target.into_bytes())))?;
                }
                Err(Errno::INVAL) => {
                    let last = self.todo.is_empty();
                    let into = NAME_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                    let how = if last { flags } else { into } | OFlags::NOFOLLOW;
                    match rustix::fs::openat(self.here(), &step, how, Mode::empty()) {
                        Ok(handle) if last => return Ok(self.opened(handle, Some(&step))),
                        Ok(handle) => self.enter(step, handle),
                        Err(error) if self.has_changed(&step, error) && self.may_retry() => {
                            self.todo.push(step);
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether `error` means that a symlink has just replaced the component.
    fn has_changed(&self, step: &OsStr, error: Errno) -> bool {
        error == Errno::LOOP
            || error == Errno::NOTDIR
                && rustix::fs::statat(self.here(), step, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(
                    |stat| FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile,
                )
    }

    fn may_retry(&mut self) -> bool {
        self.retries += 1;
        self.retries <= MAX_RETRIES
    }

    fn enter(&mut self, name: OsString, handle: OwnedFd) {
        self.entered.push((name, Some(handle)));
        let far_above = self.entered.len().checked_sub(MAX_OPEN_DIRS + 1);
        if let Some((_, handle)) = far_above.and_then(|above| self.entered.get_mut(above)) {
            *handle = None;
        }
    }

    fn here(&self) -> BorrowedFd<'_> {
        let handle = self.entered.last().and_then(|(_, handle)| handle.as_ref());
        handle.map_or(self.root.handle(), |handle| handle.as_fd())
    }

    /// The path of the current directory, with symlinks resolved.
    fn real(&self) -> PathBuf {
        let mut real = self.root.real_path().to_owned();
        real.extend(self.entered.iter().map(|(name, _)| name));
        real
    }

    fn is_denied(&self, step: &OsStr) -> bool {
        let deny_list = &self.target.deny_list;
        !deny_list.is_empty() && deny_list.denies(&self.real().join(step))
    }

    /// Moves to the parent directory. If that leaves the root, the rest of the path must lead into a root again.
    fn leave(&mut self) -> Result<(), BeneathError> {
        if self.entered.pop().is_some() {
            if self.entered.last().is_some_and(|(_, handle)| handle.is_none()) {
                // The parent is no longer open. Walk to it again: `..` could lead elsewhere.
                if !self.may_retry() {
                    return Err(Errno::NAMETOOLONG.into());
                }
                self.todo.extend(self.entered.drain(..).rev().map(|(name, _)| name));
            }
            return Ok(());
        }
        let mut path = self.root.real_path().parent().ok_or(BeneathError::Outside)?.to_owned();
        path.extend(self.todo.drain(..).rev());
        self.start_again(&path)
    }

    fn follow(&mut self, target: &Path) -> Result<(), BeneathError> {
        if target.is_absolute() {
            let mut path = target.to_owned();
            path.extend(self.todo.drain(..).rev());
            return self.start_again(&path);
        }
        self.todo.extend(components_of(target));
        Ok(())
    }

    /// Starts again at the root that contains `path`.
    fn start_again(&mut self, path: &Path) -> Result<(), BeneathError> {
        let (root, rest) = root_holding(&self.target.roots, path).ok_or(BeneathError::Outside)?;
        if self.target.deny_list.denies_root(root.real_path()) {
            return Err(BeneathError::Denied);
        }
        self.root = root;
        self.entered.clear();
        self.todo = components_of(rest);
        Ok(())
    }

    fn opened(&self, handle: OwnedFd, step: Option<&OsStr>) -> Opened {
        let deny_list = &self.target.deny_list;
        if deny_list.is_empty() {
            return Opened { handle, deny_scope: None };
        }
        let mut real = self.real();
        real.extend(step);
        let deny_scope = deny_list
            .may_deny_below(&real)
            .then(|| DenyScope { deny_list: Arc::clone(deny_list), real });
        Opened { handle, deny_scope }
    }
}

/// The components of a relative path, in reverse order.
fn components_of(path: &Path) -> Vec<OsString> {
    let step = |component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    let mut components_of: Vec<_> = path.components().filter_map(step).collect();
    components_of.reverse();
    components_of
}
