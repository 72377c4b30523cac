//! The command line through the real binary.

mod call;
mod flags;
mod help;
mod list_dir;
mod pages;
mod read;
mod run;
mod terminal;
mod usage;
mod writing;
