//! The eyelet tools as a server of the Model Context Protocol.
//!
//! A line or a request comes in (`wire`, `message`, `http`), `rmcp` speaks the protocol, `session`
//! answers it: it finds the roots (`roots`), runs the call on a thread of its kind (`pool`) within
//! the client's reply budget (`client`), and renders the answer (`reply`). Over the wire that thread
//! writes the answer itself (`outbox`). How a server begins and ends is the same for both wires
//! (`life`). Nothing here knows how a tool works, and nothing outside
//! knows the protocol.

mod calls;
mod client;
mod http;
mod life;
mod message;
mod metrics;
mod outbox;
mod pool;
mod reply;
mod roots;
mod run;
mod session;
mod splitter;
mod stdio;
mod token;
mod wire;

use std::sync::Arc;

use eyelet::{OutputStore, PathScope, Root, ToolDefinition, ToolRouter, TurnContext};

pub use http::{Http, serve_http};
pub use stdio::serve_stdio;
pub use token::Token;

/// How a server runs.
#[derive(Debug)]
pub struct Options {
    /// The surroundings of every call, without roots.
    pub turn: TurnContext,
    /// The folder of this server, removed when it ends.
    pub spill: Arc<OutputStore>,
    /// The directories that calls are confined to; a client's roots can only narrow them.
    pub ceiling: Vec<Arc<Root>>,
    /// Whether tools that take a path are confined at all.
    pub reach: PathScope,
    /// Whether the working directory was asked for.
    pub working_directory: WorkingDirectory,
    /// The form of replies.
    pub reply: ReplyForm,
    /// The reply budget in bytes; by default it depends on the client.
    pub reply_bytes: Option<usize>,
}

/// Whether the working directory was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkingDirectory {
    /// It stays, whatever the roots are.
    Asked,
    /// Where it lies outside the roots, the first of them takes its place.
    Inherited,
}

/// The form of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyForm {
    /// Text for a model, within the client's budget.
    #[default]
    Text,
    /// The JSON envelope as text, for hosts that parse.
    Envelope,
    /// The JSON envelope as structured content, for programs.
    Structured,
}

/// What all sessions of a server share.
struct Shared {
    options: Options,
    router: ToolRouter,
    /// What the router's tools say of themselves: they make it anew for everyone who asks.
    tools: Vec<ToolDefinition>,
    pool: pool::Pool,
    calls: calls::Calls,
    metrics: metrics::Metrics,
}

impl Shared {
    fn new(options: Options, router: ToolRouter) -> Arc<Self> {
        let tools = router.definitions();
        let metrics = metrics::Metrics::new(tools.iter().map(|tool| tool.name));
        let pool = pool::Pool::new();
        Arc::new(Shared { options, router, tools, pool, calls: calls::Calls::default(), metrics })
    }
}
