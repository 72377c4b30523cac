//! The server over stdin and stdout, from start to shutdown.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use eyelet::ToolRouter;
use rmcp::service::{ServerInitializeError, serve_server};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use crate::log;
use crate::options::Options;
use crate::server::{SHUTDOWN_TIMEOUT, Server, wait_for_signal};
use crate::session::Session;
use crate::stdio_transport::{ConnectionEnd, StdioTransport, take_over_stdio};
use crate::thread_pool::Sharing;

/// When the input ends, calls have this long to finish before they are cancelled.
const FINISH_TIMEOUT: Duration = Duration::from_millis(500);

/// Serves the tools of `router` over stdin and stdout until the input ends or the process receives
/// SIGTERM, SIGHUP or SIGINT.
///
/// # Errors
/// Fails if the process cannot duplicate its descriptors or create the runtime.
pub fn serve_stdio(options: Options, router: ToolRouter) -> io::Result<()> {
    let (input, output) = take_over_stdio()?;
    Server::new(options, router, Sharing::OneSession).run(async |server| {
        let (end_sender, mut end) = mpsc::unbounded_channel();
        let transport = StdioTransport::start(input, output, end_sender);
        let session = Session::new(Arc::clone(&server));
        tokio::spawn(run_sessions(session, transport.clone()));
        let (cause, reason) = tokio::select! {
            cause = end.recv() => (cause, "the client closed the connection"),
            signal = wait_for_signal() => (None, signal?),
        };
        log::shutdown(reason, server.in_flight.len());
        shut_down(&server, &transport, cause).await;
        Ok(())
    })
}

/// Runs one session after the other: after a failed handshake the client may try again.
pub(crate) async fn run_sessions(session: Session, transport: StdioTransport) {
    loop {
        match serve_server(session.clone(), transport.clone()).await {
            Ok(running) => drop(running.waiting().await),
            Err(ServerInitializeError::Cancelled) => return,
            Err(_) => {}
        }
    }
}

/// Lets calls finish if the client still reads, then cancels the rest.
async fn shut_down(server: &Server, transport: &StdioTransport, cause: Option<ConnectionEnd>) {
    let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
    if cause == Some(ConnectionEnd::EndOfInput) {
        // The session has ended, and with it its jobs; a call may wait for one.
        server.jobs.stop_all_sessions();
        tokio::select! {
            _ = timeout(FINISH_TIMEOUT, transport.all_answered()) => {}
            _ = wait_for_signal() => {}
        }
    }
    server.cancel_calls(deadline).await;
    if cause != Some(ConnectionEnd::OutputClosed) {
        let _ = timeout_at(deadline, transport.all_answered()).await;
    }
}
