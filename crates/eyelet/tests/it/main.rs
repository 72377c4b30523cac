//! Tests of the public API of the library, at least one per rule of SPEC.md.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that panics is a test that fails"
)]

mod arguments;
mod ask;
mod bash;
mod bash_arguments;
mod bash_jobs;
mod bash_processes;
mod bash_saved_output;
mod bash_terminal;
mod budget;
mod deny_list;
mod examples;
mod facts;
mod find_files;
mod grep_differential;
mod grep_files;
mod grep_hostile;
mod grep_lines;
mod grep_lines_differential;
mod grep_rules;
mod host_tools;
mod hostile_files;
mod hostile_paths;
mod image_files;
mod images;
mod list_dir;
mod models;
mod names;
mod paths;
mod properties;
// Exchanging two directories in one step needs support by the system.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod races;
mod read;
mod read_binary;
mod read_encodings;
mod read_near_misses;
mod read_tail;
mod router;
mod schemas;
mod searching;
