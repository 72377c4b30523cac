//! What no tool shows, roots or not: folders of secrets, and what `--deny` names.
//!
//! Paths are looked at as they are on disk, links resolved, so that no other spelling leads there.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::ToolError;

/// Where programs keep secrets, below the home folder.
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

/// Files and folders that are hidden from the tools, with all that is in them.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    places: Vec<PathBuf>,
    globs: Vec<globset::Glob>,
    set: GlobSet,
}

impl Hidden {
    /// Nothing is hidden.
    pub fn nothing() -> Self {
        Hidden::default()
    }

    /// Hides the [`SECRETS`] below `home`.
    #[must_use]
    pub fn with_secrets_of(mut self, home: &Path) -> Self {
        let real = std::fs::canonicalize(home).ok();
        for home in [Some(home), real.as_deref()].into_iter().flatten() {
            self.places.extend(SECRETS.iter().map(|secret| home.join(secret)));
        }
        self.places.sort();
        self.places.dedup();
        self
    }

    /// Hides what `glob` matches: an absolute glob, or one relative to each of `folders`. The case
    /// of ASCII letters does not count, and `*` does not reach over a slash.
    ///
    /// # Errors
    /// `invalid_input` where it is no glob.
    pub fn with_denied(mut self, glob: &str, folders: &[&Path]) -> Result<Self, ToolError> {
        let glob = glob.trim_end_matches('/');
        let globs: Vec<String> = if Path::new(glob).is_absolute() {
            vec![glob.to_owned()]
        } else {
            let below = |folder: &&Path| {
                let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
                let folder = globset::escape(&real.to_string_lossy());
                format!("{}/{glob}", folder.trim_end_matches('/'))
            };
            folders.iter().map(below).collect()
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

    /// The files and folders that are hidden by their path.
    pub(crate) fn places(&self) -> &[PathBuf] {
        &self.places
    }

    /// What `--deny` names, links in it resolved as far as there is no wildcard before.
    pub(crate) fn globs(&self) -> &[globset::Glob] {
        &self.globs
    }

    /// Whether there is anything to hide.
    pub(crate) fn is_nothing(&self) -> bool {
        self.places.is_empty() && self.globs.is_empty()
    }

    /// Whether something below the folder at `real` may be hidden.
    pub(crate) fn concerns(&self, real: &Path) -> bool {
        !self.globs.is_empty() || self.places.iter().any(|place| place.starts_with(real))
    }

    /// Whether the entry at `real` is hidden; what leads to it was asked about before.
    pub(crate) fn hides(&self, real: &Path) -> bool {
        self.places.iter().any(|place| place == real) || self.set.is_match(real)
    }

    /// Whether the entry at `real`, or anything that leads to it, is hidden.
    pub(crate) fn hides_way_to(&self, real: &Path) -> bool {
        self.places.iter().any(|place| real.starts_with(place))
            || (!self.set.is_empty() && real.ancestors().any(|path| self.set.is_match(path)))
    }
}
