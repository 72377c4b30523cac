//! What the server logs and records.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::TempTree;
use testkit::cli::{command, eyelet};
use testkit::mcp_client::LONG;
use testkit::workspace::{FULL, within};

use crate::http_client::Server;

const SECRET: &str = "pa55word";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn tree() -> TempTree {
    TempTree::new(&format!("notes.txt = {SECRET}"))
}

/// Makes one call of each outcome, then stops the server. Returns all of stderr.
fn use_and_stop(server: &mut Server) -> Vec<String> {
    let session = server.new_session();
    server.call_in(&session, "read", &json!({"path": "notes.txt"}));
    server.call_in(&session, "read", &json!({"path": format!("{SECRET}.txt")}));
    let traced = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "bash", "arguments": {"command": format!("echo {SECRET}; exit 3")},
        "_meta": {"traceparent": format!("00-{TRACE}-00f067aa0ba902b7-01")}
    }});
    let (host, bearer) = (server.host(), server.bearer());
    server.post(&[&host, &bearer, &session], &traced.to_string());
    server.read(r#"{"path": "notes.txt"}"#);
    let wrong = format!("Authorization: Bearer {SECRET}");
    assert_eq!(server.post(&[&host, &wrong], "{}").0, 401);
    assert_eq!(server.post(&[&format!("Host: {SECRET}"), &bearer], "{}").0, 403);
    assert_eq!(server.post(&[&host, &bearer], SECRET).0, 400);
    assert_eq!(server.send(&format!("GET /{SECRET}"), &[&host, &bearer], "").0, 404);
    let sent = Command::new("kill").arg(server.child.id().to_string()).status();
    assert!(sent.unwrap().success());
    assert!(server.child.wait().unwrap().success());
    assert!(within(LONG, || server.stderr().iter().any(|line| line.contains("shutdown"))));
    server.stderr()
}

fn serve(tree: &TempTree, flags: &[&str]) -> Server {
    Server::run(command(tree).args(["mcp", "--http", "127.0.0.1:0"]).args(FULL).args(flags))
}

#[test]
fn the_log_has_a_line_per_session_call_refusal_and_shutdown() {
    let tree = tree();
    let mut server = serve(&tree, &["--log", "json"]);
    let lines = use_and_stop(&mut server);
    let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let find = |message: &str| -> Vec<&Value> {
        lines.iter().filter(|line| line["message"] == message).collect()
    };
    assert!(lines.iter().all(|line| line["timestamp"].is_string() && line["level"].is_string()));
    let [session] = find("session")[..] else { panic!("{lines:?}") };
    assert_eq!((&session["session"], &session["client"]), (&json!(1), &json!("test 1")));
    let calls = find("call");
    let fields = |line: &Value| {
        let names = ["session", "tool", "exit_code", "shown", "withheld", "error", "trace_id"];
        names.map(|name| line[name].clone())
    };
    let expected = [
        json!([1, "read", null, 25, 0, null, null]),
        json!([1, "read", null, calls[1]["shown"], 0, "not_found", null]),
        json!([1, "bash", 3, calls[2]["shown"], 0, null, TRACE]),
        json!([0, "read", null, 25, 0, null, null]),
    ];
    assert_eq!(calls.len(), expected.len(), "{lines:?}");
    for (call, expected) in calls.iter().zip(expected) {
        assert_eq!(json!(fields(call)), expected);
        assert!(call["ms"].is_u64(), "{call}");
    }
    let refused: Vec<_> = find("refused").iter().map(|line| line["status"].as_u64()).collect();
    assert_eq!(refused, [Some(401), Some(403), Some(400), Some(404)]);
    let [shutdown] = find("shutdown")[..] else { panic!("{lines:?}") };
    assert_eq!(shutdown["reason"], "SIGTERM");
}

#[test]
fn no_form_of_the_log_contains_arguments_contents_or_secrets() {
    for form in ["text", "json"] {
        let tree = tree();
        let mut server = serve(&tree, &["--log", form]);
        let text = use_and_stop(&mut server).join("\n");
        assert!(text.contains("not_found") && text.contains(TRACE), "{text}");
        assert!(!text.contains(SECRET) && !text.contains(server.token()), "{text}");
    }
}

#[test]
fn the_log_is_on_over_http_and_off_over_stdio_by_default() {
    let tree = tree();
    assert!(use_and_stop(&mut serve(&tree, &[])).iter().any(|line| line.contains("refused")));
    let mut server = serve(&tree, &["--log", "off"]);
    server.check_alive();
    server.child.kill().unwrap();
    assert!(!server.stderr().iter().any(|line| line.contains("tool=")));
    let messages = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "read", "arguments": {"path": "notes.txt"}}}),
    ];
    let input: Vec<_> = messages.iter().map(Value::to_string).collect();
    tree.file("input", input.join("\n"));
    let stderr = |flags: &[&str]| {
        let mut server = command(&tree);
        server.arg("mcp").args(flags).stdin(fs::File::open(tree.at("input")).unwrap());
        String::from_utf8(server.output().unwrap().stderr).unwrap()
    };
    assert_eq!(stderr(&[]), "");
    let text = stderr(&["--log", "text"]);
    assert!(text.contains("session=1") && text.contains("tool=\"read\""), "{text}");
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn a_log_that_nobody_reads_delays_no_call() {
    let tree = tree();
    let (reader, writer) = std::io::pipe().unwrap();
    let token = "0123456789abcdef0123456789abcdef";
    let file = tree.beside().join("token");
    fs::write(&file, token).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let mut command = command(&tree);
    command.args(["mcp", "--http", &address]).args(FULL).arg("--http-token-file").arg(&file);
    let mut child = command.stderr(writer).stdout(Stdio::null()).spawn().unwrap();
    drop(command);
    let ready = || std::net::TcpStream::connect(&address).is_ok();
    assert!(within(LONG, ready));
    let server = Server::at(&address, token);
    // More than a pipe holds and more than may wait.
    for _ in 0..4000 {
        assert_eq!(server.send("GET /metrics", &[&server.host()], "").0, 401);
    }
    server.check_alive();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(reader);
}

