//! One module for each subcommand.

pub(crate) mod bash;
pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod find_files;
pub(crate) mod grep_files;
pub(crate) mod limits;
pub(crate) mod list_dir;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod read;
pub(crate) mod setup;
pub(crate) mod stats;
mod tool_runner;
pub(crate) mod tools;
