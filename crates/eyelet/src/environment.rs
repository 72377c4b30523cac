//! The environment variables of a turn.

use std::ffi::{OsStr, OsString};

/// Environment variables that the host provides. The library never reads the process's own.
#[derive(Clone, Debug, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// The value of a variable, unless it is unset or empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(key, value)| (key.as_os_str(), value.as_os_str()))
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Environment(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}
