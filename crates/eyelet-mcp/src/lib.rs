//! The eyelet tools as a server of the Model Context Protocol (MCP).
//!
//! [`serve_stdio`] serves one client over stdin and stdout; [`serve_http`] serves clients over HTTP. Both
//! take [`Options`] and an [`eyelet::ToolRouter`], which may contain tools of the host.
//!
//! # A call over stdio
//!
//! 1. `stdio_transport` reads stdin; `message` splits the input into lines and parses each line.
//! 2. `rmcp` dispatches the message to `session`, which applies the client's `roots` and its limit for
//!    the size of replies.
//! 3. `call_task` runs the tool on a thread of `thread_pool` and renders the reply.
//! 4. `stdio_transport` writes the reply to stdout.
//!
//! `serve_stdio` starts and stops these parts. Over HTTP, `serve_http` replaces `serve_stdio` and
//! `stdio_transport`, `token` holds the bearer token, and `metrics` counts calls. `server` holds
//! the state of all sessions and runs until it receives a signal. No module of this crate depends
//! on how a tool works, except that `record` knows the names of path arguments.
//!
//! # Logs and records
//!
//! The server emits `tracing` events: one per session, call, refused request and shutdown. The
//! events contain numbers, names of tools and error codes, but no contents, arguments or secrets.
//! To receive the events, a host installs a `tracing` subscriber. [`Options::record`] appends one
//! line of JSON per call to a file ([`CallRecord`]).

mod call_log;
mod call_summary;
mod call_task;
mod client_limits;
mod error_text;
mod event_memory;
mod fair_queue;
mod http_sessions;
#[cfg(feature = "_internals")]
#[doc(hidden)]
pub mod internals;
mod log;
mod message;
mod metrics;
mod options;
mod record;
mod roots;
mod serve_http;
mod serve_stdio;
mod server;
mod session;
mod stdio_transport;
mod thread_pool;
mod token;

pub use error_text::{error_text, hint_text};
pub use log::RESTORED_TARGET;
pub use options::{Options, ReplyForm, WorkingDirectory};
pub use record::{CallRecord, Record};
pub use serve_http::{Http, serve_http};
pub use serve_stdio::serve_stdio;
pub use token::Token;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
