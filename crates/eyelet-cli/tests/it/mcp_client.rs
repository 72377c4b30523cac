//! A small client of our own that speaks to the real server, line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::TempTree;

use crate::run::command;

/// Nothing takes longer, however busy the machine is.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Arguments of `read` that cannot be taken, and the field that the reply has to name.
pub(crate) const WRONG_ARGUMENTS: [(&str, &str); 10] = [
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

/// A server that runs, and the lines it says.
pub(crate) struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
}

impl Server {
    /// `eyelet mcp --sandbox full` in the tree.
    pub(crate) fn start(tree: &TempTree, flags: &[&str]) -> Server {
        let mut command = command(tree);
        command.args(["mcp", "--sandbox", "full"]).args(flags);
        Server::run(&mut command)
    }

    pub(crate) fn run(command: &mut Command) -> Server {
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

    /// A server that a client of this name has greeted in the older way.
    pub(crate) fn greeted(tree: &TempTree, flags: &[&str], client: &str) -> Server {
        let mut server = Server::start(tree, flags);
        server.greet(client, &json!({}));
        server
    }

    pub(crate) fn greet(&mut self, client: &str, capabilities: &Value) -> Value {
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

    pub(crate) fn line(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_ref()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.line(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(message.to_string());
        id
    }

    /// The next message; every line has to be one.
    pub(crate) fn message(&mut self) -> Value {
        let line = self.lines.recv_timeout(LONG).expect("the server says something");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line:.300}"))
    }

    /// Whether nothing is said for a while.
    pub(crate) fn is_silent(&mut self, time: Duration) -> bool {
        self.lines.recv_timeout(time).is_err()
    }

    /// Sends a request and returns its answer, which has to come next.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.message();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    pub(crate) fn send_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The text of a call that succeeds; it has one block and nothing else.
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        text_of(&answer)
    }

    /// The text of a call that fails.
    pub(crate) fn error(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes the input and waits for the end. Returns how long that took, and what was still said.
    pub(crate) fn close(mut self) -> (Duration, Vec<Value>) {
        let start = Instant::now();
        drop(self.stdin.take());
        let status = self.wait();
        assert!(status.success(), "{status}");
        let said = self.lines.iter().map(|line| serde_json::from_str(&line).unwrap()).collect();
        (start.elapsed(), said)
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < LONG, "the server does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
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

/// The one text block of a call that succeeded.
pub(crate) fn text_of(answer: &Value) -> String {
    let result = answer["result"].as_object().unwrap_or_else(|| panic!("{answer}"));
    assert!(!result.contains_key("isError"), "{answer}");
    assert!(!result.contains_key("structuredContent"), "{answer}");
    let blocks = result["content"].as_array().unwrap();
    assert_eq!(blocks.len(), 1, "{answer}");
    blocks[0]["text"].as_str().unwrap().to_owned()
}

/// The folders that servers keep output in.
pub(crate) fn spill_folders(tree: &TempTree) -> usize {
    let entries = std::fs::read_dir(tree.beside()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("eyelet-")).count()
}
