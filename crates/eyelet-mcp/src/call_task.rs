//! One tool call: runs it on a pool thread, reports progress, forwards a cancel, renders the reply.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use eyelet::{
    Attachment, AttachmentMode, CancelFlag, Envelope, ErrorCode, FunctionCallError, Load, Progress,
    ToolError, ToolInvocation, ToolOutput, TurnContext,
};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam};
use rmcp::service::RequestContext;
use tokio::sync::oneshot;

use crate::error_text::{error_text, hint_text};
use crate::metrics::Outcome;
use crate::options::ReplyForm;
use crate::server::Server;

/// How often to report progress. Clients that time out wait at least five seconds.
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
    let failed = |error| render(Err(error), server.options.reply);
    let reply = match start_call(server, call, &progress) {
        Ok((reply, flag)) => {
            // If the session ends, nobody waits for the reply any more.
            let _guard = flag.cancel_on_drop();
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
    if let Some(metrics) = &server.metrics {
        metrics.add(name, &Outcome { time: start.elapsed(), is_error, shown, withheld });
    }
    result
}

/// Hands the call to a pool thread. Returns the receiver of its reply and the flag that cancels it.
fn start_call(
    server: &Arc<Server>,
    call: Call,
    progress: &Progress,
) -> Result<(oneshot::Receiver<Reply>, CancelFlag), FunctionCallError> {
    let (sender, receiver) = oneshot::channel();
    let in_flight = server.in_flight.register();
    let flag = in_flight.flag.clone();
    let turn = call.turn.with_cancel(flag.clone()).with_progress(progress.clone());
    let turn = turn.with_hint_text(hint_text);
    let (form, shared) = (server.options.reply, Arc::clone(server));
    let (tool, arguments) = (call.tool, call.arguments);
    let work = move || {
        let outcome = shared.router.call(&ToolInvocation::new(tool, arguments, &turn));
        let reply = render(outcome, form);
        // Release the server before the reply: a client may end it as soon as it has the reply.
        drop((turn, in_flight, shared));
        // The receiver is gone if the session has ended.
        let _ = sender.send(reply);
    };
    if server.pool.run(call.load, work).is_err() {
        let message = "too many calls are queued; retry when some of them have finished";
        return Err(ToolError::new(ErrorCode::Busy, message).into());
    }
    Ok((receiver, flag))
}

fn lost() -> FunctionCallError {
    FunctionCallError::Fatal("the call ended without a reply".to_owned())
}

/// Reports progress until it is dropped, if the client requested it.
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
        let mut message = match progress.count() {
            // The program `rg` reports no counts.
            0 => format!("{seconds} s"),
            count => format!("{count} {counts}, {seconds} s"),
        };
        if let Some(line) = progress.last_line() {
            message.push_str(": ");
            message.push_str(&line);
        }
        let report = ProgressNotificationParam::new(token.clone(), seconds as f64);
        // The transport notices a closed connection.
        let _ = context.peer.notify_progress(report.with_message(message)).await;
    }
}

/// A reply and its numbers for the metrics.
struct Reply {
    result: CallToolResult,
    is_error: bool,
    shown: u64,
    withheld: u64,
}

/// Renders the outcome of a tool as a `tools/call` result.
fn render(outcome: Result<ToolOutput, FunctionCallError>, form: ReplyForm) -> Reply {
    let rendered = match form {
        ReplyForm::Text => text(&outcome),
        ReplyForm::Envelope | ReplyForm::Structured => envelope(&outcome),
    };
    let is_error = rendered.is_err();
    let text = rendered.unwrap_or_else(|error| error);
    let shown = text.len() as u64;
    let structured = match form {
        ReplyForm::Structured => serde_json::from_str(&text).ok(),
        ReplyForm::Text | ReplyForm::Envelope => None,
    };
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    // The field is optional: without it every reply is shorter.
    result.is_error = is_error.then_some(true);
    result.structured_content = structured;
    let withheld = outcome.as_ref().map_or(0, ToolOutput::withheld_bytes);
    if let Some(image) = outcome.as_ref().ok().and_then(ToolOutput::attachment) {
        result.content.push(image_block(image));
    }
    Reply { result, is_error, shown, withheld }
}

/// The text for a model, of a success or of an error.
fn text(outcome: &Result<ToolOutput, FunctionCallError>) -> Result<String, String> {
    let text = outcome.as_ref().map_err(Clone::clone).and_then(ToolOutput::reply);
    text.map_err(|error| match error {
        FunctionCallError::RespondToModel(error) => error_text(&error),
        FunctionCallError::Fatal(message) => format!("internal failure: {message}"),
    })
}

/// The JSON envelope, of a success or of an error.
fn envelope(outcome: &Result<ToolOutput, FunctionCallError>) -> Result<String, String> {
    let envelope = Envelope::new(outcome, AttachmentMode::Omit).with_hint_text(hint_text);
    if envelope.is_ok() { Ok(envelope.to_json()) } else { Err(envelope.to_json()) }
}

fn image_block(image: Attachment<'_>) -> ContentBlock {
    let data = base64::engine::general_purpose::STANDARD.encode(image.bytes);
    ContentBlock::image(data, image.mime_type)
}
