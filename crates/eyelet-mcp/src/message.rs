//! Splits input into lines, and parses a line into a message or into the error that answers it.
//!
//! The arguments of a `tools/call` request stay text: this module checks that they are JSON, and only
//! the tool parses them.

use memchr::memchr;
use rmcp::model::{
    CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientJsonRpcMessage,
    ClientRequest, ConstString as _, CustomRequest, GetExtensions as _, RequestMetaObject,
};
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;

/// The maximum length of a line. It equals the limit for the arguments of one call.
const MAX_LINE_BYTES: usize = eyelet::limits::MAX_ARGUMENT_BYTES;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'l> {
    /// A complete line, without its newline.
    Whole(&'l [u8]),
    /// The line exceeded the limit; its bytes were discarded.
    TooLong,
}

/// Splits a stream chunk by chunk; buffers at most one line.
#[derive(Default)]
pub(crate) struct LineDecoder {
    buffer: Vec<u8>,
    /// Whether to discard input up to the next newline, after a line that was too long.
    is_discarding: bool,
}

impl LineDecoder {
    /// Adds the next chunk and calls `take` with each line that it completes.
    pub(crate) fn push(&mut self, mut chunk: &[u8], mut take: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(end);
            chunk = rest.get(1..).unwrap_or_default();
            if std::mem::take(&mut self.is_discarding) {
                continue;
            }
            if self.buffer.len() + line.len() > MAX_LINE_BYTES {
                take(Line::TooLong);
            } else if self.buffer.is_empty() {
                take(Line::Whole(line));
            } else {
                self.buffer.extend_from_slice(line);
                take(Line::Whole(&self.buffer));
            }
            // Free the buffer: a long line must not occupy memory for the rest of the session.
            self.buffer = Vec::new();
        }
        if self.is_discarding {
            return;
        }
        if self.buffer.len() + chunk.len() > MAX_LINE_BYTES {
            take(Line::TooLong);
            self.buffer = Vec::new();
            self.is_discarding = true;
        } else {
            self.buffer.extend_from_slice(chunk);
        }
    }

    /// Ends the stream; the last line may lack its newline.
    pub(crate) fn finish(self, take: impl FnOnce(Line<'_>)) {
        if !self.buffer.is_empty() {
            take(Line::Whole(&self.buffer));
        }
    }
}

/// The result of parsing a line.
pub(crate) enum Incoming {
    /// A message. A `tools/call` request has [`RawArguments`] instead of parsed arguments.
    Message(Box<ClientJsonRpcMessage>),
    /// The line is not a valid message. This text is the answer.
    Refused(String),
    /// The line needs no answer.
    Nothing,
}

/// The arguments of a call exactly as the client wrote them, duplicate keys included. They are a JSON
/// object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawArguments(pub(crate) String);

/// JSON-RPC error codes.
#[derive(Clone, Copy)]
enum Code {
    ParseError = -32700,
    InvalidRequest = -32600,
}

/// The members of a message that decide what it is, not yet parsed.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    method: Option<String>,
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

/// The parameters of a `tools/call` request, not yet parsed. Duplicate members are an error.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallParams<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow)]
    request_state: Option<&'a RawValue>,
}

/// Parses one line.
pub(crate) fn parse(line: Line<'_>) -> Incoming {
    let line = match line {
        Line::Whole(line) => line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii(),
        Line::TooLong => {
            let message = format!("message too long: the maximum is {MAX_LINE_BYTES} bytes");
            return refused(None, Code::ParseError, &message);
        }
    };
    if line.is_empty() {
        return Incoming::Nothing;
    }
    let Ok(text) = std::str::from_utf8(line) else {
        return refused(None, Code::ParseError, "the message is not valid UTF-8");
    };
    if !text.starts_with('{') {
        return match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) if text.starts_with('[') => refused(
                None,
                Code::InvalidRequest,
                "batches are not supported; send each message separately",
            ),
            Ok(_) => refused(None, Code::InvalidRequest, "the message is not a JSON object"),
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
        return refused(None, Code::InvalidRequest, "`id` must be an integer or a string");
    }
    match call(outline).unwrap_or_else(|| serde_json::from_str(text)) {
        Ok(message) => Incoming::Message(Box::new(message)),
        Err(error) if error.is_syntax() || error.is_eof() => {
            refused(None, Code::ParseError, &error.to_string())
        }
        // Notifications are never answered.
        Err(_) if id.is_none() && outline.method.is_some() => Incoming::Nothing,
        Err(_) => refused(id, Code::InvalidRequest, "not a valid JSON-RPC 2.0 message"),
    }
}

