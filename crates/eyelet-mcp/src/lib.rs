//! The eyelet tools as a server of the Model Context Protocol.
//!
//! # A call over stdio
//!
//! 1. `stdio_transport` reads stdin; `line_codec` splits it into lines, `message` parses each one.
//! 2. `rmcp` dispatches the message to `session`, which applies the client's `roots` and reply size
//!    (`client_budget`).
//! 3. `call_task` runs the tool on a `thread_pool` thread and renders the outcome (`reply`).
//! 4. `stdout_writer` writes the reply; `open_requests` knows which requests have none yet.
//!
//! Over HTTP, `http` takes the place of steps 1 and 4, and `token` holds the bearer token. Both share
//! `server` (state of all sessions), `lifecycle` (start, signals, shutdown), `in_flight` (cancelling
//! every call) and `metrics`. No module here knows how a tool works.

mod call_task;
mod client_budget;
mod error_text;
mod http;
mod in_flight;
mod lifecycle;
mod line_codec;
mod message;
mod metrics;
mod open_requests;
mod options;
mod reply;
mod roots;
mod server;
mod session;
mod stdio;
mod stdio_transport;
mod stdout_writer;
mod thread_pool;
mod token;

pub use error_text::{error_text, hint_text};
pub use http::{Http, serve_http};
pub use options::{Options, ReplyForm, WorkingDirectory};
pub use stdio::serve_stdio;
pub use token::Token;
