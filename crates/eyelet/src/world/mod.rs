//! All contact with the system. A path comes in as a [`confine::ConfinedPath`], never as a string.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that opens files, starts processes and asks the system"
)]

mod beneath;
mod candidate;
pub(crate) mod confine;
mod crew;
mod denied;
pub(crate) mod descent;
pub(crate) mod dir;
pub(crate) mod file;
mod git_config;
mod group;
pub(crate) mod hidden;
mod hunt;
mod listing;
mod long_line;
mod look;
pub(crate) mod nested;
mod pace;
mod private;
pub(crate) mod private_temp;
pub(crate) mod process;
mod program;
mod query;
pub(crate) mod ripgrep;
mod rule_files;
mod rules;
pub(crate) mod sandbox;
pub(crate) mod scan;
pub(crate) mod search;
mod sink;
pub(crate) mod spill;
pub(crate) mod stream;
mod supervised;
mod walk;
