//! The life of a server, whichever way it is reached: its runtime, the signals that end it, and
//! what is gone when it has ended.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use eyelet::ToolRouter;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::{Options, Shared};

/// All calls are stopped, and their answers written, within this time of the end.
pub(crate) const END_TIME: Duration = Duration::from_millis(1700);

/// Serves as `serve` does until that ends; then nothing of the server is left.
pub(crate) fn live(
    options: Options,
    router: ToolRouter,
    serve: impl AsyncFnOnce(Arc<Shared>) -> io::Result<()>,
) -> io::Result<()> {
    // A child of the same user could reach the wire and the token through /proc otherwise.
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    let spill = Arc::clone(&options.spill);
    let shared = Shared::new(options, router);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serve(shared));
    runtime.shutdown_background();
    spill.close();
    served
}

/// Waits for a signal that ends the server.
pub(crate) async fn told_to_end() -> io::Result<()> {
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

/// Stops every call and waits until none is left, at most until `end`.
pub(crate) async fn stop_calls(shared: &Shared, end: Instant) {
    shared.calls.cancel_all();
    while !shared.calls.is_idle() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
