//! Parses a line into a message, or into the error that answers it.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequest, CallToolRequestMethod, ClientJsonRpcMessage, ClientRequest, ConstString as _,
    GetExtensions as _,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;

use crate::line_codec::{Line, MAX_LINE_BYTES};

/// The result of parsing a line.
pub(crate) enum Incoming {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// Not a message; this line answers it.
    Refused(String),
    /// Needs no answer.
    Nothing,
}

/// The arguments of a call exactly as the client wrote them, duplicate keys included.
#[derive(Clone)]
pub(crate) struct RawArguments(pub(crate) String);

/// JSON-RPC error codes.
#[derive(Clone, Copy)]
enum Code {
    ParseError = -32700,
    InvalidRequest = -32600,
}

/// The top-level members of a message, not yet parsed.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Distinguishes a member that is `null` from one that is missing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct CallOutline<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Parses one line.
pub(crate) fn parse(line: Line<'_>) -> Incoming {
    let line = match line {
        Line::Whole(line) => line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii(),
        Line::TooLong => {
            let message = format!("a message must be at most {MAX_LINE_BYTES} bytes");
            return refused(None, Code::ParseError, &message);
        }
    };
    if line.is_empty() {
        return Incoming::Nothing;
    }
    let Ok(text) = std::str::from_utf8(line) else {
        return refused(None, Code::ParseError, "a message must be UTF-8");
    };
    if !text.starts_with('{') {
        return match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) if text.starts_with('[') => refused(
                None,
                Code::InvalidRequest,
                "batches are not taken; send one message a line",
            ),
            Ok(_) => refused(None, Code::InvalidRequest, "a message must be a JSON object"),
            Err(error) => refused(None, Code::ParseError, &error.to_string()),
        };
    }
    let outline: Outline<'_> = match serde_json::from_str(text) {
        Ok(outline) => outline,
        Err(error) if error.is_data() => {
            return refused(None, Code::InvalidRequest, &error.to_string());
        }
        Err(error) => return refused(None, Code::ParseError, &error.to_string()),
    };
    message(text, &outline)
}

fn message(text: &str, outline: &Outline<'_>) -> Incoming {
    let id = outline.id.filter(|id| is_id(id));
    if outline.id.is_some() && id.is_none() {
        return refused(None, Code::InvalidRequest, "id must be a whole number or a string");
    }
    match call(text, outline).map_or_else(|| serde_json::from_str(text), Ok) {
        Ok(mut message) => {
            attach_arguments(&mut message, outline);
            Incoming::Message(Box::new(message))
        }
        Err(error) if error.is_syntax() || error.is_eof() => {
            refused(None, Code::ParseError, &error.to_string())
        }
        // Notifications are never answered.
        Err(_) if id.is_none() && outline.method.is_some() => Incoming::Nothing,
        Err(_) => refused(id, Code::InvalidRequest, "not a message of the protocol"),
    }
}

/// Parses a `tools/call` request as `rmcp` would, but without trying every other kind of message first,
/// which takes longer than a small call. Returns `None` for anything else.
fn call(text: &str, outline: &Outline<'_>) -> Option<ClientJsonRpcMessage> {
    let is_request = outline.jsonrpc.is_some_and(|version| version.get() == "\"2.0\"")
        && outline.result.is_none()
        && outline.error.is_none();
    if !is_request || outline.method.as_deref() != Some(CallToolRequestMethod::VALUE) {
        return None;
    }
    let id = serde_json::from_str(outline.id?.get()).ok()?;
    let call: CallToolRequest = serde_json::from_str(text).ok()?;
    Some(ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(call), id))
}

fn is_id(raw: &RawValue) -> bool {
    raw.get().starts_with('"') || raw.get().parse::<i64>().is_ok()
}

fn attach_arguments(message: &mut ClientJsonRpcMessage, outline: &Outline<'_>) {
    let ClientJsonRpcMessage::Request(request) = message else { return };
    let ClientRequest::CallToolRequest(call) = &mut request.request else { return };
    let params = outline.params.map(|params| serde_json::from_str(params.get()));
    if let Some(Ok(CallOutline { arguments: Some(arguments) })) = params {
        call.extensions_mut().insert(RawArguments(arguments.get().to_owned()));
    }
}

/// The arguments of a `tools/call` request as the client wrote them.
pub(crate) fn arguments(message: &ClientJsonRpcMessage) -> Option<&RawArguments> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CallToolRequest(call) = &request.request else { return None };
    call.extensions().get()
}

fn refused(id: Option<&RawValue>, code: Code, message: &str) -> Incoming {
    Incoming::Refused(error_line(id, code as i64, message))
}

/// The answer to a request that reuses the id of an open one. It has no id itself, because the client
/// would take it for the answer to the open request.
pub(crate) fn id_in_use(id: &str) -> String {
    let message = format!("id {id} belongs to a request that is not answered yet");
    error_line(None, Code::InvalidRequest as i64, &message)
}

fn error_line(id: Option<&RawValue>, code: i64, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
