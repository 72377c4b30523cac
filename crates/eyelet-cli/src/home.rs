//! The user's home directory and the directories for settings in it.

use std::env;
use std::path::PathBuf;

use crate::failure::Failure;

/// The user's home directory, and the directories that depend on it.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) path: PathBuf,
}

impl Home {
    pub(crate) fn find() -> Result<Self, Failure> {
        let path = absolute_variable("HOME").ok_or_else(|| {
            Failure::usage(
                "cannot locate the user's config files: HOME is not set or not an absolute path; set HOME to your home \
                 directory",
            )
        })?;
        Ok(Home { path })
    }

    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    pub(crate) fn config(&self) -> PathBuf {
        absolute_variable("XDG_CONFIG_HOME").unwrap_or_else(|| self.path.join(".config"))
    }

    /// The settings directory of a desktop application.
    pub(crate) fn applications(&self, program: &str) -> PathBuf {
        if cfg!(target_os = "macos") {
            return self.path.join("Library/Application Support").join(program);
        }
        self.config().join(program)
    }

    /// The settings directory of Zed, which ignores `$XDG_CONFIG_HOME` on macOS.
    pub(crate) fn zed(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            return self.path.join(".config/zed");
        }
        self.config().join("zed")
    }

    /// The directory in `variable`, else `folder` in the home directory.
    pub(crate) fn or_variable(&self, variable: &str, folder: &str) -> PathBuf {
        absolute_variable(variable).unwrap_or_else(|| self.path.join(folder))
    }

    /// `folder` in the directory in `variable`, else in the home directory.
    pub(crate) fn or_variable_with(&self, variable: &str, folder: &str) -> PathBuf {
        absolute_variable(variable).unwrap_or_else(|| self.path.clone()).join(folder)
    }
}

/// The home directories of this user: `$HOME`, and the home directory in the user database, which
/// `ssh` and other programs use.
pub(crate) fn all() -> Vec<PathBuf> {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid());
    let own = user.ok().flatten().map(|user| user.dir).filter(|path| path.is_absolute());
    let mut homes: Vec<_> = absolute_variable("HOME").into_iter().chain(own).collect();
    homes.dedup();
    homes
}

/// The directory for eyelet's caches: in `$XDG_CACHE_HOME`, else in `~/.cache`.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let in_home = || all().into_iter().next().map(|home| home.join(".cache"));
    absolute_variable("XDG_CACHE_HOME").or_else(in_home).map(|caches| caches.join("eyelet"))
}

/// The directory for what eyelet keeps between its runs: in `$XDG_STATE_HOME`, else in `~/.local/state`.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let in_home = || all().into_iter().next().map(|home| home.join(".local/state"));
    absolute_variable("XDG_STATE_HOME").or_else(in_home).map(|states| states.join("eyelet"))
}

fn absolute_variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
