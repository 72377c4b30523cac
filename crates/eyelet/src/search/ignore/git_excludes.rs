//! Finds the user's global git excludes, using the turn's environment.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use grep_matcher::{Captures as _, Matcher as _};
use grep_regex::RegexMatcherBuilder;

use crate::environment::Environment;

/// A larger configuration file is not read.
const MAX_CONFIG_BYTES: usize = 1024 * 1024;

/// The path of `core.excludesFile` or its default. The file may not exist.
///
/// `read` returns a file of at most the given size, or none.
pub(crate) fn excludes_path(
    environment: &Environment,
    read: impl Fn(&Path, usize) -> Option<Vec<u8>>,
) -> Option<PathBuf> {
    let home = environment.get("HOME").map(Path::new);
    let config_home = environment
        .get("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| home.map(|home| home.join(".config")));
    let system = environment.get("GIT_CONFIG_SYSTEM").unwrap_or(OsStr::new("/etc/gitconfig"));
    let files = [
        environment.get("GIT_CONFIG_GLOBAL").map(PathBuf::from),
        home.map(|home| home.join(".gitconfig")),
        config_home.as_ref().map(|folder| folder.join("git/config")),
        Some(PathBuf::from(system)),
    ];
    files
        .iter()
        .flatten()
        .filter_map(|file| read(file, MAX_CONFIG_BYTES))
        .find_map(|config| excludes_file(&config, home))
        .or_else(|| config_home.map(|folder| folder.join("git/ignore")))
}

/// The setting's name, in lower case.
const SETTING: &[u8] = b"excludesfile";

/// The value of `excludesfile`. Like ripgrep, it searches for the line in any section.
fn excludes_file(config: &[u8], home: Option<&Path>) -> Option<PathBuf> {
    // Few files contain it, and compiling the pattern takes longer than searching a small tree.
    if !config.windows(SETTING.len()).any(|text| text.eq_ignore_ascii_case(SETTING)) {
        return None;
    }
    let line = RegexMatcherBuilder::new()
        .multi_line(true)
        .case_insensitive(true)
        .unicode(false)
        .build(r#"^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$"#)
        .ok()?;
    let mut captures = line.new_captures().ok()?;
    line.captures(config, &mut captures).ok()?;
    let value = captures.get(1)?;
    let value = std::str::from_utf8(config.get(value.start()..value.end())?).ok()?;
    Some(match home {
        Some(home) => PathBuf::from(value.replace('~', &home.to_string_lossy())),
        None => PathBuf::from(value),
    })
}

#[cfg(test)]
#[path = "git_excludes_tests.rs"]
mod tests;
