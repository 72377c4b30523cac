//! What no tool shows, roots or not: base_dirs of secrets, and what `--deny` names.
//!
//! Paths are looked at as they are on disk, links resolved, so that no other spelling leads there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::ToolError;

/// Where programs keep secrets, below the home base_dir.
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

/// Files and base_dirs that are hidden from the tools, with all that is in them.
#[derive(Clone, Debug, Default)]
pub struct DenyList {
    paths: Vec<PathBuf>,
    globs: Vec<globset::Glob>,
    set: GlobSet,
}

impl DenyList {
    /// Nothing is hidden.
    pub fn empty() -> Self {
        DenyList::default()
    }

    /// Hides the [`SECRETS`] below `home`.
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

    /// Hides what `glob` matches: an absolute glob, or one relative to each of `base_dirs`. The case
    /// of ASCII letters does not count, and `*` does not path_scope over a slash.
    ///
    /// # Errors
    /// `invalid_input` where it is no glob.
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
            ToolError::invalid_input(format!("--deny `{glob}` is no glob: {}", error.kind()))
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

    /// The files and base_dirs that are hidden by their path.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// What `--deny` names, links in it resolved as far as there is no wildcard before.
    pub(crate) fn globs(&self) -> &[globset::Glob] {
        &self.globs
    }

    /// Whether there is anything to hide.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.globs.is_empty()
    }

    /// Whether something below the base_dir at `real` may be hidden.
    pub(crate) fn may_deny_below(&self, real: &Path) -> bool {
        !self.globs.is_empty() || self.paths.iter().any(|path| path.starts_with(real))
    }

    /// Whether the entry at `real` is hidden; what leads to it was asked about before.
    pub(crate) fn denies(&self, real: &Path) -> bool {
        self.paths.iter().any(|path| path == real) || self.set.is_match(real)
    }

    /// Whether the entry at `real`, or anything that leads to it, is hidden.
    pub(crate) fn denies_path_to(&self, real: &Path) -> bool {
        self.paths.iter().any(|path| real.starts_with(path))
            || (!self.set.is_empty() && real.ancestors().any(|path| self.set.is_match(path)))
    }
}

/// A location below which something may be deny_list.
#[derive(Clone, Debug)]
pub(crate) struct DenyScope {
    pub(crate) deny_list: Arc<DenyList>,
    /// Without links.
    pub(crate) real: PathBuf,
}
