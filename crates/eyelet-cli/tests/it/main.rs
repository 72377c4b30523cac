//! The command line, through the real binary.

// Makes the lints treat the helpers here as test code.
#![cfg(test)]

mod bash;
mod bash_live;
mod call;
mod clients;
mod config;
mod deploy;
mod doc_examples;
mod doc_pages;
mod doctor;
mod find_files;
mod flags;
mod grep_files;
mod help;
mod http_notes;
mod interface_size;
mod list_dir;
mod pages;
mod read;
mod setup;
mod setup_check;
mod setup_flags;
mod setup_projects;
mod setup_styles;
mod setup_write;
mod stats;
mod stats_page;
mod terminal;
mod usage;
mod writing;
