//! The command line, through the real binary.

// So that the lints treat the helpers here as test code as well.
#![cfg(test)]

mod bash;
mod call;
mod clients;
mod config;
mod doctor;
mod flags;
mod grep_files;
mod help;
mod list_dir;
mod pages;
mod read;
mod setup;
mod setup_check;
mod setup_styles;
mod setup_write;
mod terminal;
mod usage;
mod writing;
