//! Long calls: progress and cancellation.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::json;
use testkit::TempTree;
use testkit::cli::command;
use testkit::mcp_client::{Server, text_of};

fn tree() -> TempTree {
    TempTree::new("src/main.rs = fn main() {}")
}

#[test]
fn progress_is_reported_to_clients_that_request_it() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let id = server.send(
        "tools/call",
        json!({
            "name": "bash", "arguments": {"command": "echo hello; sleep 4.5"},
            "_meta": {"progressToken": "p"}
        }),
    );
    let mut last = 0.0;
    for _ in 0..2 {
        let report = server.message();
        assert_eq!(report["method"], "notifications/progress", "{report}");
        assert_eq!(report["params"]["progressToken"], "p");
        let progress = report["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "{report}");
        last = progress;
        let message = report["params"]["message"].as_str().unwrap();
        assert!(message.starts_with("6 bytes printed, "), "{message}");
    }
    let answer = server.message();
    assert_eq!(answer["id"], id);
    assert_eq!(text_of(&answer), "[exit 0; stdout 1 line; stderr empty]\nhello\n");
}

#[test]
fn progress_without_a_count_reports_only_seconds() {
    let tree = tree();
    let found = tree.at("src/main.rs");
    let slow = tree.file("bin/rg", format!("#!/bin/sh\nsleep 4.5\necho '{found}'\n"));
    std::fs::set_permissions(&slow, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", tree.at("bin"));
    let mut start = command(&tree);
    start.env("PATH", path).args(["mcp", "--sandbox", "full", "--search-engine", "rg"]);
    let mut server = Server::run(&mut start);
    server.initialize("test", &json!({}));
    server.send(
        "tools/call",
        json!({
            "name": "grep_files", "arguments": {"pattern": "main"}, "_meta": {"progressToken": 7}
        }),
    );
    let mut last = 0.0;
    for _ in 0..2 {
        let report = server.message();
        assert_eq!(report["params"]["progressToken"], 7, "{report}");
        let seconds = report["params"]["progress"].as_f64().unwrap();
        assert!(seconds > last, "{report}");
        assert_eq!(report["params"]["message"], format!("{seconds} s"));
        last = seconds;
    }
    assert_eq!(text_of(&server.message()), found);
}

#[test]
fn a_cancelled_call_is_stopped_and_not_answered() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let id = server.send_call("bash", json!({"command": "touch began; sleep 60; touch ended"}));
    while !tree.path().join("began").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    server.notify("notifications/cancelled", json!({"requestId": id}));
    assert_eq!(
        server
            .text("bash", json!({"command": "pgrep -xf 'sleep 60' >/dev/null; echo ok"}))
            .lines()
            .count(),
        2
    );
    assert!(server.is_silent(Duration::from_millis(300)));
    let (time, messages) = server.close();
    assert!(messages.is_empty() && time < Duration::from_secs(2), "{time:?} {messages:?}");
}
