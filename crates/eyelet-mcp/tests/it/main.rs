//! The MCP server, through the real binary.

// Lints then treat the helpers here as test code.
#![cfg(test)]

mod fairness;
mod helper_programs;
mod http;
mod http_client;
mod http_sessions;
mod jobs;
mod logs;
mod nginx;
mod progress;
mod roots;
mod session;
mod stdio;
