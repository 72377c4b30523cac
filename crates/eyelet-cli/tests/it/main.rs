//! The command line through the real binary.

// So that the lints take the helpers here for tests as well.
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
mod mcp;
mod mcp_calls;
mod mcp_client;
mod mcp_http;
mod mcp_wire;
mod pages;
mod read;
mod run;
mod sandbox;
mod sandbox_files;
#[cfg(target_os = "linux")]
mod sandbox_git;
#[cfg(target_os = "linux")]
mod sandbox_load;
#[cfg(target_os = "linux")]
mod sandbox_network;
mod sandbox_processes;
#[cfg(target_os = "linux")]
mod sandbox_rounds;
#[cfg(target_os = "linux")]
mod sandbox_surroundings;
#[cfg(target_os = "linux")]
mod sandbox_undo;
mod sandbox_work;
mod setup;
mod setup_check;
mod setup_styles;
mod setup_write;
mod terminal;
mod usage;
mod writing;
