//! Which paths may be opened, and the one way to open them.
//!
//! A path that was checked is the handle that is used: a [`ConfinedPath`] holds an open root and
//! what lies below it, and opening it never leaves the roots, whatever is renamed meanwhile.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::context::{PathScope, TurnContext};
use crate::error::{ErrorCode, ToolError};
use crate::sandbox_settings::SandboxPolicy;
use crate::text::escape;

use crate::paths::deny_list::DenyList;
use crate::paths::open_beneath::{BeneathError, NAME_ONLY, PathBeneath};

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

    /// A root from_handle a directory that is open already.
    pub(crate) fn from_handle(path: PathBuf, handle: OwnedFd) -> Root {
        Root { real: path.clone(), path, handle }
    }

    /// The same directory, which also goes by `name`.
    pub(crate) fn with_alias(&self, name: &Path) -> io::Result<Root> {
        let handle = self.handle.try_clone()?;
        Ok(Root { path: name.to_owned(), real: self.real.clone(), handle })
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path that it was opened by, without links.
    pub fn real_path(&self) -> &Path {
        &self.real
    }

    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// What is left of `path` below this root; by components, so `ws-old` is not below `ws`.
    pub(crate) fn strip<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(&self.path).or_else(|_| path.strip_prefix(&self.real)).ok()
    }
}

/// A path that a call may open. Only [`TurnContext::resolve_path`] makes one.
#[derive(Clone, Debug)]
pub struct ConfinedPath {
    shown: PathBuf,
    location: Location,
    /// What is told where it turns out to lead somewhere else.
    messages: RefusalMessages,
}

#[derive(Clone, Debug)]
enum Location {
    /// The call is not confined.
    Anywhere,
    /// BeneathRoot one of the roots that the call is confined to.
    BeneathRoot(PathBeneath),
}

/// The texts of the errors for a path that may not be opened.
#[derive(Clone, Debug)]
struct RefusalMessages {
    outside: Arc<str>,
    deny_list: Arc<str>,
    /// What is told where it was a kept stream and is not there any more.
    removed: Option<Arc<str>>,
}

/// What is to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenAs {
    RegularFile,
    Directory,
}

/// Why a path was not opened.
#[derive(Debug)]
pub(crate) enum OpenFailure {
    /// It leads out of the roots or to what is deny_list, and whether something is there is not said; or
    /// it was a kept stream and was removed.
    Refused(ToolError),
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

/// What was opened, and where it lies where something there may be deny_list.
pub(crate) struct Opened {
    pub(crate) handle: OwnedFd,
    pub(crate) deny_scope: Option<DenyScope>,
}

/// A location below which something may be deny_list.
#[derive(Clone, Debug)]
pub(crate) struct DenyScope {
    pub(crate) deny_list: Arc<DenyList>,
    /// Without links.
    pub(crate) real: PathBuf,
}

impl TurnContext {
    /// The path that `text` names for this turn, relative ones against its working directory.
    ///
    /// `argument` is the name of the argument that it came in, for the error's text. Roots are
    /// looked through first, then the output_store folder, then the session's private temp folder.
    ///
    /// # Errors
    /// `invalid_input` for a path with a NUL, `outside_root` where the roots do not hold it.
    pub fn resolve_path(&self, argument: &str, text: &str) -> Result<ConfinedPath, ToolError> {
        self.resolve(argument, text, "--root DIR at the start adds one, --read-anywhere lifts them")
    }

    /// The directory for a command, whose roots nothing lifts.
    pub(crate) fn resolve_for_command(
        &self,
        argument: &str,
        text: &str,
    ) -> Result<ConfinedPath, ToolError> {
        let path_scope = if self.roots.is_empty() { self.path_scope } else { PathScope::Roots };
        let turn = self.clone().with_path_scope(path_scope);
        turn.resolve(argument, text, "--root DIR at the start adds one")
    }

    fn resolve(&self, argument: &str, text: &str, hint: &str) -> Result<ConfinedPath, ToolError> {
        if text.contains('\0') {
            return Err(ToolError::invalid_input(format!(
                "{argument} must not contain a NUL character"
            )));
        }
        let asked = format!("{argument} `{}`", escape::text(text));
        self.resolve_absolute(&asked, self.absolute(text), hint)
            .map_err(|outside| ToolError::new(ErrorCode::OutsideRoot, outside.as_ref()))
    }

    /// An absolute path for this turn; none where the roots do not hold it.
    pub(crate) fn confine(&self, shown: PathBuf) -> Option<ConfinedPath> {
        self.resolve_absolute("path", shown, "").ok()
    }

