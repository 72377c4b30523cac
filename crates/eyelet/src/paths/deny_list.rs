//! The deny list: paths that may contain secrets, and globs. No tool opens or lists a denied path,
//! inside or outside the roots.
//!
//! Paths are compared after resolving symlinks, so no other spelling of a path bypasses the list.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::ToolError;

/// Where programs store secrets, relative to the home directory.
pub const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".config/gcloud",
    ".kube",
    ".docker/config.json",
    ".netrc",
    ".git-credentials",
    ".config/gh",
    ".npmrc",
    ".pypirc",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".claude",
    ".codex",
    ".gemini",
    ".copilot",
];

/// Paths that no tool opens or lists. If a directory is denied, so is everything in it.
#[derive(Clone, Debug, Default)]
pub struct DenyList {
    paths: Vec<PathBuf>,
    globs: Vec<globset::Glob>,
    set: GlobSet,
}

impl DenyList {
    /// A list that denies nothing.
    pub fn empty() -> Self {
        DenyList::default()
    }

    /// Denies the [`SECRETS`] in `home`.
    #[must_use]
    pub fn with_secrets_in(mut self, home: &Path) -> Self {
        let real = std::fs::canonicalize(home).ok();
        for home in [Some(home), real.as_deref()].into_iter().flatten() {
            self.paths.extend(SECRETS.iter().map(|secret| home.join(secret)));
        }
        self.paths.sort();
        self.paths.dedup();
        self
    }

    /// Denies the paths that `glob` matches. A relative glob applies below each of `base_dirs`.
    /// Matching ignores ASCII case; `*` does not match a slash.
    ///
    /// # Errors
    /// `invalid_input` if the glob is not valid.
    pub fn with_glob(mut self, glob: &str, base_dirs: &[&Path]) -> Result<Self, ToolError> {
        let glob = glob.trim_end_matches('/');
        let globs: Vec<String> = if Path::new(glob).is_absolute() {
            vec![glob.to_owned()]
        } else {
            let below = |base_dir: &&Path| {
                let real =
                    std::fs::canonicalize(base_dir).unwrap_or_else(|_| base_dir.to_path_buf());
                let base_dir = globset::escape(&real.to_string_lossy());
                format!("{}/{glob}", base_dir.trim_end_matches('/'))
            };
            base_dirs.iter().map(below).collect()
        };
        let refused = |error: globset::Error| {
            ToolError::invalid_input(format!("deny glob `{glob}` is invalid: {}", error.kind()))
        };
        for glob in globs {
            let mut builder = GlobBuilder::new(&glob);
            builder.literal_separator(true).case_insensitive(true);
            self.globs.push(builder.build().map_err(refused)?);
        }
        let mut set = GlobSetBuilder::new();
        self.globs.iter().for_each(|glob| {
            set.add(glob.clone());
        });
        self.set = set.build().map_err(refused)?;
        Ok(self)
    }

    /// The files and directories denied by path.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The deny globs, made absolute.
    pub(crate) fn globs(&self) -> &[globset::Glob] {
        &self.globs
    }

    /// Whether the list denies nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.globs.is_empty()
    }

    /// Whether the list may deny something below the directory `real`.
    pub(crate) fn may_deny_below(&self, real: &Path) -> bool {
        !self.globs.is_empty() || self.paths.iter().any(|path| path.starts_with(real))
    }

    /// Whether the list denies the entry `real` itself. The caller has checked its parents.
    pub(crate) fn denies(&self, real: &Path) -> bool {
        self.paths.iter().any(|path| path == real) || self.set.is_match(real)
    }

    /// Whether the list denies the entry `real` or one of its parents.
    pub(crate) fn denies_path_to(&self, real: &Path) -> bool {
        self.paths.iter().any(|path| real.starts_with(path))
            || (!self.set.is_empty() && real.ancestors().any(|path| self.set.is_match(path)))
    }
}

/// A directory with a deny list that applies below it.
#[derive(Clone, Debug)]
pub(crate) struct DenyScope {
    pub(crate) deny_list: Arc<DenyList>,
    /// The directory's path with symlinks resolved.
    pub(crate) real: PathBuf,
}
