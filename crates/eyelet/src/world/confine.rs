//! Which paths may be opened, and the one way to open them.
//!
//! A path that was checked is the handle that is used: a [`ConfinedPath`] holds an open root and
//! what lies below it, and opening it never leaves the roots, whatever is renamed meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::bound::names;
use crate::call::{Confinement, TurnContext};
use crate::error::{ErrorCode, ToolError};

/// How many links one path may lead through; the kernel's own limit.
const MAX_LINKS: usize = 40;

/// How often a component that changes while it is looked at is looked at again.
const MAX_RETRIES: usize = 64;

/// A handle that only names a directory, where the system has such a thing.
#[cfg(target_os = "linux")]
const NAME_ONLY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const NAME_ONLY: OFlags = OFlags::RDONLY;

/// An open directory that calls may be confined to.
#[derive(Debug)]
pub struct Root {
    /// As it was given.
    path: PathBuf,
    /// Without links: a path may be spelled either way.
    real: PathBuf,
    handle: OwnedFd,
}

impl Root {
    /// Opens the directory at `path` as a root. The handle stays with this directory, even if
    /// another one takes its name later.
    ///
    /// # Errors
    /// The system's error where it is no directory or cannot be opened; `invalid_input` where the
    /// path is not absolute.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Root> {
        let path: PathBuf = path.as_ref().components().collect();
        if !path.is_absolute() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an absolute path"));
        }
        let flags = NAME_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&path, flags, Mode::empty())?;
        let real = std::fs::canonicalize(&path)?;
        Ok(Root { path, real, handle })
    }

    /// A root over a directory that is open already.
    pub(crate) fn over(path: PathBuf, handle: OwnedFd) -> Root {
        Root { real: path.clone(), path, handle }
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path that it was opened by, without links.
    pub fn real_path(&self) -> &Path {
        &self.real
    }

    /// What is left of `path` below this root; by components, so `ws-old` is not below `ws`.
    fn strip<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(&self.path).or_else(|_| path.strip_prefix(&self.real)).ok()
    }
}

/// A path that a call may open. Only [`TurnContext::resolve_path`] makes one.
#[derive(Clone, Debug)]
pub struct ConfinedPath {
    shown: PathBuf,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// The call is not confined.
    Anywhere,
    /// Below the root at `index` of `allowed`; links may lead into the other ones.
    Below { allowed: Arc<[Arc<Root>]>, index: usize, rest: PathBuf },
}

/// What is to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    RegularFile,
    Directory,
}

/// Why a path was not opened.
#[derive(Debug)]
pub(crate) enum OpenFailure {
    /// It leads out of the roots. Whether something is there is not said.
    Outside,
    /// It is no regular file.
    NotAFile,
    /// The system's error.
    Io(io::Error),
}

impl From<Errno> for OpenFailure {
    fn from(error: Errno) -> Self {
        OpenFailure::Io(error.into())
    }
}

impl TurnContext {
    /// The path that `text` names for this turn, relative ones against its working directory.
    ///
    /// `argument` is the name of the argument that it came in, for the error's text. Roots are
    /// looked through first, then the spill folder.
    ///
    /// # Errors
    /// `invalid_input` for a path with a NUL, `outside_root` where the roots do not hold it.
    pub fn resolve_path(&self, argument: &str, text: &str) -> Result<ConfinedPath, ToolError> {
        if text.contains('\0') {
            return Err(ToolError::invalid_input(format!(
                "{argument} must not contain a NUL character"
            )));
        }
        self.confine(self.absolute(text)).ok_or_else(|| self.outside_root(argument, text))
    }

    /// An absolute path for this turn; none where the roots do not hold it.
    pub(crate) fn confine(&self, shown: PathBuf) -> Option<ConfinedPath> {
        if self.roots.is_empty() && self.confinement == Confinement::WhereThereAreRoots {
            return Some(ConfinedPath { shown, place: Place::Anywhere });
        }
        let spill = self.spill.as_ref().and_then(|spill| spill.root());
        let allowed: Arc<[Arc<Root>]> = match spill {
            Some(spill) => self.roots.iter().cloned().chain([spill]).collect(),
            None => Arc::clone(&self.roots),
        };
        let (index, rest) = below(&allowed, &shown)?;
        let rest = rest.to_owned();
        Some(ConfinedPath { shown, place: Place::Below { allowed, index, rest } })
    }

    /// The error for a path that leads out of the roots.
    pub(crate) fn outside_root(&self, argument: &str, text: &str) -> ToolError {
        if self.roots.is_empty() {
            return ToolError::new(
                ErrorCode::OutsideRoot,
                format!(
                    "{argument} `{}` cannot be reached, as no root is set; only a start with --root \
                     DIR opens a directory",
                    names::shown_text(text)
                ),
            );
        }
        let roots: Vec<_> =
            self.roots.iter().map(|root| names::shown(root.path.as_os_str())).collect();
        ToolError::new(
            ErrorCode::OutsideRoot,
            format!(
                "{argument} `{}` is outside the roots ({}); only a start with another --root reaches it",
                names::shown_text(text),
                roots.join(", ")
            ),
        )
    }
}