fn is_id(raw: &RawValue) -> bool {
    raw.get().starts_with('"') || raw.get().parse::<i64>().is_ok()
}

/// Builds a `tools/call` request without parsing its arguments. Returns `None` for any other message.
fn call(outline: &Outline<'_>) -> Option<serde_json::Result<ClientJsonRpcMessage>> {
    let is_call = outline.method.as_deref() == Some(CallToolRequestMethod::VALUE)
        && outline.jsonrpc.is_some_and(|version| version.get() == "\"2.0\"")
        && outline.result.is_none()
        && outline.error.is_none();
    let id = outline.id.filter(|_| is_call)?;
    let params = outline.params.map(RawValue::get).filter(|params| params.starts_with('{'))?;
    let build = || {
        let params = serde_json::from_str::<CallParams<'_>>(params);
        let meta = params.as_ref().ok().and_then(|params| params.meta);
        let mut request = match params.and_then(|params| call_request(&params)) {
            Ok(request) => ClientRequest::CallToolRequest(request),
            // As in `rmcp`: the session answers this request with "invalid params".
            Err(error) if error.is_data() => {
                let method = CallToolRequestMethod::VALUE;
                ClientRequest::CustomRequest(CustomRequest::new(method, None))
            }
            Err(error) => return Err(error),
        };
        if let Some(meta) = member::<RequestMetaObject>(meta)? {
            request.extensions_mut().insert(meta);
        }
        Ok(ClientJsonRpcMessage::request(request, serde_json::from_str(id.get())?))
    };
    Some(build())
}

fn call_request(params: &CallParams<'_>) -> serde_json::Result<CallToolRequest> {
    let name = member::<String>(params.name)?;
    let name = name.ok_or_else(|| serde_json::Error::missing_field("name"))?;
    let mut call = CallToolRequestParams::new(name);
    call.input_responses = member(params.input_responses)?;
    call.request_state = member(params.request_state)?;
    let mut request = CallToolRequest::new(call);
    match params.arguments.map(RawValue::get) {
        None => {}
        Some(text) if text.starts_with('{') => {
            request.extensions_mut().insert(RawArguments(text.to_owned()));
        }
        Some(_) => return Err(serde_json::Error::custom("arguments are not an object")),
    }
    Ok(request)
}

/// Parses an optional member.
fn member<T: DeserializeOwned>(raw: Option<&RawValue>) -> serde_json::Result<Option<T>> {
    raw.map_or(Ok(None), |raw| serde_json::from_str(raw.get()))
}

/// Takes the arguments out of a `tools/call` request.
pub(crate) fn take_arguments(message: &mut ClientJsonRpcMessage) -> Option<RawArguments> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    request.request.extensions_mut().remove()
}

/// Whether this message asks for a new session.
pub(crate) fn is_initialize(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    matches!(request.request, ClientRequest::InitializeRequest(_))
}

fn refused(id: Option<&RawValue>, code: Code, message: &str) -> Incoming {
    Incoming::Refused(error_line(id, code as i64, message))
}

/// The answer to a request that reuses the id of an open one. It has no id itself, because the client
/// would take it for the answer to the open request.
pub(crate) fn id_in_use(id: &str) -> String {
    let message = format!("request refused: id {id} belongs to an open request; use a new id");
    error_line(None, Code::InvalidRequest as i64, &message)
}

fn error_line(id: Option<&RawValue>, code: i64, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
