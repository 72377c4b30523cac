//! The MCP server, through the real binary.

// So that the lints treat the helpers here as test code as well.
#![cfg(test)]

mod http;
mod progress;
mod session;
mod stdio;
