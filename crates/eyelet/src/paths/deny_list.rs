//! The deny list: paths that may contain secrets, and globs. No tool opens or lists a denied path,
//! inside or outside the roots.
//!
//! Paths are compared after resolving symlinks, so no other spelling of a path bypasses the list.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::environment::Environment;
use crate::error::ToolError;
use crate::paths::root::real_or_given;
use crate::paths::secrets;

/// Paths that no tool opens or lists. If a directory is denied, everything in the directory is
/// denied, too.
#[derive(Clone, Debug, Default)]
pub struct DenyList {
    /// Sorted: the paths in a directory follow the directory.
    paths: Vec<PathBuf>,
    /// Whether the state of processes is denied.
    has_secrets: bool,
    globs: Vec<DenyGlob>,
    set: GlobSet,
}

/// A deny glob, made absolute.
#[derive(Clone, Debug)]
pub(crate) struct DenyGlob {
    pub(crate) glob: globset::Glob,
    /// A directory that contains all matches. If it does not exist, its parent may.
    pub(crate) start: PathBuf,
}

impl DenyList {
    /// Creates a list that denies nothing.
    pub fn empty() -> Self {
        DenyList::default()
    }

    /// Denies the [`SECRETS`](crate::SECRETS) of a user with these home directories and variables,
    /// and the state of processes in `/proc`, such as their memory and environment. eyelet resolves
    /// symlinks once, during this call.
    ///
    /// `HOME` of `environment` is not used, because programs such as `ssh` take the home directory
    /// from the user database instead. If the two differ, pass both as home directories.
    #[must_use]
    pub fn with_secrets<H: Into<PathBuf>>(
        mut self,
        homes: impl IntoIterator<Item = H>,
        environment: &Environment,
    ) -> Self {
        let homes = homes.into_iter().map(Into::into).filter(|home: &PathBuf| home.is_absolute());
        self.paths.extend(secrets::paths(&homes.collect::<Vec<_>>(), environment));
        self.paths.sort();
        self.paths.dedup();
        self.has_secrets = true;
        self
    }

    /// Denies one file or directory. If the path is a symlink, denies its target, too.
    #[must_use]
    pub fn with_path(mut self, path: &Path) -> Self {
        self.paths.extend(std::path::absolute(path));
        self.paths.extend(std::fs::canonicalize(path));
        self.paths.sort();
        self.paths.dedup();
        self
    }

    /// Denies the paths that `glob` matches. A glob without a slash, such as `*.key`, matches a name at any depth below
    /// each of `base_dirs`. A glob with a slash is absolute, or relative to each of `base_dirs`, such as `./*.key`. A slash at
    /// the end is ignored. Matching ignores ASCII case; `*` does not match a slash.
    ///
    /// # Errors
    /// `invalid_input` if the glob is not valid.
    pub fn with_glob(mut self, glob: &str, base_dirs: &[&Path]) -> Result<Self, ToolError> {
        let refused = |reason: &dyn std::fmt::Display| {
            ToolError::invalid_input(format!("deny glob `{glob}` is invalid: {reason}"))
        };
        let is_absolute = glob.starts_with('/');
        let mut names = glob.trim_end_matches('/');
        let depth = if names.contains('/') { "" } else { "**/" };
        while let Some(rest) = names.strip_prefix("./") {
            names = rest;
        }
        let names = if is_absolute { names.get(1..).unwrap_or_default() } else { names };
        if names.split('/').any(|name| matches!(name, "" | "." | "..")) {
            return Err(refused(&"between slashes, a name is required, not `.` or `..`"));
        }
        let globs: Vec<(String, PathBuf)> = if is_absolute {
            let glob = format!("/{names}");
            let start = before_wildcards(&glob);
            vec![(glob, start)]
        } else {
            let below = |base_dir: &&Path| {
                let real = real_or_given(base_dir);
                let glob = format!("{}/{depth}{names}", escaped(&real).trim_end_matches('/'));
                (glob, real)
            };
            base_dirs.iter().map(below).collect()
        };
        for (glob, start) in globs {
            let mut builder = GlobBuilder::new(&glob);
            builder.literal_separator(true).case_insensitive(true);
            let glob = builder.build().map_err(|error| refused(error.kind()))?;
            self.globs.push(DenyGlob { glob, start });
        }
        let mut set = GlobSetBuilder::new();
        self.globs.iter().for_each(|own| {
            set.add(own.glob.clone());
        });
        self.set = set.build().map_err(|error| refused(error.kind()))?;
        Ok(self)
    }

    /// The files and directories denied by path.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The deny globs, made absolute.
    pub(crate) fn globs(&self) -> &[DenyGlob] {
        &self.globs
    }

    /// Whether the list denies nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.globs.is_empty() && !self.has_secrets
    }

    /// Whether the list may deny something below the directory `real`.
    pub(crate) fn may_deny_below(&self, real: &Path) -> bool {
        let first = self.paths.partition_point(|path| path.as_path() < real);
        let has_path = self.paths.get(first).is_some_and(|path| path.starts_with(real));
        has_path
            || !self.globs.is_empty()
            || (self.has_secrets && Path::new(PROC).starts_with(real))
    }

    /// Whether the list denies the entry `real` itself. The caller has checked its parents.
    pub(crate) fn denies(&self, real: &Path) -> bool {
        self.paths.binary_search_by(|path| path.as_path().cmp(real)).is_ok()
            || self.set.is_match(real)
            || (self.has_secrets && is_process(real))
    }

    /// Whether the list denies the root `real`. A root in a directory of secrets is not denied: agents keep work
    /// trees beside their settings, such as `~/.codex/worktrees`.
    pub(crate) fn denies_root(&self, real: &Path) -> bool {
        let is_matched = || real.ancestors().any(|path| self.set.is_match(path));
        let is_process = || self.has_secrets && real.ancestors().any(is_process);
        self.denies(real) || (!self.set.is_empty() && is_matched()) || is_process()
    }
}

/// A glob that matches this path. A glob is UTF-8, so each byte that is not becomes a `?`, which matches any byte.
fn escaped(path: &Path) -> String {
    let mut glob = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        glob.push_str(&globset::escape(chunk.valid()));
        glob.extend(chunk.invalid().iter().map(|_| '?'));
    }
    glob
}

/// The directory that contains all matches of an absolute glob.
fn before_wildcards(glob: &str) -> PathBuf {
    let is_plain = |part: &std::path::Component<'_>| {
        !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{', '\\'])
    };
    Path::new(glob).components().take_while(is_plain).collect()
}

/// Where the kernel shows the state of processes.
const PROC: &str = "/proc";

/// Names in [`PROC`] that reveal memory or keys, besides the numbers of processes.
const REVEALING: &[&str] = &["self", "thread-self", "kcore", "kmsg", "vmcore", "keys"];

/// Whether `real` is the directory of a process in [`PROC`], or reveals as much: a tool reads it with the rights
/// of eyelet itself, whose environment may contain secrets.
fn is_process(real: &Path) -> bool {
    let Some(name) = real.strip_prefix(PROC).ok().and_then(Path::to_str) else { return false };
    REVEALING.contains(&name)
        || (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A directory with a deny list that applies below it.
#[derive(Clone, Debug)]
pub(crate) struct DenyScope {
    pub(crate) deny_list: Arc<DenyList>,
    /// The directory's path with symlinks resolved.
    pub(crate) real: PathBuf,
}
