//! One tool call: runs it on a pool thread, reports progress, forwards a cancel, renders the reply.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use eyelet::limits::BUSY_RETRY;
use eyelet::{
    Attachment, AttachmentMode, CancelFlag, Envelope, ErrorCode, FunctionCallError, Hint, Load,
    Progress, ToolError, ToolInvocation, ToolOutput, TurnContext,
};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam};
use rmcp::service::RequestContext;
use tokio::sync::oneshot;

use crate::call_log::CallLog;
use crate::call_summary::ReplyNumbers;
use crate::error_text::{error_text, hint_text};
use crate::fair_queue::SessionNumber;
use crate::options::ReplyForm;
use crate::server::Server;

/// How often to report progress. Clients that time out wait at least five seconds.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// A call to run.
pub(crate) struct Call {
    pub(crate) session: SessionNumber,
    pub(crate) tool: &'static str,
    pub(crate) log: Arc<CallLog>,
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
    let (counts, log, progress) = (call.counts, Arc::clone(&call.log), Progress::default());
    let failed = |error| {
        let reply = render(Err(error), server.options.reply);
        log.end(&reply.numbers);
        reply
    };
    let reply = match start_call(server, call, &progress) {
        Ok((reply, flag)) => {
            // If the session ends, nobody waits for the reply any more.
            let _guard = flag.cancel_on_drop();
            let reporting = report_progress(context, &progress, counts, &log);
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
    reply.result
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
    let (tool, arguments, log) = (call.tool, call.arguments, call.log);
    let work = move || {
        let outcome = shared.router.call(&ToolInvocation::new(tool, arguments, &turn));
        let reply = render(outcome, form);
        // Here, because nobody may wait for the reply any more.
        log.end(&reply.numbers);
        // Release the server before the reply: a client may end it as soon as it has the reply.
        drop((turn, in_flight, shared, log));
        // The receiver is gone if the session has ended.
        let _ = sender.send(reply);
    };
    if server.pool.run(call.load, call.session, work).is_err() {
        let error = ToolError::new(ErrorCode::Busy, "too many calls are queued");
        return Err(error.with_hint(Hint::RetryIn(BUSY_RETRY)).into());
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
    log: &CallLog,
) {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(PROGRESS_INTERVAL).await;
        let seconds = log.elapsed().as_secs();
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

/// A reply and its numbers.
struct Reply {
    result: CallToolResult,
    numbers: ReplyNumbers,
}

/// Renders the outcome of a tool as a `tools/call` result.
fn render(outcome: Result<ToolOutput, FunctionCallError>, form: ReplyForm) -> Reply {
    let rendered = match form {
        ReplyForm::Text => text(&outcome),
        ReplyForm::Envelope | ReplyForm::Structured => envelope(&outcome),
    };
    let (text, error) = match rendered {
        Ok(text) => (text, None),
        Err((code, text)) => (text, Some(code)),
    };
    let mut numbers = ReplyNumbers { shown: text.len() as u64, error, ..ReplyNumbers::default() };
    if let Ok(output) = &outcome {
        numbers.withheld = output.withheld_bytes();
        numbers.facts = output.facts();
    }
    let structured = match form {
        ReplyForm::Structured => serde_json::from_str(&text).ok(),
        ReplyForm::Text | ReplyForm::Envelope => None,
    };
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    // The field is optional: without it every reply is shorter.
    result.is_error = error.map(|_| true);
    result.structured_content = structured;
    if let Some(image) = outcome.as_ref().ok().and_then(ToolOutput::attachment) {
        result.content.push(image_block(image));
    }
    Reply { result, numbers }
}

/// The code and the text of an error.
type RenderedError = (&'static str, String);

/// The text for a model, of a success or of an error.
fn text(outcome: &Result<ToolOutput, FunctionCallError>) -> Result<String, RenderedError> {
    let text = outcome.as_ref().map_err(Clone::clone).and_then(ToolOutput::reply);
    text.map_err(|error| {
        let error = error.into_tool_error();
        (error.code.as_str(), error_text(&error))
    })
}

/// The JSON envelope, of a success or of an error.
fn envelope(outcome: &Result<ToolOutput, FunctionCallError>) -> Result<String, RenderedError> {
    let envelope = Envelope::new(outcome, AttachmentMode::Omit).with_hint_text(hint_text);
    match &envelope {
        Envelope::Ok { .. } => Ok(envelope.to_json()),
        Envelope::Error { error, .. } => Err((error.code.as_str(), envelope.to_json())),
    }
}

fn image_block(image: Attachment<'_>) -> ContentBlock {
    let data = base64::engine::general_purpose::STANDARD.encode(image.bytes);
    ContentBlock::image(data, image.mime_type)
}