/// The lines of the record.
fn record(path: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_record_has_one_line_per_call_without_contents() {
    let tree = tree();
    let file = tree.beside().join("calls");
    let mut server = serve(&tree, &["--record", file.to_str().unwrap()]);
    use_and_stop(&mut server);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let lines = record(&file);
    assert_eq!(lines.len(), 4, "{lines:?}");
    let path = tree.path().canonicalize().unwrap();
    assert_eq!(lines[0]["path"], json!(path.join("notes.txt")));
    assert_eq!(
        (&lines[0]["range"], &lines[0]["shown"], &lines[0]["tokens"]),
        (&json!([1, 1]), &json!(25), &json!(7))
    );
    assert_eq!(lines[1]["error"], "not_found");
    assert_eq!(lines[2]["command"], format!("echo {SECRET}; exit 3"));
    assert_eq!((&lines[2]["path"], &lines[2]["exit_code"]), (&json!(path), &json!(3)));
    assert_eq!((&lines[3]["session"], &lines[0]["session"]), (&json!(0), &json!(1)));
    assert!(lines.iter().all(|line| line["time"].as_str().unwrap().ends_with('Z')));
    let without_targets = lines.iter().cloned().map(|mut line| {
        line.as_object_mut().unwrap().retain(|field, _| field != "path" && field != "command");
        line.to_string()
    });
    assert!(!without_targets.collect::<String>().contains(SECRET));
}

#[test]
fn the_record_has_calls_whose_client_is_gone() {
    let tree = tree();
    let file = tree.beside().join("calls");
    let server = serve(&tree, &["--record", file.to_str().unwrap()]);
    let stream = server.start_call("echo $$ > new; mv new pid; sleep 300");
    assert!(within(LONG, || tree.path().join("pid").exists()));
    drop(stream);
    assert!(within(LONG, || !record(&file).is_empty()));
    let [line] = &record(&file)[..] else { panic!() };
    assert_eq!((&line["tool"], &line["exit_code"]), (&json!("bash"), &json!(-1)));
}

#[test]
fn the_record_names_what_the_sandbox_refused() {
    let tree = tree();
    let file = tree.beside().join("calls");
    let flags = ["--sandbox", "workspace-write", "--record", file.to_str().unwrap()];
    let mut command = command(&tree);
    let server = Server::run(command.args(["mcp", "--http", "127.0.0.1:0"]).args(flags));
    server.bash("touch /var/tmp/eyelet-test-never-made");
    let lines = record(&file);
    let expected = json!(["sandbox probably blocked: write /var/tmp/eyelet-test-never-made"]);
    assert_eq!(lines[0]["refusals"], expected);
    assert_eq!(server.metric("eyelet_sandbox_refusals_total{tool=\"bash\"}"), 1);
}

#[test]
fn restored_paths_are_reported_on_stderr_under_every_form_of_the_log() {
    for form in ["text", "json", "off"] {
        let tree = tree();
        let mut command = command(&tree);
        let flags = ["--sandbox", "workspace-write", "--log", form];
        let server = Server::run(command.args(["mcp", "--http", "127.0.0.1:0"]).args(flags));
        server.bash("echo '{}' > .mcp.json");
        let is_reported =
            || server.stderr().iter().any(|line| line.contains(".mcp.json: restored; "));
        assert!(within(LONG, is_reported), "{form}: {:?}", server.stderr());
    }
}

#[test]
fn a_record_that_cannot_be_written_is_an_error_at_the_start() {
    let tree = tree();
    let inside = tree.at("calls");
    fs::write(tree.beside().join("shared"), "").unwrap();
    fs::set_permissions(tree.beside().join("shared"), fs::Permissions::from_mode(0o644)).unwrap();
    let shared = tree.beside().join("shared").to_str().unwrap().to_owned();
    for (file, expected) in [
        ("/none/calls", "cannot write to it: No such file or directory"),
        ("/dev/null", "not a regular file"),
        (shared.as_str(), "chmod 600"),
        (inside.as_str(), "commands could change it"),
    ] {
        let text = eyelet(&tree, ["mcp", "--record", file]);
        assert!(text.starts_with("exit 2\n--- stderr\n"), "{text}");
        assert!(text.contains("--record `") && text.contains(expected), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
    }
}

#[test]
fn a_port_in_use_is_an_error_at_the_start() {
    let tree = tree();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let text = eyelet(&tree, ["mcp", "--http", &address]);
    assert!(text.starts_with("exit 2\n--- stderr\neyelet: --http 127.0.0.1:"), "{text}");
    assert!(
        text.contains(": cannot listen: Address already in use") && text.lines().count() == 3,
        "{text}"
    );
    // As JSON, if everything is.
    let mut command = command(&tree);
    let output = command.args(["mcp", "--http", &address, "--log", "json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let line: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(line["level"], "ERROR");
    assert!(line["message"].as_str().unwrap().contains("Address already in use"), "{line}");
}
