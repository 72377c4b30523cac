//! The user's settings of npm, without credentials.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::text::url_credentials::has_credentials;

/// Nobody has more settings.
const MAX_BYTES: u64 = 1024 * 1024;

/// Parts of the names of settings that hold credentials.
const SECRET_PARTS: &[&str] =
    &["auth", "cert", "email", "key", "otp", "passw", "secret", "token", "username"];

/// The settings file of the user, without the lines that hold credentials. None if there is none.
pub(crate) fn without_credentials(environment: &Environment) -> Option<String> {
    let file = std::fs::File::open(file(environment)?).ok()?;
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    Some(filter(&String::from_utf8_lossy(&text)))
}

fn file(environment: &Environment) -> Option<PathBuf> {
    let given = environment.get("NPM_CONFIG_USERCONFIG");
    let given = given.or_else(|| environment.get("npm_config_userconfig"));
    let home = || environment.get("HOME").map(|home| Path::new(home).join(".npmrc"));
    given.map(PathBuf::from).or_else(home)
}

fn filter(text: &str) -> String {
    text.lines().filter(|line| !is_secret(line)).flat_map(|line| [line, "\n"]).collect()
}

fn is_secret(line: &str) -> bool {
    let (name, value) = line.split_once('=').unwrap_or((line, ""));
    let name = name.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
    // Settings of a single registry, which are its credentials.
    let is_of_registry = name.starts_with("//");
    let is_secret_name = SECRET_PARTS.iter().any(|part| name.contains(part));
    is_of_registry || is_secret_name || has_credentials(value)
}

#[cfg(test)]
#[path = "npm_settings_tests.rs"]
mod tests;
