//! The state that all sessions of a server share.

use std::sync::Arc;

use eyelet::{ToolDefinition, ToolRouter};

use crate::in_flight::InFlight;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::thread_pool::ThreadPool;

/// The state that all sessions of a server share.
pub(crate) struct Server {
    pub(crate) options: Options,
    pub(crate) router: ToolRouter,
    /// Cached, because the router builds its definitions anew on every request.
    pub(crate) tools: Vec<ToolDefinition>,
    pub(crate) pool: ThreadPool,
    pub(crate) in_flight: InFlight,
    pub(crate) metrics: Metrics,
}

impl Server {
    pub(crate) fn new(options: Options, router: ToolRouter) -> Arc<Self> {
        let tools = router.definitions();
        let metrics = Metrics::new(tools.iter().map(|tool| tool.name));
        let (pool, in_flight) = (ThreadPool::new(), InFlight::default());
        Arc::new(Server { options, router, tools, pool, in_flight, metrics })
    }
}
