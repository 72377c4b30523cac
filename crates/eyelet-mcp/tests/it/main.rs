//! The MCP server, through the real binary.

// Lints then treat the helpers here as test code.
#![cfg(test)]

mod http;
mod progress;
mod session;
mod stdio;
