//! The environment variables of a turn.

use std::ffi::{OsStr, OsString};

/// Environment variables that the host provides.
///
/// The library never reads the variables of its own process, because they may contain secrets such
/// as API keys. To give its own variables to commands, a host passes them explicitly:
///
/// ```
/// use eyelet::Environment;
///
/// let environment: Environment = std::env::vars_os().collect();
/// ```
#[derive(Clone, Debug)]
pub struct Environment(Vec<(OsString, OsString)>);

/// `PATH` with the system's program directories, and `LANG` for UTF-8.
impl Default for Environment {
    fn default() -> Self {
        [("PATH", DEFAULT_PATH), ("LANG", "C.UTF-8")].into_iter().collect()
    }
}

/// The program directories of the system, for an environment without `PATH`.
pub(crate) const DEFAULT_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl Environment {
    /// Creates an environment without variables.
    pub fn empty() -> Self {
        Environment(Vec::new())
    }

    /// Returns the value of a variable, or `None` if the variable is unset or empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// Returns the names and values of all variables.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(key, value)| (key.as_os_str(), value.as_os_str()))
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Environment(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}
