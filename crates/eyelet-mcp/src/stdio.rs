//! The server over stdin and stdout, from its start to its end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use eyelet::ToolRouter;
use rmcp::service::{ServerInitializeError, serve_server};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use crate::life::{END_TIME, live, stop_calls, told_to_end};
use crate::session::Session;
use crate::wire::{self, Wire, WireEnd};
use crate::{Options, Shared};

/// What is under way when the input ends may still finish by itself.
const FINISH_TIME: Duration = Duration::from_millis(500);

/// Serves the tools of `router` over stdin and stdout until the input ends or a signal comes.
///
/// # Errors
/// Where the process's descriptors or threads cannot be had.
pub fn serve_stdio(options: Options, router: ToolRouter) -> io::Result<()> {
    let (input, output) = wire::take_over()?;
    live(options, router, async |shared| {
        let (end_sender, mut end) = mpsc::unbounded_channel();
        let wire = Wire::start(input, output, end_sender)?;
        let session = Session::new(Arc::clone(&shared)).with_outbox(wire.outbox());
        tokio::spawn(converse(session, wire.clone()));
        let cause = tokio::select! {
            cause = end.recv() => cause,
            told = told_to_end() => told.map(|()| None)?,
        };
        finish(&shared, &wire, cause).await;
        Ok(())
    })
}

/// One conversation after the other: one that does not begin as it should is begun again.
async fn converse(session: Session, wire: Wire) {
    loop {
        match serve_server(session.clone(), wire.clone()).await {
            Ok(running) => drop(running.waiting().await),
            Err(ServerInitializeError::Cancelled) => return,
            Err(_) => {}
        }
    }
}

/// Answers what can be answered, then stops the rest.
async fn finish(shared: &Shared, wire: &Wire, cause: Option<WireEnd>) {
    let end = Instant::now() + END_TIME;
    if cause == Some(WireEnd::EndOfInput) {
        let finished = tokio::select! {
            finished = timeout(FINISH_TIME, wire.all_answered()) => finished.is_ok(),
            _ = told_to_end() => false,
        };
        if finished {
            return;
        }
    }
    stop_calls(shared, end).await;
    if cause != Some(WireEnd::Broken) {
        let _ = timeout_at(end, wire.all_answered()).await;
    }
}
