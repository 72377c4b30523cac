//! `eyelet mcp --http`: access control, limits and shutdown.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::TempTree;
use testkit::cli::{command, eyelet};
use testkit::mcp_client::{LONG, WRONG_ARGUMENTS, output_directories};

struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Server {
    fn start(tree: &TempTree) -> Server {
        let mut child = command(tree)
            .args(["mcp", "--sandbox", "full", "--http", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let url = lines.next().unwrap();
        let address = url.strip_prefix("eyelet serves MCP at http://").unwrap();
        let address = address.strip_suffix("/mcp").unwrap().to_owned();
        let token = lines.next().unwrap();
        let token = token.strip_prefix("Authorization: Bearer ").unwrap().to_owned();
        Server { child, address, token }
    }

    /// Sends one request. Returns its status and the whole response.
    fn send(&self, head: &str, headers: &[&str], body: &str) -> (u16, String) {
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
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("no answer: {answer}")), answer)
    }

    fn host(&self) -> String {
        format!("Host: {}", self.address)
    }

    fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }

    fn post(&self, headers: &[&str], body: &str) -> (u16, String) {
        let mut all =
            vec!["Content-Type: application/json", "Accept: application/json, text/event-stream"];
        all.extend(headers);
        self.send("POST /mcp", &all, body)
    }

    /// A valid call; fails unless it is answered.
    fn check_alive(&self) -> String {
        self.read(r#"{"path": "notes.txt"}"#)
    }

    /// A call of `read` with these arguments, unchanged.
    fn read(&self, arguments: &str) -> String {
        let headers = self.call_headers("read");
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        let (status, answer) = self.post(&headers, &call("read", arguments));
        assert_eq!(status, 200, "{answer}");
        answer
    }

    fn call_headers(&self, tool: &str) -> [String; 5] {
        [
            self.host(),
            self.bearer(),
            "MCP-Protocol-Version: 2026-07-28".to_owned(),
            "Mcp-Method: tools/call".to_owned(),
            format!("Mcp-Name: {tool}"),
        ]
    }

    /// Starts a call of `bash` without reading the answer.
    fn start_call(&self, command: &str) -> TcpStream {
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
fn call(tool: &str, arguments: &str) -> String {
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

/// Waits until the condition holds.
fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tree() -> TempTree {
    TempTree::new("notes.txt = one")
}

#[test]
fn a_call_with_the_token_is_answered() {
    let tree = tree();
    let server = Server::start(&tree);
    assert!(server.check_alive().contains(r"[lines 1-1 of 1]\none"));
}

#[test]
fn requests_without_token_or_from_web_pages_are_refused() {
    let tree = tree();
    let server = Server::start(&tree);
    let (host, bearer) = (server.host(), server.bearer());
    let wrong = format!("Authorization: Bearer {}", "0".repeat(64));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (headers, expected) in [
        (vec![host.as_str()], 401),
        (vec![&host, &wrong], 401),
        (vec![&host, "Authorization: Bearer "], 401),
        (vec![&host, &bearer, "Origin: http://evil.example"], 403),
        (vec![&host, &bearer, "Origin: null"], 403),
        (vec!["Host: evil.example", &bearer], 403),
        (vec!["Host: 10.0.0.1", &bearer], 403),
        (vec![&bearer], 403),
    ] {
        let (status, answer) = server.post(&headers, ping);
        assert_eq!(status, expected, "{headers:?}: {answer}");
    }
    let (status, answer) = server.send("OPTIONS /mcp", &[&host, "Origin: http://evil.example"], "");
    assert_eq!(status, 403);
    assert!(!answer.to_ascii_lowercase().contains("access-control-allow-origin"), "{answer}");
    let foreign = "Mcp-Session-Id: 00000000-0000-0000-0000-000000000000";
    let (status, _) = server.post(&[&host, &bearer, foreign], ping);
    assert!([401, 404].contains(&status), "{status}");
    server.check_alive();
}

#[test]
fn arguments_reach_the_tool_unchanged() {
    let tree = tree();
    let server = Server::start(&tree);
    for limit in ["25", "25.0", "\"25\"", "null"] {
        let answer = server.read(&format!(r#"{{"path": "notes.txt", "limit": {limit}}}"#));
        assert!(answer.contains(r"[lines 1-1 of 1]\none"), "{limit}: {answer}");
    }
    let surrogate = (r#"{"path":"\ud800"}"#, "`path`: ");
    for (arguments, named) in WRONG_ARGUMENTS.into_iter().chain([surrogate]) {
        let answer = server.read(arguments);
        let expected = format!("failed to parse function arguments: {named}");
        assert!(answer.contains(&expected), "{arguments}: {answer}");
        assert!(answer.contains("\"isError\":true"), "{arguments}: {answer}");
    }
    server.check_alive();
}

#[test]
fn invalid_messages_are_refused_as_over_stdio() {
    let tree = tree();
    let server = Server::start(&tree);
    for (body, code) in [
        ("{", -32700),
        ("nonsense", -32700),
        (r#"{"a":"\ud800"}"#, -32700),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        ("7", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (&call("read", "{]"), -32700),
    ] {
        let (status, answer) = server.post(&[&server.host(), &server.bearer()], body);
        assert_eq!(status, 400, "{body}: {answer}");
        assert!(answer.contains(&format!("\"code\":{code}")), "{body}: {answer}");
    }
    server.check_alive();
}

#[test]
fn a_body_above_the_limit_is_refused() {
    let tree = tree();
    let server = Server::start(&tree);
    let (status, _) = server.post(&[&server.host(), &server.bearer()], &"x".repeat(1_100_000));
    assert_eq!(status, 413);
    server.check_alive();
}

#[test]
fn half_open_connections_do_not_block_the_server() {
    let tree = tree();
    let server = Server::start(&tree);
    let mut half_open = Vec::new();
    for _ in 0..400 {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").unwrap();
        half_open.push(stream);
    }
    let start = Instant::now();
    server.check_alive();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn a_disconnect_cancels_the_call() {
    let tree = tree();
    let server = Server::start(&tree);
    let stream = server.start_call("echo $$ > new; mv new pid; sleep 300");
    let pid = tree.path().join("pid");
    wait_until(|| pid.exists());
    let process = format!("/proc/{}", std::fs::read_to_string(&pid).unwrap().trim());
    assert!(Path::new(&process).exists());
    drop(stream);
    wait_until(|| !Path::new(&process).exists());
    server.check_alive();
}

#[test]
fn a_signal_kills_commands_and_removes_saved_output() {
    let tree = tree();
    let mut server = Server::start(&tree);
    let stream = server.start_call("seq 100000; echo $$ > new; mv new pid; sleep 300");
    let pid = tree.path().join("pid");
    wait_until(|| pid.exists());
    let process = format!("/proc/{}", std::fs::read_to_string(&pid).unwrap().trim());
    wait_until(|| output_directories(&tree) == 1);
    let start = Instant::now();
    let sent = Command::new("kill").arg(server.child.id().to_string()).status();
    assert!(sent.unwrap().success());
    assert!(server.child.wait().unwrap().success());
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert!(!Path::new(&process).exists());
    assert_eq!(output_directories(&tree), 0);
    drop(stream);
}

#[test]
fn health_and_metrics_are_served() {
    let tree = tree();
    let server = Server::start(&tree);
    server.check_alive();
    let (status, answer) = server.send("GET /healthz", &[&server.host()], "");
    assert_eq!((status, answer.ends_with("\r\n\r\nok")), (200, true), "{answer}");
    let (status, _) = server.send("GET /metrics", &[&server.host()], "");
    assert_eq!(status, 401);
    let (_, metrics) = server.send("GET /metrics", &[&server.host(), &server.bearer()], "");
    for line in [
        "eyelet_calls_total{tool=\"read\"} 1",
        "eyelet_errors_total{tool=\"read\"} 0",
        "eyelet_shown_bytes_total{tool=\"read\"} 20",
        "eyelet_withheld_bytes_total{tool=\"read\"} 0",
        "eyelet_call_seconds_count{tool=\"read\"} 1",
        "eyelet_call_seconds_bucket{tool=\"bash\",le=\"+Inf\"} 0",
    ] {
        assert!(metrics.lines().any(|one| one == line), "{line} in {metrics}");
    }
}

#[test]
fn non_loopback_addresses_require_allow_remote() {
    let text = eyelet(&tree(), ["mcp", "--http", "0.0.0.0:0"]);
    assert!(text.starts_with("exit 2") && text.contains("--allow-remote"), "{text}");
}

#[test]
fn a_token_file_must_be_private() {
    let tree = tree();
    let file = tree.file("token", "0123456789abcdef0123456789abcdef\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let flags = ["mcp", "--http", "127.0.0.1:0", "--http-token-file", "token"];
    let text = eyelet(&tree, flags);
    assert!(text.contains("other users can access it"), "{text}");
    tree.file("token", "short");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(eyelet(&tree, flags).contains("at least 16 printable"), "{}", eyelet(&tree, flags));
}
