//! `eyelet mcp --http`: access control, limits and shutdown.

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use eyelet::limits::MAX_SESSIONS;
use testkit::TempTree;
use testkit::cli::eyelet;
use testkit::mcp_client::{LONG, WRONG_ARGUMENTS, output_directories};

use crate::http_client::{Server, call};

/// Waits until the condition holds.
fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(5));
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
    // More than the server accepts at once.
    for _ in 0..2 * MAX_SESSIONS + 50 {
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
    let _session = server.new_session();
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
        "eyelet_call_seconds_bucket{tool=\"read\",le=\"600\"} 1",
        "eyelet_sandbox_refusals_total{tool=\"bash\"} 0",
        "eyelet_sessions 1",
        "eyelet_queued_calls{kind=\"command\"} 0",
        "eyelet_running_calls{kind=\"walk\"} 0",
        "eyelet_running_jobs 0",
        concat!("eyelet_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
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
fn the_token_file_is_denied_to_the_tools() {
    let tree = tree();
    let token = "0123456789abcdef0123456789abcdef";
    let file = tree.file("token", token);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let server = Server::with_token_of(&tree, &file, token);
    let answer = server.read(r#"{"path": "token"}"#);
    assert!(answer.contains("is denied") && !answer.contains(token), "{answer}");
    assert!(server.check_alive().contains("one"));
}

#[test]
fn a_token_file_must_be_private() {
    let tree = tree();
    let file = tree.file("token", "0123456789abcdef0123456789abcdef\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let flags = ["mcp", "--http", "127.0.0.1:0", "--http-token-file", "token"];
    let text = eyelet(&tree, flags);
    assert!(text.contains("other users can access the file"), "{text}");
    tree.file("token", "short");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(eyelet(&tree, flags).contains("at least 16 printable"), "{}", eyelet(&tree, flags));
}

#[test]
fn host_names_that_the_operator_lists_are_accepted() {
    let tree = tree();
    let flags =
        ["--sandbox", "full", "--http-host", "agents.example", "--http-host", "compose-service"];
    let server = Server::start_with(&tree, &flags);
    for (host, expected) in [
        ("agents.example", 200),
        ("AGENTS.example:443", 200),
        ("compose-service:8700", 200),
        ("localhost", 200),
        ("agents.example.evil", 403),
        ("evil.example", 403),
        ("", 403),
    ] {
        let (status, answer) = server.send("GET /healthz", &[&format!("Host: {host}")], "");
        assert_eq!(status, expected, "{host}: {answer}");
    }
    let text = eyelet(&tree, ["mcp", "--http", "127.0.0.1:0", "--http-host", "http://a"]);
    assert!(text.starts_with("exit 2") && text.contains("not a host name"), "{text}");
}
