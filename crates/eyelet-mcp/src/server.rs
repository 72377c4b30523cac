//! The state that all sessions of a server share, and its start and shutdown.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use eyelet::{Jobs, ToolDefinition, ToolRouter, TurnContext};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::fair_queue::SessionNumber;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::thread_pool::{InFlight, Sharing, ThreadPool};

/// After a shutdown begins, calls have this long to stop and to write their replies.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1700);

/// The state that all sessions of a server share.
pub(crate) struct Server {
    pub(crate) options: Options,
    pub(crate) router: ToolRouter,
    /// Cached, because the router builds the definitions on every request.
    pub(crate) tools: Vec<ToolDefinition>,
    pub(crate) pool: ThreadPool,
    pub(crate) in_flight: InFlight,
    /// No jobs: each session has its own, which share the limits of this.
    pub(crate) jobs: Jobs,
    /// How many sessions there were.
    sessions: AtomicU64,
    /// Only over HTTP: a client cannot request metrics over stdio.
    pub(crate) metrics: Option<Metrics>,
}

impl Server {
    pub(crate) fn new(options: Options, router: ToolRouter, sharing: Sharing) -> Self {
        options.turn.locate_programs();
        let tools = router.definitions_in(&options.turn);
        let (pool, in_flight) = (ThreadPool::new(sharing), InFlight::default());
        let (jobs, sessions) = (Jobs::new(), AtomicU64::default());
        Server { options, router, tools, pool, in_flight, jobs, sessions, metrics: None }
    }

    /// The number of a new session, counting from 1.
    pub(crate) fn next_session(&self) -> SessionNumber {
        self.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn with_metrics(mut self) -> Self {
        self.metrics = Some(Metrics::new(self.tools.iter().map(|tool| tool.name)));
        self
    }

    /// Runs `serve` on a runtime of its own until it returns, then removes the server's files.
    pub(crate) fn run(
        self,
        serve: impl AsyncFnOnce(Arc<Server>) -> io::Result<()>,
    ) -> io::Result<()> {
        // Otherwise a child of the same user could open stdin, stdout and the token through /proc.
        #[cfg(target_os = "linux")]
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
        let server = Arc::new(self);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let served = runtime.block_on(serve(Arc::clone(&server)));
        // Drops the sessions, and with them their directories.
        runtime.shutdown_background();
        server.options.turn.end_session();
        served
    }

    /// The context of a new session, without roots.
    pub(crate) fn session_context(&self, jobs: Arc<Jobs>) -> TurnContext {
        self.options.turn.for_another_session().with_jobs(jobs)
    }

    /// Cancels every call, kills every job, and waits until all have ended, at most until `deadline`.
    pub(crate) async fn cancel_calls(&self, deadline: Instant) {
        self.in_flight.cancel_all();
        self.jobs.stop_all_sessions();
        let is_idle = || self.in_flight.len() == 0 && self.jobs.running_in_all_sessions() == 0;
        while !is_idle() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// Waits for SIGTERM, SIGHUP or SIGINT. Returns its name.
pub(crate) async fn wait_for_signal() -> io::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = hang_up.recv() => "SIGHUP",
        _ = interrupt.recv() => "SIGINT",
    })
}
