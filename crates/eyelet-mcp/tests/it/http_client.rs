//! A client over HTTP that sends requests as written.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::TempTree;
use testkit::cli::command;
use testkit::mcp_client::LONG;
use testkit::workspace::{FULL, within};

/// A server over HTTP.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
    token: String,
    /// What it has printed to stderr.
    lines: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(tree: &TempTree) -> Server {
        Server::start_with(tree, FULL)
    }

    /// Starts it with these flags for commands.
    pub(crate) fn start_with(tree: &TempTree, flags: &[&str]) -> Server {
        Server::spawn(command(tree).args(["mcp", "--http", "127.0.0.1:0"]).args(flags), None)
    }

    /// Starts it with the token in this file.
    pub(crate) fn with_token_of(tree: &TempTree, file: &Path, token: &str) -> Server {
        let flags = ["mcp", "--http", "127.0.0.1:0", "--http-token-file"];
        Server::spawn(command(tree).args(flags).arg(file), Some(token))
    }

    /// Runs it with this command.
    pub(crate) fn run(command: &mut Command) -> Server {
        Server::spawn(command, None)
    }

    fn spawn(command: &mut Command, token: Option<&str>) -> Server {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let collected = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                collected.lock().unwrap().push(line);
            }
        });
        let find = |start: &str| {
            let is_there = || lines.lock().unwrap().iter().any(|line| line.contains(start));
            assert!(within(LONG, is_there), "{start}: {lines:?}");
            let lines = lines.lock().unwrap();
            let line = lines.iter().find(|line| line.contains(start)).unwrap();
            line.split_once(start).unwrap().1.to_owned()
        };
        let address = find("eyelet serves MCP at http://");
        let address = address.split_once("/mcp").unwrap().0.to_owned();
        let token_file = find("replace TOKEN with the token in `");
        let token_file =
            command.get_current_dir().unwrap().join(token_file.split('`').next().unwrap());
        let token = match token {
            Some(token) => token.to_owned(),
            None => std::fs::read_to_string(token_file).unwrap().trim().to_owned(),
        };
        find("/metrics");
        Server { child, address, token, lines }
    }

    /// A client of a server that runs already.
    pub(crate) fn at(address: &str, token: &str) -> Server {
        let child = Command::new("true").spawn().unwrap();
        let (address, token) = (address.to_owned(), token.to_owned());
        Server { child, address, token, lines: Arc::default() }
    }

    /// The lines of stderr so far.
    pub(crate) fn stderr(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The value of a metric.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let (_, metrics) = self.send("GET /metrics", &[&self.host(), &self.bearer()], "");
        let mut values =
            metrics.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        values.next().unwrap_or_else(|| panic!("{name} in {metrics}")).parse().unwrap()
    }

    /// Sends a call in a session, and does not read the answer.
    pub(crate) fn start_call_in(&self, session: &str, tool: &str, arguments: &Value) -> TcpStream {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let (body, host, bearer) = (body.to_string(), self.host(), self.bearer());
        let head = format!(
            "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{host}\r\n{bearer}\r\n{session}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// Sends one request. Returns its status and the whole response.
    pub(crate) fn send(&self, head: &str, headers: &[&str], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut request = format!("{head} HTTP/1.1\r\nConnection: close\r\n");
        for header in headers {
            request.push_str(&format!("{header}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(request.as_bytes()).unwrap();
        // The server may refuse the request before it reads the body.
        let _ = stream.write_all(body.as_bytes());
        let (mut answer, mut part, start) = (Vec::new(), [0; 4096], Instant::now());
        while let Ok(count @ 1..) = stream.read(&mut part) {
            answer.extend_from_slice(&part[..count]);
            // An open stream always gets something: the server keeps it alive.
            assert!(start.elapsed() < LONG, "no end: {}", String::from_utf8_lossy(&answer));
        }
        let answer = String::from_utf8(answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("no answer: {answer}")), answer)
    }

    pub(crate) fn host(&self) -> String {
        format!("Host: {}", self.address)
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }

    pub(crate) fn post(&self, headers: &[&str], body: &str) -> (u16, String) {
        let mut all =
            vec!["Content-Type: application/json", "Accept: application/json, text/event-stream"];
        all.extend(headers);
        self.send("POST /mcp", &all, body)
    }

    /// Starts a session. Returns its header.
    pub(crate) fn new_session(&self) -> String {
        let (status, answer) = self.initialize();
        assert_eq!(status, 200, "{answer}");
        let header = |line: &&str| line.to_ascii_lowercase().starts_with("mcp-session-id:");
        let header = answer.lines().find(header).unwrap().trim().to_owned();
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let (status, answer) = self.post(&[&self.host(), &self.bearer(), &header], initialized);
        assert_eq!(status, 202, "{answer}");
        header
    }

    /// Asks for a session.
    pub(crate) fn initialize(&self) -> (u16, String) {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}
        }});
        self.post(&[&self.host(), &self.bearer()], &body.to_string())
    }

    /// A call in a session.
    pub(crate) fn call_in(&self, session: &str, tool: &str, arguments: &Value) -> (u16, String) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        self.post(&[&self.host(), &self.bearer(), session], &body.to_string())
    }

    /// Opens the stream of a session's notifications.
    pub(crate) fn listen(&self, session: &str) -> TcpStream {
        let (host, bearer) = (self.host(), self.bearer());
        let head = format!(
            "GET /mcp HTTP/1.1\r\nAccept: text/event-stream\r\n{host}\r\n{bearer}\r\n{session}\r\n\r\n"
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut status = String::new();
        BufReader::new(&stream).read_line(&mut status).unwrap();
        assert!(status.contains("200"), "{status}");
        stream
    }

    /// Starts a call of `bash` in a session. Returns the ID of the first event; the connection is cut then.
    pub(crate) fn call_and_lose(&self, session: &str, command: &str) -> String {
        let stream = self.start_call_in(session, "bash", &json!({"command": command}));
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        let id = lines.find_map(|line| line.strip_prefix("id: ").map(str::to_owned));
        id.expect("the stream begins with an event")
    }

    /// Asks for the events after this one.
    pub(crate) fn continue_after(&self, session: &str, event: &str) -> (u16, String) {
        let last = format!("Last-Event-ID: {event}");
        let headers =
            ["Accept: text/event-stream", &self.host(), &self.bearer(), session, last.as_str()];
        self.send("GET /mcp", &headers, "")
    }

    /// A call of `bash` without a session.
    pub(crate) fn bash(&self, command: &str) -> String {
        let headers = self.call_headers("bash");
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        let (status, answer) =
            self.post(&headers, &call("bash", &json!({"command": command}).to_string()));
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// A valid call; fails unless it is answered.
    pub(crate) fn check_alive(&self) -> String {
        self.read(r#"{"path": "notes.txt"}"#)
    }

    /// A call of `read` with these arguments, unchanged.
    pub(crate) fn read(&self, arguments: &str) -> String {
        let headers = self.call_headers("read");
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        let (status, answer) = self.post(&headers, &call("read", arguments));
        assert_eq!(status, 200, "{answer}");
        answer
    }

    pub(crate) fn call_headers(&self, tool: &str) -> [String; 5] {
        [
            self.host(),
            self.bearer(),
            "MCP-Protocol-Version: 2026-07-28".to_owned(),
            "Mcp-Method: tools/call".to_owned(),
            format!("Mcp-Name: {tool}"),
        ]
    }

    /// Starts a call of `bash` without reading the answer.
    pub(crate) fn start_call(&self, command: &str) -> TcpStream {
        let body = call("bash", &json!({"command": command}).to_string());
        let head = [
            "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\n",
            "Accept: application/json, text/event-stream\r\n",
            &self.call_headers("bash").join("\r\n"),
            &format!("\r\nContent-Length: {}\r\n\r\n", body.len()),
        ];
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all((head.concat() + &body).as_bytes()).unwrap();
        stream
    }
}

/// A call in the newest protocol version, with the arguments unchanged.
pub(crate) fn call(tool: &str, arguments: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    format!(
        r#"{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
            {{"_meta": {meta}, "name": "{tool}", "arguments": {arguments}}}}}"#
    )
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
