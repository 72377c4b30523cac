//! A client over stdin and stdout that several threads use at once, and its server.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{ANSWER_TIMEOUT, Answer, BurstState, Client, Request};
use crate::processes::{add_server, remove_server};
use crate::tally::{Beside, Tally};

/// How long a server may take to exit, on a busy machine too.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);
/// The error code of a line that is not JSON.
const PARSE_ERROR: i64 = -32700;

/// A running server and its client.
pub(crate) struct StdioClient {
    child: Mutex<Child>,
    pub(crate) id: u32,
    input: Mutex<Option<ChildStdin>>,
    link: Arc<Link>,
    next_id: AtomicU64,
    /// The number of calls of tools.
    calls: AtomicU64,
    readers: Vec<JoinHandle<()>>,
    /// Commands that print as much as a flood, and bursts of calls, that run now.
    floods: AtomicUsize,
    bursts: AtomicUsize,
}

/// What the threads of a client share.
struct Link {
    tally: Arc<Tally>,
    open: Mutex<HashMap<u64, Open>>,
    /// Invalid lines that were sent and not answered yet.
    garbage: AtomicUsize,
}

/// A request without an answer.
enum Open {
    Waiting(Instant, Sender<Answer>),
    Cancelled,
}

/// A request and where its answer arrives.
pub(crate) struct Pending {
    id: u64,
    answer: Receiver<Answer>,
}

/// How a server ended.
pub(crate) struct Exit {
    pub(crate) status: ExitStatus,
    /// Requests that were neither answered nor cancelled.
    pub(crate) unanswered: u64,
    /// Invalid lines that were not refused.
    pub(crate) garbage: usize,
}

/// How much of its output a client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    All,
    /// The client closes the server's output after this many lines.
    Lines(usize),
}

impl StdioClient {
    /// Starts the server with this command.
    pub(crate) fn start(
        command: &mut Command,
        reading: Reading,
        tally: &Arc<Tally>,
    ) -> Result<StdioClient, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        add_server(child.id());
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(output), Some(errors)) = (output, errors) else {
            return Err("the server has no stdout".to_owned());
        };
        let link =
            Link { tally: Arc::clone(tally), open: Mutex::default(), garbage: AtomicUsize::new(0) };
        let link = Arc::new(link);
        let (for_output, for_errors) = (Arc::clone(&link), Arc::clone(tally));
        let readers = vec![
            std::thread::spawn(move || for_output.read(output, reading)),
            std::thread::spawn(move || watch_stderr(errors, &for_errors)),
        ];
        Ok(StdioClient {
            id: child.id(),
            child: Mutex::new(child),
            input: Mutex::new(input),
            link,
            next_id: AtomicU64::new(1),
            calls: AtomicU64::new(0),
            readers,
            floods: AtomicUsize::new(0),
            bursts: AtomicUsize::new(0),
        })
    }

    /// Does the handshake of the older protocol.
    pub(crate) fn initialize(&self) -> Result<(), String> {
        self.request(&initialize())?;
        self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
    }

    /// Marks the time of a command that prints as much as a flood.
    pub(crate) fn while_flooded<T>(&self, work: impl FnOnce() -> T) -> T {
        self.floods.fetch_add(1, Ordering::AcqRel);
        let result = work();
        self.floods.fetch_sub(1, Ordering::AcqRel);
        result
    }

    /// Closes the input in the middle of a line, as a client that is killed while it writes.
    pub(crate) fn close_input_mid_line(&self) -> Result<(), String> {
        self.link.garbage.fetch_add(1, Ordering::AcqRel);
        let written = self.write_all(r#"{"jsonrpc":"2.0","id":99,"meth"#);
        self.close_input();
        written
    }

    fn write(&self, line: &str) -> Result<(), String> {
        self.write_all(&format!("{line}\n"))
    }

    fn write_all(&self, text: &str) -> Result<(), String> {
        let mut input = self.input();
        let input = input.as_mut().ok_or("the input is closed")?;
        input.write_all(text.as_bytes()).map_err(|error| format!("write to the server: {error}"))
    }

    pub(crate) fn close_input(&self) {
        *self.input() = None;
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) -> Result<(), String> {
        let sent = Command::new("kill").args(["-s", name, &self.id.to_string()]).status();
        match sent {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("kill -s {name}: {other:?}")),
        }
    }

    /// Waits for the exit and for the rest of the output. Counts requests that are still open as disconnected.
    pub(crate) fn wait(mut self) -> Result<Exit, String> {
        let start = Instant::now();
        let status = loop {
            let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            drop(child);
            if start.elapsed() > EXIT_TIMEOUT {
                return Err(format!("the server does not exit within {EXIT_TIMEOUT:?}"));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        remove_server(self.id);
        for reader in self.readers.drain(..) {
            reader.join().map_err(|_| "a reader of the server's output panicked")?;
        }
        let open = self.link.open();
        let unanswered =
            open.values().filter(|open| matches!(open, Open::Waiting(..))).count() as u64;
        self.link.tally.counts().disconnected += unanswered;
        Ok(Exit { status, unanswered, garbage: self.link.garbage.load(Ordering::Acquire) })
    }

    /// The number of calls of tools that were sent.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn input(&self) -> MutexGuard<'_, Option<ChildStdin>> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first request of a session.
pub(crate) fn initialize() -> Request {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "eyelet-soak", "version": "1"}
    });
    Request::new("initialize", &params)
}

