//! The library's integration tests, one binary.

mod grep_differential;
mod grep_files;
mod grep_hostile;
mod grep_rules;
mod searching;
