//! A server over HTTP, and the clients of its sessions.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::workspace::within;

use crate::client::{ANSWER_TIMEOUT, Answer, BurstState, Client, Request};
use crate::http_response::{Response, messages, response};
use crate::stdio_client::{initialize, watch_stderr};
use crate::tally::{Beside, Tally};

/// How long the server may take to start and to exit, on a busy machine too.
const TIMEOUT: Duration = Duration::from_secs(30);
/// What the server prints before its address.
const BANNER: &str = "eyelet serves MCP at http://";

/// The protocol version without sessions.
const NEWEST: &str = "2026-07-28";

/// A running server.
pub(crate) struct HttpServer {
    child: Child,
    pub(crate) id: u32,
    address: SocketAddr,
    token: String,
    calls: AtomicU64,
    tally: Arc<Tally>,
}

impl HttpServer {
    /// Starts the server with this command, which takes its token from a file.
    pub(crate) fn start(
        command: &mut Command,
        token: &str,
        tally: &Arc<Tally>,
    ) -> Result<HttpServer, String> {
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("{command:?}: {error}"))?;
        let mut errors = BufReader::new(child.stderr.take().ok_or("the server has no stderr")?);
        let mut banner = String::new();
        while !banner.contains(BANNER) {
            banner.clear();
            let count = errors.read_line(&mut banner).map_err(|error| error.to_string())?;
            if count == 0 {
                return Err("the server did not start".to_owned());
            }
        }
        let address = banner.split_once(BANNER).and_then(|(_, rest)| rest.split_once("/mcp"));
        let address = address.and_then(|(address, _)| address.parse().ok());
        let for_errors = Arc::clone(tally);
        std::thread::spawn(move || watch_stderr(errors, &for_errors));
        Ok(HttpServer {
            id: child.id(),
            child,
            address: address.ok_or_else(|| format!("no address in {banner}"))?,
            token: token.to_owned(),
            calls: AtomicU64::new(0),
            tally: Arc::clone(tally),
        })
    }

    /// Sends a request without reading the response. Each request has its own connection.
    pub(crate) fn open(
        &self,
        method: &str,
        headers: &[String],
        body: &str,
    ) -> Result<TcpStream, String> {
        let failed = |error| format!("{method} {}: {error}", self.address);
        let mut stream = TcpStream::connect(self.address).map_err(failed)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(failed)?;
        let path = if method == "METRICS" { "GET /metrics" } else { &format!("{method} /mcp") };
        let head = format!(
            "{path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nAccept: {}\r\nContent-Length: {}\r\n",
            self.address,
            self.token,
            if method == "GET" {
                "text/event-stream"
            } else {
                "application/json, text/event-stream"
            },
            body.len()
        );
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes()).map_err(failed)?;
        Ok(stream)
    }

    pub(crate) fn send(
        &self,
        method: &str,
        headers: &[String],
        body: &str,
    ) -> Result<Response, String> {
        response(self.open(method, headers, body)?)
    }

    /// Starts a session. Its client opens a stream of notifications.
    pub(crate) fn session(&self) -> Result<Session<'_>, String> {
        let request = initialize();
        request.count(&self.tally);
        let start = Instant::now();
        let begun = self.send("POST", &[], &request.with_id(0))?;
        let id = begun.session.clone().ok_or_else(|| format!("no session: {begun:?}"))?;
        let headers = vec![format!("Mcp-Session-Id: {id}")];
        let [answer] = &messages(&begun)?[..] else {
            return Err(format!("initialize was not answered once: {begun:?}"));
        };
        Answer::new(answer, start.elapsed(), &self.tally);
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let accepted = self.send("POST", &headers, initialized)?;
        if accepted.status != 202 {
            return Err(format!("notifications/initialized: {accepted:?}"));
        }
        let stream = Some(self.open("GET", &headers, "")?);
        Ok(Session { server: self, headers, next_id: AtomicU64::new(1), stream })
    }

    /// A client of the newest protocol version, whose requests belong to no session.
    pub(crate) fn no_session(&self) -> Session<'_> {
        let headers = vec![format!("MCP-Protocol-Version: {NEWEST}")];
        Session { server: self, headers, next_id: AtomicU64::new(1), stream: None }
    }

    /// The value of a metric.
    pub(crate) fn metric(&self, name: &str) -> Result<u64, String> {
        let metrics = self.send("METRICS", &[], "")?;
        let mut values =
            metrics.body.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value = values.next().and_then(|value| value.parse().ok());
        value.ok_or_else(|| format!("no metric {name}: {metrics:?}"))
    }

    /// The number of calls of tools that were sent.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Stops the server with SIGTERM and waits for its exit.
    pub(crate) fn stop(mut self) -> Result<ExitStatus, String> {
        let sent = Command::new("kill").args(["-s", "TERM", &self.id.to_string()]).status();
        sent.map_err(|error| format!("kill: {error}"))?;
        let mut status = None;
        within(TIMEOUT, || {
            status = self.child.try_wait().ok().flatten();
            status.is_some()
        });
        status.ok_or_else(|| format!("the server does not exit within {TIMEOUT:?}"))
    }
}

/// A session and its client, or a client without a session.
pub(crate) struct Session<'s> {
    server: &'s HttpServer,
    headers: Vec<String>,
    next_id: AtomicU64,
    /// The stream of notifications; `None` without a session.
    stream: Option<TcpStream>,
}

