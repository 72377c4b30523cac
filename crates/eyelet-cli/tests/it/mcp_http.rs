//! `eyelet mcp --http`: who may speak, and what a peer can hold up.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::TempTree;

use crate::run::{command, eyelet};

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

    /// One request; its status and everything that came back.
    fn ask(&self, head: &str, headers: &[&str], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut request = format!("{head} HTTP/1.1\r\nConnection: close\r\n");
        for header in headers {
            request.push_str(&format!("{header}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(request.as_bytes()).unwrap();
        // It may be refused before it is read.
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
        self.ask("POST /mcp", &all, body)
    }

    /// A request that a good client makes.
    fn good(&self) -> String {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
            {"_meta": meta, "name": "read", "arguments": {"path": "notes.txt"}}});
        let headers = [
            &*self.host(),
            &*self.bearer(),
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: tools/call",
            "Mcp-Name: read",
        ];
        let (status, answer) = self.post(&headers, &body.to_string());
        assert_eq!(status, 200, "{answer}");
        answer
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
    assert!(server.good().contains(r"[lines 1-1 of 1]\none"));
}

#[test]
fn whoever_lacks_the_token_or_comes_from_a_web_page_is_refused() {
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
    let (status, answer) = server.ask("OPTIONS /mcp", &[&host, "Origin: http://evil.example"], "");
    assert_eq!(status, 403);
    assert!(!answer.to_ascii_lowercase().contains("access-control-allow-origin"), "{answer}");
    let foreign = "Mcp-Session-Id: 00000000-0000-0000-0000-000000000000";
    let (status, _) = server.post(&[&host, &bearer, foreign], ping);
    assert!([401, 404].contains(&status), "{status}");
    server.good();
}

#[test]
fn a_body_above_the_cap_is_refused() {
    let tree = tree();
    let server = Server::start(&tree);
    let (status, _) = server.post(&[&server.host(), &server.bearer()], &"x".repeat(1_100_000));
    assert_eq!(status, 413);
    server.good();
}

#[test]
fn half_open_connections_do_not_starve_it() {
    let tree = tree();
    let server = Server::start(&tree);
    let mut half_open = Vec::new();
    for _ in 0..400 {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").unwrap();
        half_open.push(stream);
    }
    let start = Instant::now();
    server.good();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn health_and_metrics_can_be_asked_for() {
    let tree = tree();
    let server = Server::start(&tree);
    server.good();
    let (status, answer) = server.ask("GET /healthz", &[&server.host()], "");
    assert_eq!((status, answer.ends_with("\r\n\r\nok")), (200, true), "{answer}");
    let (status, _) = server.ask("GET /metrics", &[&server.host()], "");
    assert_eq!(status, 401);
    let (_, metrics) = server.ask("GET /metrics", &[&server.host(), &server.bearer()], "");
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
fn only_this_machine_is_served_unless_asked_otherwise() {
    let said = eyelet(&tree(), ["mcp", "--http", "0.0.0.0:0"]);
    assert!(said.starts_with("exit 2") && said.contains("--allow-remote"), "{said}");
}

#[test]
fn a_token_file_has_to_be_private() {
    let tree = tree();
    let file = tree.file("token", "0123456789abcdef0123456789abcdef\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let flags = ["mcp", "--http", "127.0.0.1:0", "--http-token-file", "token"];
    let said = eyelet(&tree, flags);
    assert!(said.contains("others may read it"), "{said}");
    tree.file("token", "short");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(eyelet(&tree, flags).contains("at least 16 visible"), "{}", eyelet(&tree, flags));
}