impl Client for StdioClient {
    type Pending = Pending;

    fn send(&self, request: &Request) -> Result<Pending, String> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = channel();
        request.count(&self.link.tally);
        self.calls.fetch_add(u64::from(request.tool.is_some()), Ordering::Relaxed);
        let line = request.with_id(id);
        self.link.open().insert(id, Open::Waiting(Instant::now(), sender));
        self.write(&line)?;
        Ok(Pending { id, answer })
    }

    fn answer(&self, pending: Pending) -> Result<Answer, String> {
        let Pending { id, answer } = pending;
        match answer.recv_timeout(ANSWER_TIMEOUT) {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("request {id}: no answer within {ANSWER_TIMEOUT:?}"))
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("request {id}: the server closed its output before it answered"))
            }
        }
    }

    fn cancel(&self, pending: Pending) -> Result<(), String> {
        let id = pending.id;
        let was_open = {
            let mut open = self.link.open();
            open.get_mut(&id).map(|open| *open = Open::Cancelled).is_some()
        };
        if !was_open {
            // The answer was faster; it is counted like any other.
            return Ok(());
        }
        self.link.tally.counts().cancelled += 1;
        let params = json!({"requestId": id, "reason": "soak"});
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        self.write(&message.to_string())
    }

    fn send_garbage(&self) -> Result<(), String> {
        self.link.garbage.fetch_add(1, Ordering::AcqRel);
        self.write(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"#)
    }

    fn beside(&self) -> Beside {
        if self.bursts.load(Ordering::Acquire) > 0 {
            Beside::Burst
        } else if self.floods.load(Ordering::Acquire) > 0 {
            Beside::Floods
        } else {
            Beside::MixedCalls
        }
    }

    fn burst(&self, state: BurstState) {
        match state {
            BurstState::Begins => self.bursts.fetch_add(1, Ordering::AcqRel),
            BurstState::Ends => self.bursts.fetch_sub(1, Ordering::AcqRel),
        };
    }

    fn burst_size(&self) -> usize {
        // More than may wait and run.
        150
    }

    fn tally(&self) -> &Tally {
        &self.link.tally
    }
}

impl Link {
    fn open(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads messages until the output ends, then wakes all that wait for an answer.
    fn read(&self, output: impl Read, reading: Reading) {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        let limit = match reading {
            Reading::All => usize::MAX,
            Reading::Lines(lines) => lines,
        };
        for line in lines.take(limit) {
            let at = Instant::now();
            match serde_json::from_str(&line) {
                Ok(message) => self.accept(message, at),
                Err(_) => {
                    self.tally.broken(format!("stdout has a line that is not JSON: {line:.200}"))
                }
            }
        }
        for open in self.open().values_mut() {
            if let Open::Waiting(_, sender) = open {
                // Without its sender, the receiver stops waiting.
                *sender = channel().0;
            }
        }
    }

    fn accept(&self, message: Value, at: Instant) {
        if message.get("method").is_some() {
            match message.get("id") {
                None => self.tally.counts().progress += 1,
                Some(_) => self.tally.broken(format!("an unexpected request: {message}")),
            }
            return;
        }
        let Some(id) = message["id"].as_u64() else {
            let is_expected = message["error"]["code"] == PARSE_ERROR
                && self
                    .garbage
                    .fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1))
                    .is_ok();
            if !is_expected {
                self.tally.broken(format!("an answer without an id: {message}"));
            }
            return;
        };
        let open = self.open().remove(&id);
        match open {
            Some(Open::Waiting(sent, sender)) => {
                let answer = Answer::new(&message, at - sent, &self.tally);
                // Nobody may wait for it.
                let _ = sender.send(answer);
            }
            Some(Open::Cancelled) => self.tally.counts().cancelled_and_answered += 1,
            None => self.tally.broken(format!("request {id} was answered twice: {message}")),
        }
    }
}

/// Reads stderr until it ends. A server that panics says so there.
pub(crate) fn watch_stderr(errors: impl Read, tally: &Tally) {
    for line in BufReader::new(errors).lines().map_while(Result::ok) {
        if line.contains("panicked") {
            tally.broken(format!("stderr: {line}"));
        }
    }
}