impl ConfinedPath {
    /// The absolute path, for showing. It is never opened.
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// Opens a regular file or a directory. Never blocks, whatever stands there.
    pub(crate) fn open(&self, want: Want) -> Result<OwnedFd, OpenFailure> {
        let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if want == Want::Directory {
            flags |= OFlags::DIRECTORY;
        }
        let opened = match &self.place {
            Place::Anywhere => {
                rustix::fs::openat(CWD, &self.shown, flags, Mode::empty()).map_err(Into::into)
            }
            Place::Below { allowed, index, rest } => open_below(allowed, *index, rest, flags),
        };
        let handle = match opened {
            // A socket, or a device that has no driver.
            Err(OpenFailure::Io(error))
                if want == Want::RegularFile && error.raw_os_error() == Some(ENXIO) =>
            {
                return Err(OpenFailure::NotAFile);
            }
            opened => opened?,
        };
        if want == Want::RegularFile {
            let stat = rustix::fs::fstat(&handle)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Err(OpenFailure::NotAFile);
            }
        }
        Ok(handle)
    }

    /// Opens a regular file for reading.
    pub(crate) fn open_file(&self) -> Result<File, OpenFailure> {
        self.open(Want::RegularFile).map(File::from)
    }
}

const ENXIO: i32 = Errno::NXIO.raw_os_error();

/// The first root that holds `path`, and what is left of the path there.
fn below<'p>(allowed: &[Arc<Root>], path: &'p Path) -> Option<(usize, &'p Path)> {
    allowed.iter().enumerate().find_map(|(index, root)| Some((index, root.strip(path)?)))
}

/// Opens `rest` below a root. The kernel does it in one step; where a link with an absolute target
/// or into another root stands in the way, or the kernel cannot, [`walk_below`] does.
fn open_below(
    allowed: &[Arc<Root>],
    index: usize,
    rest: &Path,
    flags: OFlags,
) -> Result<OwnedFd, OpenFailure> {
    #[cfg(target_os = "linux")]
    {
        let Some(root) = allowed.get(index) else { return Err(OpenFailure::Outside) };
        match open_beneath(root.handle.as_fd(), rest, flags) {
            Err(Errno::XDEV | Errno::NOSYS) => {}
            opened => return Ok(opened?),
        }
    }
    walk_below(allowed, index, rest, flags)
}

/// One `openat2` that the kernel keeps beneath `directory`.
#[cfg(target_os = "linux")]
fn open_beneath(directory: BorrowedFd<'_>, rest: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let rest = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut tries = 0;
    loop {
        // EAGAIN: something was renamed while the kernel looked, so it could not be sure.
        match openat2(directory, rest, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if tries < MAX_RETRIES => tries += 1,
            opened => return opened,
        }
    }
}

/// Opens `rest` below a root one component at a time, each on the handle of the one before, never
/// through a link: what a link says is looked up again from the roots.
fn walk_below(
    allowed: &[Arc<Root>],
    index: usize,
    rest: &Path,
    flags: OFlags,
) -> Result<OwnedFd, OpenFailure> {
    let mut root = allowed.get(index).ok_or(OpenFailure::Outside)?;
    let mut entered: Vec<OwnedFd> = Vec::new();
    let mut todo = steps(rest);
    let (mut links, mut retries) = (0, 0);
    loop {
        let here = entered.last().unwrap_or(&root.handle).as_fd();
        let Some(step) = todo.pop() else {
            return Ok(rustix::fs::openat(here, ".", flags, Mode::empty())?);
        };
        if step == ".." {
            if entered.pop().is_none() {
                // Above this root: only another root, or this one again, may hold the rest.
                let mut path = root.real.parent().ok_or(OpenFailure::Outside)?.to_owned();
                path.extend(todo.drain(..).rev());
                let (index, rest) = below(allowed, &path).ok_or(OpenFailure::Outside)?;
                root = allowed.get(index).ok_or(OpenFailure::Outside)?;
                todo = steps(rest);
            }
            continue;
        }
        match rustix::fs::readlinkat(here, &step, Vec::new()) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::LOOP.into());
                }
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    let (index, rest) = below(allowed, &target).ok_or(OpenFailure::Outside)?;
                    root = allowed.get(index).ok_or(OpenFailure::Outside)?;
                    entered.clear();
                    todo.extend(steps(rest));
                } else {
                    todo.extend(steps(&target));
                }
            }
            Err(Errno::INVAL) => {
                let last = todo.is_empty();
                let how =
                    if last { flags } else { NAME_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC };
                match rustix::fs::openat(here, &step, how | OFlags::NOFOLLOW, Mode::empty()) {
                    Ok(handle) if last => return Ok(handle),
                    Ok(handle) => entered.push(handle),
                    // It was no link a moment ago.
                    Err(Errno::LOOP) if retries < MAX_RETRIES => {
                        retries += 1;
                        todo.push(step);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The components of a relative path, the first one last.
fn steps(path: &Path) -> Vec<OsString> {
    let step = |component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    let mut steps: Vec<_> = path.components().filter_map(step).collect();
    steps.reverse();
    steps
}
