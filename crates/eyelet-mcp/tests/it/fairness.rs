//! Sessions over HTTP do not delay each other.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use testkit::TempTree;
use testkit::cli::command;
use testkit::mcp_client::LONG;
use testkit::workspace::{FULL, within};

use crate::http_client::Server;

fn wait_for(server: &Server, metric: &str, value: u64) {
    assert!(within(LONG, || server.metric(metric) == value), "{metric}: {}", server.metric(metric));
}

#[test]
fn a_hundred_searches_of_a_session_do_not_delay_a_listing_of_another() {
    let tree = TempTree::new("notes.txt = one");
    // A search does not end before the test ends.
    let rg = tree.beside().join("rg");
    fs::write(&rg, "#!/bin/sh\nexec sleep 600\n").unwrap();
    fs::set_permissions(&rg, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", tree.beside().display());
    let mut command = command(&tree);
    command.env("PATH", path).args(["mcp", "--http", "127.0.0.1:0", "--search-engine", "rg"]);
    let server = Server::run(command.args(FULL));
    let (busy, other) = (server.new_session(), server.new_session());
    let search = json!({"pattern": "one"});
    let _searches: Vec<_> =
        (0..100).map(|_| server.start_call_in(&busy, "grep_files", &search)).collect();
    wait_for(&server, "eyelet_queued_calls{kind=\"walk\"}", 97);
    assert_eq!(server.metric("eyelet_running_calls{kind=\"walk\"}"), 3);
    let (_, reply) = server.call_in(&other, "list_dir", &json!({"dir_path": tree.str()}));
    assert!(reply.contains("notes.txt"), "{reply}");
    assert_eq!(server.metric("eyelet_calls_total{tool=\"grep_files\"}"), 0);
}

#[test]
fn long_commands_of_a_session_leave_a_slot_to_another() {
    let tree = TempTree::new("");
    let server = Server::start(&tree);
    let (busy, other) = (server.new_session(), server.new_session());
    let long = json!({"command": "sleep 600", "timeout_secs": 600});
    let _commands: Vec<_> = (0..10).map(|_| server.start_call_in(&busy, "bash", &long)).collect();
    wait_for(&server, "eyelet_running_calls{kind=\"command\"}", 7);
    wait_for(&server, "eyelet_queued_calls{kind=\"command\"}", 3);
    // Neither a session nor requests without one wait.
    let (_, reply) = server.call_in(&other, "bash", &json!({"command": "echo quick"}));
    assert!(reply.contains("quick"), "{reply}");
    assert!(server.bash("echo quick").contains("quick"));
    assert_eq!(server.metric("eyelet_calls_total{tool=\"bash\"}"), 2);
    // A thread counts as running until shortly after its reply.
    wait_for(&server, "eyelet_running_calls{kind=\"command\"}", 7);
    assert_eq!(server.metric("eyelet_queued_calls{kind=\"command\"}"), 3);
}

#[test]
fn a_session_with_a_full_queue_is_busy_and_another_is_not() {
    let tree = TempTree::new("");
    let server = Server::start(&tree);
    let (busy, other) = (server.new_session(), server.new_session());
    let long = json!({"command": "sleep 600", "timeout_secs": 600});
    let _running: Vec<_> = (0..7).map(|_| server.start_call_in(&busy, "bash", &long)).collect();
    // A call that no thread has taken yet is in the queue.
    wait_for(&server, "eyelet_running_calls{kind=\"command\"}", 7);
    let _queued: Vec<_> = (0..128).map(|_| server.start_call_in(&busy, "bash", &long)).collect();
    wait_for(&server, "eyelet_queued_calls{kind=\"command\"}", 128);
    let (_, reply) = server.call_in(&busy, "bash", &long);
    assert!(reply.contains("too many calls are queued; retry in 3 s"), "{reply}");
    let (_, reply) = server.call_in(&other, "bash", &json!({"command": "echo quick"}));
    assert!(reply.contains("quick"), "{reply}");
}