    fn resolve_absolute(
        &self,
        asked: &str,
        shown: PathBuf,
        hint: &str,
    ) -> Result<ConfinedPath, Arc<str>> {
        let outside: Arc<str> = self.outside(asked, hint).into();
        let deny_list =
            format!("{asked} is hidden: it may hold secrets, or --deny names it").into();
        let removed =
            self.output_store.as_ref().and_then(|output_store| output_store.removed(&shown));
        let removed = removed.map(|what| format!("{asked} {what}").into());
        let messages = RefusalMessages { outside: Arc::clone(&outside), deny_list, removed };
        let mut allowed = Vec::new();
        match self.path_scope {
            PathScope::Everything if self.deny_list.is_empty() => {
                return Ok(ConfinedPath { shown, location: Location::Anywhere, messages });
            }
            // What may be deny_list is looked for on the way, from the top.
            PathScope::Everything => allowed.extend(Root::open("/").ok().map(Arc::new)),
            PathScope::Roots => {
                allowed.extend(self.roots.iter().cloned());
                allowed.extend(
                    self.output_store.as_ref().and_then(|output_store| output_store.root()),
                );
                allowed.extend(self.private_temp());
            }
        }
        let beneath = PathBeneath::find(allowed.into(), &shown, &self.deny_list).ok_or(outside)?;
        Ok(ConfinedPath { shown, location: Location::BeneathRoot(beneath), messages })
    }

    /// The temp folder of sandboxed commands, once there is one.
    fn private_temp(&self) -> Option<Arc<Root>> {
        let settings = self.settings.as_ref()?;
        let temp = settings.private_temp.as_ref()?;
        if matches!(self.sandbox, SandboxPolicy::Full | SandboxPolicy::Off) || !temp.is_created() {
            return None;
        }
        temp.root(settings.tier())
    }

    /// What is told of a path that leads out of the roots; `hint` says what would help.
    fn outside(&self, asked: &str, hint: &str) -> String {
        let roots: Vec<_> =
            self.roots.iter().map(|root| escape::name(root.path.as_os_str())).collect();
        match roots.is_empty() {
            true => format!("{asked} is outside the roots, there are none; {hint}"),
            false => format!("{asked} is outside the roots ({}); {hint}", roots.join(", ")),
        }
    }
}

/// Whether this open directory has no name any more.
pub(crate) fn is_removed(directory: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    if rustix::fs::fstat(directory)?.st_nlink != 0 {
        return Ok(false);
    }
    // There are file systems that count no links at all.
    let name = std::fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    Ok(name.map_or(true, |name| name.as_os_str().as_bytes().ends_with(b" (deleted)")))
}

impl ConfinedPath {
    /// The absolute path, for showing. It is never opened.
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// Opens a regular file or a directory. Never blocks, whatever stands there.
    pub(crate) fn open(&self, want: OpenAs) -> Result<Opened, OpenFailure> {
        let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if want == OpenAs::Directory {
            flags |= OFlags::DIRECTORY;
        }
        let opened = match &self.location {
            Location::Anywhere => rustix::fs::openat(CWD, &self.shown, flags, Mode::empty())
                .map(|handle| Opened { handle, deny_scope: None })
                .map_err(BeneathError::System),
            Location::BeneathRoot(beneath) => beneath.open(flags),
        };
        let opened = opened.map_err(|unopened| match unopened {
            BeneathError::Outside => self.refused(ErrorCode::OutsideRoot, &self.messages.outside),
            BeneathError::Denied => {
                self.refused(ErrorCode::PermissionDenied, &self.messages.deny_list)
            }
            // A socket, or a device that has no driver.
            BeneathError::System(Errno::NXIO) if want == OpenAs::RegularFile => {
                OpenFailure::NotAFile
            }
            BeneathError::System(Errno::NOENT) if self.messages.removed.is_some() => {
                self.refused(ErrorCode::NotFound, self.messages.removed.as_deref().unwrap_or(""))
            }
            BeneathError::System(error) => error.into(),
        })?;
        match want {
            OpenAs::RegularFile => {
                let stat = rustix::fs::fstat(&opened.handle)?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                    return Err(OpenFailure::NotAFile);
                }
            }
            // A root stays open when it is removed, and would look like an empty directory.
            OpenAs::Directory if is_removed(opened.handle.as_fd())? => {
                return Err(Errno::NOENT.into());
            }
            OpenAs::Directory => {}
        }
        Ok(opened)
    }

    /// Opens a regular file for reading.
    pub(crate) fn open_file(&self) -> Result<File, OpenFailure> {
        self.open(OpenAs::RegularFile).map(|opened| File::from(opened.handle))
    }

    fn refused(&self, code: ErrorCode, message: &str) -> OpenFailure {
        OpenFailure::Refused(ToolError::new(code, message))
    }
}
