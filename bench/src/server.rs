//! An MCP client over stdio, the same for each server: it writes a line and reads a line.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::Result;
use crate::contender::command;
use crate::options::io_error;

/// A running server. Dropping it stops the server.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: u64,
    /// Requests that run in the background.
    background: Vec<u64>,
}

/// A tool call.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

/// The fields that the client reads of each message.
#[derive(Deserialize)]
struct Outline {
    id: Option<u64>,
    method: Option<String>,
    result: Option<Value>,
}

impl Server {
    /// Starts the server and initializes the session, outside the timing.
    pub(crate) fn start(words: &[String]) -> Result<Server> {
        let mut server = Server::spawn(words)?;
        server.open()?;
        Ok(server)
    }

    pub(crate) fn spawn(words: &[String]) -> Result<Server> {
        let mut command = command(words)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", words[0]))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::with_capacity(1 << 16, output.ok_or("the server has no stdout")?);
        Ok(Server { child, input, output, last_id: 0, background: Vec::new() })
    }

    /// Initializes the session as clients do, and waits for the reply.
    pub(crate) fn open(&mut self) -> Result<()> {
        let about = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "eyelet-bench", "version": "1" }
        });
        self.ask("initialize", &about)?;
        self.notify("notifications/initialized", &json!({}))
    }

    /// Sends a request and waits. Returns the time in milliseconds and the result.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<(f64, Value)> {
        let (id, line) = self.request(method, params);
        let mut answer = Vec::new();
        let start = Instant::now();
        self.write(&line)?;
        loop {
            self.read(&mut answer)?;
            let time = milliseconds(start);
            let outline: Outline = parsed(&answer)?;
            match outline {
                // A notification.
                Outline { id: None, method: Some(_), .. } => {}
                Outline { id: Some(answered), result: Some(result), .. } if answered == id => {
                    return Ok((time, result));
                }
                _ => return Err(format!("{method}: {}", String::from_utf8_lossy(&answer))),
            }
        }
    }

    /// Calls a tool. Returns the time in milliseconds and the text for the model.
    pub(crate) fn call(&mut self, call: &Call) -> Result<(f64, String)> {
        let (time, result) = self.ask("tools/call", &call.params())?;
        match result.pointer("/content/0/text").and_then(Value::as_str) {
            Some(text) if result.get("isError") != Some(&json!(true)) => Ok((time, text.into())),
            _ => Err(format!("{}: {result}", call.tool)),
        }
    }

    /// Starts calls that run in the background, and waits until each has reported progress.
    pub(crate) fn call_in_background(&mut self, call: &Call, count: usize) -> Result<()> {
        for _ in 0..count {
            let mut params = call.params();
            params["_meta"] = json!({ "progressToken": self.last_id + 1 });
            let (id, line) = self.request("tools/call", &params);
            self.background.push(id);
            self.write(&line)?;
        }
        let mut silent = self.background.clone();
        let mut line = Vec::new();
        while !silent.is_empty() {
            self.read(&mut line)?;
            let message: Value = parsed(&line)?;
            let Some(token) = message.pointer("/params/progressToken").and_then(Value::as_u64)
            else {
                return Err(format!("{}: {message}", call.tool));
            };
            silent.retain(|id| *id != token);
        }
        Ok(())
    }

    /// Makes `count` calls with `width` of them in flight. Returns the time of each.
    pub(crate) fn call_many(
        &mut self,
        calls: &[Call],
        width: usize,
        count: usize,
    ) -> Result<Vec<f64>> {
        let mut pending = HashMap::new();
        let mut times = Vec::with_capacity(count);
        let mut next = calls.iter().cycle().take(count);
        let mut answer = Vec::new();
        while times.len() < count {
            while pending.len() < width
                && let Some(call) = next.next()
            {
                let (id, line) = self.request("tools/call", &call.params());
                pending.insert(id, Instant::now());
                self.write(&line)?;
            }
            self.read(&mut answer)?;
            let now = Instant::now();
            let Outline { id, method, result } = parsed(&answer)?;
            if method.is_some() {
                continue;
            }
            let start = id.and_then(|id| pending.remove(&id));
            match (start, result) {
                (Some(start), Some(result)) if result.get("isError") != Some(&json!(true)) => {
                    times.push((now - start).as_secs_f64() * 1000.0);
                }
                _ => return Err(String::from_utf8_lossy(&answer).into_owned()),
            }
        }
        Ok(times)
    }

    /// The current resident set size in MiB.
    pub(crate) fn resident(&self) -> Result<f64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).map_err(io_error)?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0)
            .ok_or_else(|| "cannot read the memory of the server: /proc reports no VmRSS".into())
    }

    fn notify(&mut self, method: &str, params: &Value) -> Result<()> {
        self.write(&line(&json!({ "jsonrpc": "2.0", "method": method, "params": params })))
    }

    fn request(&mut self, method: &str, params: &Value) -> (u64, Vec<u8>) {
        self.last_id += 1;
        let id = self.last_id;
        (id, line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })))
    }

    fn write(&mut self, line: &[u8]) -> Result<()> {
        self.input.as_mut().ok_or("the server has stopped")?.write_all(line).map_err(io_error)
    }

    fn read(&mut self, line: &mut Vec<u8>) -> Result<()> {
        line.clear();
        match self.output.read_until(b'\n', line).map_err(io_error)? {
            0 => Err("the server closed its stdout".into()),
            _ => Ok(()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A client stops a server by closing its stdin. If the server keeps running, kill it.
        self.input = None;
        for _ in 0..300 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Call {
    fn params(&self) -> Value {
        json!({ "name": self.tool, "arguments": self.arguments })
    }
}

pub(crate) fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

fn parsed<T: serde::de::DeserializeOwned>(line: &[u8]) -> Result<T> {
    serde_json::from_slice(line)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(line)))
}
