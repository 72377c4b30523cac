//! The command line through the real binary.

// So that the lints take the helpers here for tests as well.
#![cfg(test)]

mod bash;
mod call;
mod flags;
mod grep_files;
mod help;
mod list_dir;
mod mcp;
mod mcp_client;
mod mcp_http;
mod mcp_wire;
mod pages;
mod read;
mod run;
mod terminal;
mod usage;
mod writing;
