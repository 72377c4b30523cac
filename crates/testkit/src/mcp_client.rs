//! A minimal MCP client for tests, over stdin and stdout of the real server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::cli::command;
use crate::tree::TempTree;
use serde_json::{Value, json};

/// A timeout that is long enough on the busiest machine.
pub const LONG: Duration = Duration::from_secs(30);

/// Invalid arguments of `read`, and the text that the reply must contain.
pub const WRONG_ARGUMENTS: [(&str, &str); 10] = [
    (r#"{"path":"notes.txt","limit":-1}"#, "`limit`: "),
    (r#"{"path":"notes.txt","limit":1.5}"#, "`limit`: "),
    (r#"{"path":"notes.txt","limit":true}"#, "`limit`: "),
    (r#"{"path":"notes.txt","limit":[]}"#, "`limit`: "),
    (r#"{"path":"notes.txt","limit":18446744073709551616}"#, "`limit`: "),
    (r#"{"path":"notes.txt","limit":"x"}"#, "`limit`: "),
    (r#"{"path":{},"limit":1}"#, "`path`: "),
    (r#"{"path":"notes.txt","limitt":1}"#, "unknown field `limitt`"),
    (r#"{"path":"notes.txt","path":"notes.txt"}"#, "duplicate field `path`"),
    ("{}", "missing field `path`"),
];

/// A running server and its output lines.
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
}

impl Server {
    /// `eyelet mcp --sandbox full` in the tree.
    pub fn start(tree: &TempTree, flags: &[&str]) -> Server {
        let mut command = command(tree);
        command.args(["mcp", "--sandbox", "full"]).args(flags);
        Server::run(&mut command)
    }

    /// Starts the server with this command.
    pub fn run(command: &mut Command) -> Server {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Server { child, stdin, lines, next_id: 1 }
    }

    /// Starts a server and initializes it as a client of this name.
    pub fn initialized(tree: &TempTree, flags: &[&str], client: &str) -> Server {
        let mut server = Server::start(tree, flags);
        server.initialize(client, &json!({}));
        server
    }

    /// Does the handshake of the older protocol. Returns the reply.
    pub fn initialize(&mut self, client: &str, capabilities: &Value) -> Value {
        let answer = self.request(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": capabilities,
                "clientInfo": {"name": client, "version": "1"}
            }),
        );
        self.notify("notifications/initialized", json!({}));
        answer
    }

    /// Sends one line.
    pub fn line(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_ref()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.line(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(message.to_string());
        id
    }

    /// The next message. Fails if a line is not JSON.
    pub fn message(&mut self) -> Value {
        self.message_within(LONG)
    }

    /// The next message, if it takes longer than other messages.
    pub fn message_within(&mut self, time: Duration) -> Value {
        let line = self.lines.recv_timeout(time).expect("the server sends a message in time");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line:.300}"))
    }

    /// Whether the server sends nothing for this long.
    pub fn is_silent(&mut self, time: Duration) -> bool {
        self.lines.recv_timeout(time).is_err()
    }

    /// Sends a request and returns its reply, which must be the next message.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.message();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool and returns the reply.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a call and returns its id.
    pub fn send_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The text of a successful call. Fails unless the reply is exactly one text block.
    pub fn text(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        text_of(&answer)
    }

    /// The error text of a call that fails.
    pub fn error(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes the input and waits for the exit. Returns how long that took, and the remaining messages.
    pub fn close(mut self) -> (Duration, Vec<Value>) {
        let start = Instant::now();
        drop(self.stdin.take());
        let status = self.wait();
        assert!(status.success(), "{status}");
        let messages = self.lines.iter().map(|line| serde_json::from_str(&line).unwrap()).collect();
        (start.elapsed(), messages)
    }

    /// Waits for the exit.
    pub fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < LONG, "the server does not exit");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The server's process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The only text block of a successful reply.
pub fn text_of(answer: &Value) -> String {
    let result = answer["result"].as_object().unwrap_or_else(|| panic!("{answer}"));
    assert!(!result.contains_key("isError"), "{answer}");
    assert!(!result.contains_key("structuredContent"), "{answer}");
    let blocks = result["content"].as_array().unwrap();
    assert_eq!(blocks.len(), 1, "{answer}");
    blocks[0]["text"].as_str().unwrap().to_owned()
}

/// The number of directories for saved output in the tree's temp directory.
pub fn output_directories(tree: &TempTree) -> usize {
    let entries = std::fs::read_dir(tree.beside()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("eyelet-")).count()
}
