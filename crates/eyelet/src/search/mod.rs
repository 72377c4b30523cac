//! Finds files by content or by name, newest first.

#![expect(clippy::disallowed_methods, reason = "reads files and starts rg")]

pub(crate) mod deferred_storage;
pub(crate) mod embedded;
pub(crate) mod entry_names;
pub(crate) mod find_names;
pub(crate) mod goal;
pub(crate) mod ignore;
pub(crate) mod listing_rules;
pub(crate) mod long_lines;
pub(crate) mod match_file;
pub(crate) mod newest_first;
pub(crate) mod outcome;
pub(crate) mod page_lines;
pub(crate) mod query;
pub(crate) mod regex_limits;
pub(crate) mod rg_process;
pub(crate) mod target;
pub(crate) mod walk;
pub(crate) mod work_queue;
