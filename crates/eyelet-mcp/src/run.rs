//! One call: on a thread of its kind, with progress told and a cancel heeded.

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
use crate::outbox::{Outbox, answered};
use crate::reply::{self, Reply};
use crate::{ReplyForm, Shared};

/// How often progress is told. Clients that time out do so after more than five seconds.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// A call that took longer is answered through the protocol, which then tells no more progress of it.
const QUICK: Duration = Duration::from_secs(1);

/// A call that is to run.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: String,
    pub(crate) turn: TurnContext,
    pub(crate) load: Load,
    /// What the tool counts.
    pub(crate) counts: &'static str,
}

/// Where an answer may go without the protocol.
struct FirstHand {
    outbox: Arc<Outbox>,
    id: RequestId,
    until: Instant,
}

/// Runs the call to its end. A quick one answers through `outbox` by itself.
pub(crate) async fn run(
    shared: &Arc<Shared>,
    call: Call,
    context: &RequestContext<RoleServer>,
    outbox: Option<&Arc<Outbox>>,
) -> Result<CallToolResult, ErrorData> {
    let start = Instant::now();
    let name = call.tool;
    let (counts, progress) = (call.counts, Progress::default());
    let first_hand = outbox.map(|outbox| FirstHand {
        outbox: Arc::clone(outbox),
        id: context.id.clone(),
        until: start + QUICK,
    });
    let failed = |error| Answer::from(reply::render(Err(error), shared.options.reply));
    let answer = match begin(shared, call, &progress, first_hand) {
        Ok((answer, flag)) => {
            let telling = tell_progress(context, &progress, counts, start);
            let waiting = async {
                tokio::select! {
                    // Nothing is told of a call that has its answer.
                    biased;
                    answer = answer => answer.map_err(|_| lost()),
                    () = telling => Err(lost()),
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
    shared.metrics.add(name, &Outcome { time: start.elapsed(), is_error, shown, withheld });
    result.ok_or_else(answered)
}

/// What is left to be said of a call.
struct Answer {
    /// Nothing where the client has it.
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

/// Hands the call to a thread. Its answer comes later; the flag stops it.
fn begin(
    shared: &Arc<Shared>,
    call: Call,
    progress: &Progress,
    first_hand: Option<FirstHand>,
) -> Result<(oneshot::Receiver<Answer>, eyelet::CancelFlag), FunctionCallError> {
    let (sender, receiver) = oneshot::channel();
    let running = shared.calls.begin();
    let flag = running.flag().clone();
    let turn = call.turn.with_cancel(flag.clone()).with_progress(progress.clone());
    let (form, server) = (shared.options.reply, Arc::clone(shared));
    let (tool, arguments) = (call.tool, call.arguments);
    let work = move || {
        let outcome = server.router.call(&ToolInvocation::new(tool, arguments, &turn));
        let reply = reply::render(outcome, form);
        // What it holds of the server goes before the answer does.
        drop((turn, running, server));
        let answer = match first_hand.filter(|to| Instant::now() < to.until) {
            Some(FirstHand { outbox, id, .. }) => {
                let Reply { result, is_error, shown, withheld } = reply;
                outbox.answer(id, result).map(|()| Answer {
                    result: None,
                    is_error,
                    shown,
                    withheld,
                })
            }
            None => Ok(reply.into()),
        };
        // Where it could not be written, the call is told to be lost.
        if let Ok(answer) = answer {
            let _ = sender.send(answer);
        }
    };
    if shared.pool.run(call.load, work).is_err() {
        let message = "too many calls wait already; call again when some of them have answered";
        return Err(ToolError::new(ErrorCode::Busy, message).into());
    }
    Ok((receiver, flag))
}

fn lost() -> FunctionCallError {
    FunctionCallError::Fatal("the call ended without an answer".to_owned())
}

/// Tells the client from time to time how far the call is, where it asked for that. Never ends.
async fn tell_progress(
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
            // The program `rg` does not tell how far it is.
            0 => format!("{seconds} s"),
            count => format!("{count} {counts}, {seconds} s"),
        };
        let told = ProgressNotificationParam::new(token.clone(), seconds as f64);
        // A client that does not listen any more is told by its wire.
        let _ = context.peer.notify_progress(told.with_message(message)).await;
    }
}

/// Whether replies keep to a budget.
pub(crate) fn is_budgeted(form: ReplyForm) -> bool {
    match form {
        ReplyForm::Text => true,
        ReplyForm::Envelope | ReplyForm::Structured => false,
    }
}
