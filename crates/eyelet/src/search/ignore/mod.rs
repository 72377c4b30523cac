//! Which files a search skips: ripgrep's ignore rules and the files they are loaded from.

pub(crate) mod git_excludes;
pub(crate) mod load_rules;
pub(crate) mod rules;
