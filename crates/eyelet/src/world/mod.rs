//! All contact with the system. A path comes in as a [`confine::ConfinedPath`], never as a string.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that opens files, starts processes and asks the system"
)]

pub(crate) mod confine;
pub(crate) mod dir;
pub(crate) mod file;
mod git_config;
mod group;
mod private;
pub(crate) mod process;
mod program;
pub(crate) mod ripgrep;
mod rule_files;
mod rules;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod spill;
pub(crate) mod stream;
mod walk;
