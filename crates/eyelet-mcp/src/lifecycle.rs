//! Start and shutdown of a server, the same for stdio and HTTP.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use eyelet::ToolRouter;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::options::Options;
use crate::server::Server;

/// After a shutdown begins, calls have this long to stop and to write their replies.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1700);

/// Runs `serve` on a runtime of its own until it returns, then removes the server's files.
pub(crate) fn run_server(
    options: Options,
    router: ToolRouter,
    serve: impl AsyncFnOnce(Arc<Server>) -> io::Result<()>,
) -> io::Result<()> {
    // Otherwise a child of the same user could open stdin, stdout and the token through /proc.
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    let spill = Arc::clone(&options.spill);
    let server = Server::new(options, router);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serve(server));
    runtime.shutdown_background();
    spill.close();
    served
}

/// Waits for SIGTERM, SIGHUP or SIGINT.
pub(crate) async fn wait_for_signal() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// Cancels every call and waits until all have returned, at most until `deadline`.
pub(crate) async fn cancel_calls(server: &Server, deadline: Instant) {
    server.in_flight.cancel_all();
    while !server.in_flight.is_empty() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
