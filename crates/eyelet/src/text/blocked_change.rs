//! Changes of protected settings that git reports as failed, with exit code 0.

use std::path::Path;

/// What git prints before the path of a file that it cannot replace.
const BEFORE: &[&str] = &["unable to unlink old '", "unable to unlink '", "unable to create file "];
/// Why the sandbox refuses it: a mount point, or a read-only mount.
const REASONS: &[&str] = &["Device or resource busy", "Read-only file system"];

/// The first of these paths, or a path in one of them, that git could not change, as git names it.
pub(crate) fn find<'s>(stderr: &'s str, protected: &[&str]) -> Option<&'s str> {
    stderr.lines().find_map(|line| {
        let (before, reason) = line.rsplit_once(": ")?;
        let (_, path) = BEFORE.iter().find_map(|words| before.split_once(words))?;
        let path = path.trim_end_matches('\'');
        let is_protected = protected.iter().any(|one| Path::new(path).starts_with(one));
        (is_protected && REASONS.contains(&reason)).then_some(path)
    })
}

/// Whether a command names the program git, and not only a path such as `.git/config`.
pub(crate) fn names_git(command: &str) -> bool {
    let ends_word = |char: char| char.is_whitespace() || ";&|()`'\"".contains(char);
    command
        .split(ends_word)
        .any(|word| Path::new(word).file_name().is_some_and(|name| name == "git"))
}

#[cfg(test)]
#[path = "blocked_change_tests.rs"]
mod tests;
