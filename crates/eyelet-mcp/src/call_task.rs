//! One tool call: runs it on a pool thread, reports progress, passes on a cancel.

use std::sync::Arc;
use std::time::{Duration, Instant};

use eyelet::{
    ErrorCode, FunctionCallError, Load, Progress, ToolError, ToolInvocation, TurnContext,
};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ProgressNotificationParam};
use rmcp::service::RequestContext;
use tokio::sync::oneshot;

use crate::metrics::Outcome;
use crate::reply::{self, Reply};
use crate::server::Server;

/// How often progress is reported. Clients that time out wait at least five seconds.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// A call to run.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: String,
    pub(crate) turn: TurnContext,
    pub(crate) load: Load,
    /// What the tool counts, for progress messages.
    pub(crate) counts: &'static str,
}

/// Runs the call to its end.
pub(crate) async fn run(
    server: &Arc<Server>,
    call: Call,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    let start = Instant::now();
    let name = call.tool;
    let (counts, progress) = (call.counts, Progress::default());
    let failed = |error| reply::render(Err(error), server.options.reply);
    let reply = match start_call(server, call, &progress) {
        Ok((reply, flag)) => {
            let reporting = report_progress(context, &progress, counts, start);
            let waiting = async {
                tokio::select! {
                    // The reply first: no progress may follow it.
                    biased;
                    reply = reply => reply.map_err(|_| lost()),
                    () = reporting => Err(lost()),
                }
            };
            let mut waiting = std::pin::pin!(waiting);
            tokio::select! {
                reply = &mut waiting => reply,
                () = context.ct.cancelled() => {
                    flag.cancel();
                    waiting.await
                }
            }
            .unwrap_or_else(failed)
        }
        Err(error) => failed(error),
    };
    let Reply { result, is_error, shown, withheld } = reply;
    server.metrics.add(name, &Outcome { time: start.elapsed(), is_error, shown, withheld });
    result
}

/// Hands the call to a pool thread. Returns the receiver of its reply and the flag that cancels it.
fn start_call(
    server: &Arc<Server>,
    call: Call,
    progress: &Progress,
) -> Result<(oneshot::Receiver<Reply>, eyelet::CancelFlag), FunctionCallError> {
    let (sender, receiver) = oneshot::channel();
    let in_flight = server.in_flight.register();
    let flag = in_flight.cancel_flag().clone();
    let turn = call.turn.with_cancel(flag.clone()).with_progress(progress.clone());
    let (form, shared) = (server.options.reply, Arc::clone(server));
    let (tool, arguments) = (call.tool, call.arguments);
    let work = move || {
        let outcome = shared.router.call(&ToolInvocation::new(tool, arguments, &turn));
        let reply = reply::render(outcome, form);
        // Release the server before the reply: a client may end it as soon as it has the reply.
        drop((turn, in_flight, shared));
        // The receiver is gone if the session has ended.
        let _ = sender.send(reply);
    };
    if server.pool.run(call.load, work).is_err() {
        let message = "too many calls wait already; call again when some of them have answered";
        return Err(ToolError::new(ErrorCode::Busy, message).into());
    }
    Ok((receiver, flag))
}

fn lost() -> FunctionCallError {
    FunctionCallError::Fatal("the call ended without an answer".to_owned())
}

/// Reports progress until it is dropped, if the client asked for it.
async fn report_progress(
    context: &RequestContext<RoleServer>,
    progress: &Progress,
    counts: &str,
    start: Instant,
) {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(PROGRESS_INTERVAL).await;
        let seconds = start.elapsed().as_secs();
        let message = match progress.count() {
            // The program `rg` reports no counts.
            0 => format!("{seconds} s"),
            count => format!("{count} {counts}, {seconds} s"),
        };
        let report = ProgressNotificationParam::new(token.clone(), seconds as f64);
        // The transport notices a closed connection.
        let _ = context.peer.notify_progress(report.with_message(message)).await;
    }
}
