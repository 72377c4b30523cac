//! One tool call: runs it on a pool thread, reports progress, passes on a cancel.

use std::sync::Arc;
use std::time::{Duration, Instant};

use eyelet::{
    ErrorCode, FunctionCallError, Load, Progress, ToolError, ToolInvocation, TurnContext,
};
use rmcp::model::{CallToolResult, ProgressNotificationParam, RequestId};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::oneshot;

use crate::metrics::Outcome;
use crate::reply::{self, Reply};
use crate::server::Server;
use crate::stdout_writer::{StdoutWriter, already_answered};

/// How often progress is reported. Clients that time out wait at least five seconds.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// A call that took longer is answered through `rmcp`, so that no progress follows its answer.
const DIRECT_ANSWER_TIME: Duration = Duration::from_secs(1);

/// A call to run.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: String,
    pub(crate) turn: TurnContext,
    pub(crate) load: Load,
    /// What the tool counts, for progress messages.
    pub(crate) counts: &'static str,
}

/// Lets the pool thread write the answer itself.
struct DirectAnswer {
    writer: Arc<StdoutWriter>,
    id: RequestId,
    until: Instant,
}

/// Runs the call to its end. If it is quick, its thread writes the answer through `writer`.
pub(crate) async fn run(
    server: &Arc<Server>,
    call: Call,
    context: &RequestContext<RoleServer>,
    writer: Option<&Arc<StdoutWriter>>,
) -> Result<CallToolResult, ErrorData> {
    let start = Instant::now();
    let name = call.tool;
    let (counts, progress) = (call.counts, Progress::default());
    let direct = writer.map(|writer| DirectAnswer {
        writer: Arc::clone(writer),
        id: context.id.clone(),
        until: start + DIRECT_ANSWER_TIME,
    });
    let failed = |error| Answer::from(reply::render(Err(error), server.options.reply));
    let answer = match start_call(server, call, &progress, direct) {
        Ok((answer, flag)) => {
            let reporting = report_progress(context, &progress, counts, start);
            let waiting = async {
                tokio::select! {
                    // The answer first: no progress may follow it.
                    biased;
                    answer = answer => answer.map_err(|_| lost()),
                    () = reporting => Err(lost()),
                }
            };
            let mut waiting = std::pin::pin!(waiting);
            tokio::select! {
                answer = &mut waiting => answer,
                () = context.ct.cancelled() => {
                    flag.cancel();
                    waiting.await
                }
            }
            .unwrap_or_else(failed)
        }
        Err(error) => failed(error),
    };
    let Answer { result, is_error, shown, withheld } = answer;
    server.metrics.add(name, &Outcome { time: start.elapsed(), is_error, shown, withheld });
    result.ok_or_else(already_answered)
}

/// The outcome of a call.
struct Answer {
    /// `None` if the pool thread has written it.
    result: Option<CallToolResult>,
    is_error: bool,
    shown: u64,
    withheld: u64,
}

impl From<Reply> for Answer {
    fn from(Reply { result, is_error, shown, withheld }: Reply) -> Self {
        Answer { result: Some(result), is_error, shown, withheld }
    }
}

/// Hands the call to a pool thread. Returns the receiver of its answer and the flag that cancels it.
fn start_call(
    server: &Arc<Server>,
    call: Call,
    progress: &Progress,
    direct: Option<DirectAnswer>,
) -> Result<(oneshot::Receiver<Answer>, eyelet::CancelFlag), FunctionCallError> {
    let (sender, receiver) = oneshot::channel();
    let in_flight = server.in_flight.register();
    let flag = in_flight.cancel_flag().clone();
    let turn = call.turn.with_cancel(flag.clone()).with_progress(progress.clone());
    let (form, shared) = (server.options.reply, Arc::clone(server));
    let (tool, arguments) = (call.tool, call.arguments);
    let work = move || {
        let outcome = shared.router.call(&ToolInvocation::new(tool, arguments, &turn));
        let reply = reply::render(outcome, form);
        // Release the server before answering: a client may end it as soon as it has the answer.
        drop((turn, in_flight, shared));
        let answer = match direct.filter(|direct| Instant::now() < direct.until) {
            Some(DirectAnswer { writer, id, .. }) => {
                let Reply { result, is_error, shown, withheld } = reply;
                writer.answer(id, result).map(|()| Answer {
                    result: None,
                    is_error,
                    shown,
                    withheld,
                })
            }
            None => Ok(reply.into()),
        };
        // On a failure the sender is dropped, and `run` reports the call as lost.
        if let Ok(answer) = answer {
            let _ = sender.send(answer);
        }
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
