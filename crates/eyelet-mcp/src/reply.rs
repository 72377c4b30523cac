//! Renders the outcome of a tool as a `tools/call` result.

use base64::Engine as _;
use eyelet::{Attachment, AttachmentMode, Envelope, FunctionCallError, ToolOutput};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::error_text::{error_text, hint_text};
use crate::options::ReplyForm;

/// Longer error texts lose their middle; they may quote what the model sent.
const MAX_ERROR_BYTES: usize = 3000;

/// A reply and its numbers for the metrics.
pub(crate) struct Reply {
    pub(crate) result: CallToolResult,
    pub(crate) is_error: bool,
    pub(crate) shown: u64,
    pub(crate) withheld: u64,
}

/// Renders the outcome in `form`.
pub(crate) fn render(outcome: Result<ToolOutput, FunctionCallError>, form: ReplyForm) -> Reply {
    let withheld = outcome.as_ref().map_or(0, ToolOutput::withheld_bytes);
    let mut reply = match form {
        ReplyForm::Text => text(&outcome),
        ReplyForm::Envelope => envelope(&outcome),
        ReplyForm::Structured => {
            let mut reply = envelope(&outcome);
            let json = reply.result.content.first().and_then(|block| block.as_text());
            reply.result.structured_content =
                json.and_then(|json| serde_json::from_str::<Value>(&json.text).ok());
            reply
        }
    };
    reply.withheld = withheld;
    if let Some(image) = outcome.as_ref().ok().and_then(ToolOutput::attachment) {
        reply.result.content.push(image_block(image));
    }
    reply
}

fn text(outcome: &Result<ToolOutput, FunctionCallError>) -> Reply {
    let text = match outcome {
        Ok(output) => output.reply(),
        Err(error) => Err(error.clone()),
    };
    match text {
        Ok(text) => success(text),
        Err(FunctionCallError::RespondToModel(error)) => failure(shortened(&error_text(&error))),
        Err(FunctionCallError::Fatal(message)) => {
            failure(format!("internal failure: {}", shortened(&message)))
        }
    }
}

fn envelope(outcome: &Result<ToolOutput, FunctionCallError>) -> Reply {
    let envelope = Envelope::new(outcome, AttachmentMode::Omit).with_hint_text(hint_text);
    if envelope.ok { success(envelope.to_json()) } else { failure(envelope.to_json()) }
}

fn success(text: String) -> Reply {
    let shown = text.len() as u64;
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    // The field is optional, and leaving it out saves bytes in every reply.
    result.is_error = None;
    Reply { result, is_error: false, shown, withheld: 0 }
}

fn failure(text: String) -> Reply {
    let shown = text.len() as u64;
    let result = CallToolResult::error(vec![ContentBlock::text(text)]);
    Reply { result, is_error: true, shown, withheld: 0 }
}

fn image_block(image: Attachment<'_>) -> ContentBlock {
    let data = base64::engine::general_purpose::STANDARD.encode(image.bytes);
    ContentBlock::image(data, image.mime_type)
}

/// Keeps the start, which says what is wrong, and the end, which says what to do.
fn shortened(message: &str) -> String {
    if message.len() <= MAX_ERROR_BYTES {
        return message.to_owned();
    }
    let mut start = MAX_ERROR_BYTES * 2 / 3;
    while !message.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = message.len() - MAX_ERROR_BYTES / 3;
    while !message.is_char_boundary(end) {
        end += 1;
    }
    let (start, end) = (message.get(..start), message.get(end..));
    format!("{} … {}", start.unwrap_or_default(), end.unwrap_or_default())
}