/// A request whose answer has not been read.
pub(crate) struct Pending {
    id: u64,
    sent: Instant,
    stream: TcpStream,
}

impl Session<'_> {
    /// Loses the connection of a call after the first event, and continues with `Last-Event-ID`.
    pub(crate) fn lose_connection(
        &self,
        request: &Request,
        pause: Duration,
    ) -> Result<Answer, String> {
        let Pending { id, sent, stream } = self.send(request)?;
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let event = lines.find_map(|line| line.strip_prefix("id: ").map(str::to_owned));
        let event = event.ok_or("a stream has no event")?;
        drop(lines);
        std::thread::sleep(pause);
        let last = format!("Last-Event-ID: {event}");
        let headers = [self.headers.clone(), vec![last]].concat();
        self.server.tally.event("answers after a lost connection");
        self.read(id, sent, self.server.open("GET", &headers, "")?)
    }

    /// Sends a request and closes the connection without reading the answer.
    pub(crate) fn abandon(&self, request: &Request, pause: Duration) -> Result<(), String> {
        let pending = self.send(request)?;
        std::thread::sleep(pause);
        drop(pending);
        self.server.tally.counts().disconnected += 1;
        Ok(())
    }

    /// Ends the session. Its stream has no answers; later requests are refused.
    pub(crate) fn end(self) -> Result<(), String> {
        let ended = self.server.send("DELETE", &self.headers, "")?;
        if ended.status != 204 {
            return Err(format!("DELETE: {ended:?}"));
        }
        let Some(stream) = self.stream else { return Ok(()) };
        let notifications = messages(&response(stream)?)?;
        if let Some(message) = notifications.iter().find(|message| message.get("id").is_some()) {
            return Err(format!("the stream of notifications has an answer: {message}"));
        }
        let ping = Request::new("ping", &json!({})).with_id(1);
        let refused = self.server.send("POST", &self.headers, &ping)?;
        if refused.status != 404 {
            return Err(format!("a request in an ended session: {refused:?}"));
        }
        self.server.tally.event("sessions ended by their client");
        Ok(())
    }

    fn answer_of(
        &self,
        id: u64,
        sent: Instant,
        stream: TcpStream,
    ) -> Result<Option<Answer>, String> {
        let response = response(stream)?;
        let time = sent.elapsed();
        let messages = messages(&response)?;
        let (answers, others): (Vec<_>, Vec<_>) =
            messages.iter().partition(|message| message.get("method").is_none());
        self.server.tally.counts().progress += others.len() as u64;
        match answers.as_slice() {
            [] => Ok(None),
            [answer] if answer["id"] == id => {
                Ok(Some(Answer::new(answer, time, &self.server.tally)))
            }
            _ => Err(format!("request {id} was not answered once: {response:?}")),
        }
    }

    fn read(&self, id: u64, sent: Instant, stream: TcpStream) -> Result<Answer, String> {
        let answer = self.answer_of(id, sent, stream)?;
        answer.ok_or_else(|| format!("request {id} was not answered"))
    }
}

impl Client for Session<'_> {
    type Pending = Pending;

    fn send(&self, request: &Request) -> Result<Pending, String> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        request.count(&self.server.tally);
        self.server.calls.fetch_add(u64::from(request.tool.is_some()), Ordering::Relaxed);
        let mut headers = self.headers.clone();
        let mut request = request.clone();
        if self.stream.is_none() {
            headers.push(format!("Mcp-Method: {}", request.method()));
            headers.extend(request.tool.iter().map(|tool| format!("Mcp-Name: {tool}")));
            request.add_meta(&json!({
                "io.modelcontextprotocol/protocolVersion": NEWEST,
                "io.modelcontextprotocol/clientInfo": {"name": "eyelet-soak", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}
            }));
        }
        let sent = Instant::now();
        let stream = self.server.open("POST", &headers, &request.with_id(id))?;
        Ok(Pending { id, sent, stream })
    }

    fn answer(&self, pending: Pending) -> Result<Answer, String> {
        self.read(pending.id, pending.sent, pending.stream)
    }

    fn cancel(&self, pending: Pending) -> Result<(), String> {
        let params = json!({"requestId": pending.id, "reason": "soak"});
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        let accepted = self.server.send("POST", &self.headers, &message.to_string())?;
        if accepted.status != 202 {
            return Err(format!("notifications/cancelled: {accepted:?}"));
        }
        let answer = self.answer_of(pending.id, pending.sent, pending.stream)?;
        let mut counts = self.server.tally.counts();
        counts.cancelled += 1;
        if answer.is_some() {
            // Not an answer to a request that was not cancelled.
            counts.answers -= 1;
            counts.cancelled_and_answered += 1;
        }
        Ok(())
    }

    fn send_garbage(&self) -> Result<(), String> {
        let refused = self.server.send("POST", &self.headers, "{\"jsonrpc\":")?;
        match refused.status {
            400 if refused.body.contains("-32700") => Ok(()),
            _ => Err(format!("invalid JSON: {refused:?}")),
        }
    }

    fn beside(&self) -> Beside {
        Beside::MixedCalls
    }

    fn burst(&self, _: BurstState) {
        // Sessions take turns: a burst of one does not delay the others.
    }

    fn burst_size(&self) -> usize {
        20
    }

    fn tally(&self) -> &Tally {
        &self.server.tally
    }
}
