//! What the mixed calls need of a client, over stdio and over HTTP.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::tally::{Beside, Tally};

/// How long a client waits for an answer. It is longer than any call may take, on a busy machine too.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(180);

/// A request without its id.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: &'static str,
    /// JSON as a client writes it: it may have duplicate keys.
    params: String,
    /// The tool, if this is a call.
    pub(crate) tool: Option<String>,
}

impl Request {
    pub(crate) fn new(method: &'static str, params: &Value) -> Request {
        Request { method, params: params.to_string(), tool: None }
    }

    /// A call with these arguments, unchanged.
    pub(crate) fn call(tool: &str, arguments: &str) -> Request {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        Request { method: "tools/call", params, tool: Some(tool.to_owned()) }
    }

    /// Like [`Request::call`], with reports of progress.
    pub(crate) fn call_with_progress(tool: &str, arguments: &str, token: u64) -> Request {
        let mut request = Request::call(tool, arguments);
        request.add_meta(&json!({ "progressToken": token }));
        request
    }

    pub(crate) fn add_meta(&mut self, meta: &Value) {
        let rest = self.params.strip_prefix('{').unwrap_or(&self.params);
        let comma = if rest == "}" { "" } else { "," };
        self.params = format!(r#"{{"_meta":{meta}{comma}{rest}"#);
    }

    pub(crate) fn method(&self) -> &'static str {
        self.method
    }

    pub(crate) fn with_id(&self, id: u64) -> String {
        let Request { method, params, .. } = self;
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    }

    /// Counts the request as sent.
    pub(crate) fn count(&self, tally: &Tally) {
        let mut counts = tally.counts();
        counts.requests += 1;
        if let Some(tool) = &self.tool {
            *counts.calls.entry(tool.clone()).or_default() += 1;
        }
    }
}

/// An answer, and how long it took.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) time: Duration,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    /// The text of a result; an image or a result without text is its JSON.
    Text(String),
    ToolError(String),
    ProtocolError(i64, String),
}

impl Answer {
    /// Reads and counts a message that answers a request.
    pub(crate) fn new(message: &Value, time: Duration, tally: &Tally) -> Answer {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let outcome = match (message.get("error"), message.get("result")) {
            (Some(error), _) => {
                let code = error["code"].as_i64().unwrap_or_default();
                Outcome::ProtocolError(code, text(&error["message"]))
            }
            (None, Some(result)) if result["isError"] == true => {
                Outcome::ToolError(text(&result["content"][0]["text"]))
            }
            (None, Some(result)) => match result["content"].as_array().map(Vec::as_slice) {
                Some([block]) if block["text"].is_string() => Outcome::Text(text(&block["text"])),
                _ => Outcome::Text(result.to_string()),
            },
            (None, None) => Outcome::ProtocolError(0, format!("no result: {message}")),
        };
        let mut counts = tally.counts();
        counts.answers += 1;
        match &outcome {
            Outcome::Text(_) => {}
            Outcome::ToolError(message) => {
                counts.tool_errors += 1;
                counts.busy += u64::from(is_busy(message));
            }
            Outcome::ProtocolError(code, _) => {
                *counts.protocol_errors.entry(*code).or_default() += 1;
            }
        }
        drop(counts);
        Answer { outcome, time }
    }
}

/// Whether the server refused the call because it has too many.
pub(crate) fn is_busy(message: &str) -> bool {
    message.contains("too many calls are queued") || message.contains("jobs are running")
}

/// A client of a server. Several threads may use it.
pub(crate) trait Client: Sync {
    /// A request whose answer has not been read.
    type Pending;

    fn send(&self, request: &Request) -> Result<Self::Pending, String>;

    /// Waits for the answer.
    fn answer(&self, pending: Self::Pending) -> Result<Answer, String>;

    /// Cancels the request: it is answered at most once.
    fn cancel(&self, pending: Self::Pending) -> Result<(), String>;

    /// Sends a message that is not valid JSON, which must be refused.
    fn send_garbage(&self) -> Result<(), String>;

    /// What the server does beside a small call that is sent now.
    fn beside(&self) -> Beside;

    /// Marks the time of a burst of calls.
    fn burst(&self, state: BurstState);

    /// How many calls a burst has.
    fn burst_size(&self) -> usize;

    fn tally(&self) -> &Tally;

    fn request(&self, request: &Request) -> Result<Answer, String> {
        let pending = self.send(request)?;
        self.answer(pending)
    }
}

/// Whether a burst of calls begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BurstState {
    Begins,
    Ends,
}

/// Distributes calls evenly over time, for all clients together.
pub(crate) struct Pacer {
    interval: Duration,
    next: Mutex<Instant>,
}

impl Pacer {
    pub(crate) fn new(calls_per_second: u32) -> Pacer {
        let interval = Duration::from_secs(1) / calls_per_second;
        Pacer { interval, next: Mutex::new(Instant::now()) }
    }

    /// Waits until `count` calls may be sent.
    pub(crate) fn wait(&self, count: usize) {
        let now = Instant::now();
        let mut next = self.next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Time in which nobody sent anything is not made up for.
        let start = now.max(*next);
        *next = start + self.interval * u32::try_from(count).unwrap_or(u32::MAX);
        drop(next);
        std::thread::sleep(start - now);
    }
}
