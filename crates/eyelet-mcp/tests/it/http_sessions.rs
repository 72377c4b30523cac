//! Sessions over HTTP: their number, and what each has for itself.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use eyelet::limits::MAX_SESSIONS;
use serde_json::json;
use testkit::mcp_client::output_directories;
use testkit::workspace::{FULL, TIERS};
use testkit::{TempTree, eyelet_bin};

use crate::http_client::Server;

fn tree() -> TempTree {
    TempTree::new("notes.txt = one")
}

/// The file that a reply names as saved output.
fn saved(reply: &str) -> PathBuf {
    let (_, rest) = reply.split_once("saved to ").unwrap_or_else(|| panic!("{reply}"));
    rest.split([';', ']']).next().unwrap().into()
}

#[test]
fn a_session_cannot_read_what_another_saved() {
    let tree = tree();
    let server = Server::start(&tree);
    let (mine, other) = (server.new_session(), server.new_session());
    let (_, reply) = server.call_in(&mine, "bash", &json!({"command": "seq 100000"}));
    let file = saved(&reply);
    let page = json!({"path": file, "limit": 1});
    let (_, reply) = server.call_in(&mine, "read", &page);
    assert!(reply.contains("of 100000"), "{reply}");
    let (_, reply) = server.call_in(&other, "read", &page);
    assert!(reply.contains("\"isError\":true"), "{reply}");
    let reply = server.read(&page.to_string());
    assert!(reply.contains("\"isError\":true"), "{reply}");
}

#[test]
fn commands_of_a_session_cannot_read_what_another_left() {
    for tier in TIERS {
        let tree = tree();
        let server = Server::start_with(&tree, tier);
        let (mine, other) = (server.new_session(), server.new_session());
        let leave = json!({"command": "seq 100000; echo secret > \"$TMPDIR/left\""});
        let file = saved(&server.call_in(&mine, "bash", &leave).1);
        let temp = tree.beside();
        let look = format!(
            "cat \"$TMPDIR/left\"; head -n 1 '{}'; cat '{}'/*/left",
            file.display(),
            temp.display()
        );
        let (_, reply) = server.call_in(&mine, "bash", &json!({"command": look}));
        assert!(reply.contains("secret\\n1\\n"), "{tier:?}: {reply}");
        let (_, theirs) = server.call_in(&other, "bash", &json!({"command": look}));
        for reply in [theirs, server.bash(&look)] {
            assert!(reply.contains("[exit 1;"), "{tier:?}: {reply}");
            assert!(!reply.contains("secret") && !reply.contains("\\n1\\n"), "{tier:?}: {reply}");
        }
    }
}

#[test]
fn requests_without_a_session_share_their_files() {
    let tree = tree();
    let server = Server::start(&tree);
    let file = saved(&server.bash("seq 100000"));
    let reply = server.read(&json!({"path": file, "limit": 1}).to_string());
    assert!(reply.contains("of 100000"), "{reply}");
}

#[test]
fn the_end_of_a_session_removes_what_it_saved() {
    let tree = tree();
    let server = Server::start(&tree);
    let session = server.new_session();
    server.call_in(&session, "bash", &json!({"command": "seq 100000"}));
    assert_eq!(output_directories(&tree), 1);
    let (status, answer) =
        server.send("DELETE /mcp", &[&server.host(), &server.bearer(), &session], "");
    assert_eq!(status, 204, "{answer}");
    let start = std::time::Instant::now();
    while output_directories(&tree) > 0 {
        assert!(start.elapsed() < testkit::mcp_client::LONG);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_session_beyond_the_limit_ends_the_one_that_was_idle_the_longest() {
    let tree = tree();
    let server = Server::start(&tree);
    let mut sessions: Vec<_> = (0..MAX_SESSIONS).map(|_| server.new_session()).collect();
    let read = json!({"path": "notes.txt"});
    let is_alive = |session: &str| server.call_in(session, "read", &read).0 == 200;
    // Now the second one was idle the longest.
    assert!(is_alive(&sessions[0]));
    sessions.push(server.new_session());
    assert_eq!(server.call_in(&sessions[1], "read", &read).0, 404);
    sessions.remove(1);
    assert!(sessions.iter().all(|session| is_alive(session)));
    server.check_alive();
}

#[test]
fn a_session_with_an_unfinished_request_does_not_end() {
    let tree = tree();
    let server = Server::start(&tree);
    let busy = server.new_session();
    let stream = server.listen(&busy);
    for _ in 0..MAX_SESSIONS + 5 {
        server.new_session();
    }
    assert_eq!(server.call_in(&busy, "read", &json!({"path": "notes.txt"})).0, 200);
    drop(stream);
}

#[test]
fn every_session_may_have_a_stream_and_a_request() {
    let tree = tree();
    let server = Server::start(&tree);
    let sessions: Vec<_> = (0..MAX_SESSIONS).map(|_| server.new_session()).collect();
    let streams: Vec<_> = sessions.iter().map(|session| server.listen(session)).collect();
    for session in &sessions {
        let (status, reply) = server.call_in(session, "read", &json!({"path": "notes.txt"}));
        assert_eq!(status, 200, "{reply}");
    }
    // None of them is idle.
    let (status, reply) = server.initialize();
    assert_eq!(status, 503, "{reply}");
    drop(streams);
}

#[test]
fn the_server_raises_its_limit_of_open_files() {
    let tree = tree();
    let mut command = Command::new("bash");
    command
        .args(["-c", "ulimit -S -n 512; exec \"$0\" \"$@\""])
        .arg(eyelet_bin())
        .args(["mcp", "--http", "127.0.0.1:0"])
        .args(FULL)
        .current_dir(tree.path())
        .env("HOME", tree.beside());
    let server = Server::run(&mut command);
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.child.id())).unwrap();
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let [soft, hard] = limit.split_whitespace().take(2).collect::<Vec<_>>()[..] else { panic!() };
    let most = hard.parse::<u64>().map_or(4096, |hard| hard.min(4096));
    assert_eq!(soft, most.to_string(), "{limits}");
}

#[test]
fn an_answer_that_was_lost_is_sent_again() {
    let tree = tree();
    let server = Server::start(&tree);
    let session = server.new_session();
    // The answer is ready when the client reconnects; then the client reconnects before it is ready.
    for wait in ["", "until [ -e ready ]; do sleep 0.01; done; "] {
        let event = server.call_and_lose(&session, &format!("{wait}echo an answer; : > ended"));
        if wait.is_empty() {
            testkit::workspace::within(testkit::mcp_client::LONG, || {
                tree.path().join("ended").exists()
            });
        } else {
            tree.file("ready", "");
        }
        for _ in 0..2 {
            let (status, reply) = server.continue_after(&session, &event);
            assert!(status == 200 && reply.contains("an answer"), "{wait}: {reply}");
        }
    }
}

#[test]
fn another_session_does_not_get_a_lost_answer() {
    let tree = tree();
    let server = Server::start(&tree);
    let (mine, other) = (server.new_session(), server.new_session());
    let event = server.call_and_lose(&mine, "echo an answer; : > ended");
    testkit::workspace::within(testkit::mcp_client::LONG, || tree.path().join("ended").exists());
    let (_, reply) = server.continue_after(&mine, &event);
    assert!(reply.contains("an answer"), "{reply}");
    for session in [other.as_str(), "X-None: 1", "MCP-Protocol-Version: 2026-07-28"] {
        let (_, reply) = server.continue_after(session, &event);
        assert!(!reply.contains("an answer"), "{session}: {reply}");
    }
    // Nor after the end of the session.
    server.send("DELETE /mcp", &[&server.host(), &server.bearer(), &mine], "");
    let (status, reply) = server.continue_after(&mine, &event);
    assert!(status == 404 && !reply.contains("an answer"), "{reply}");
}
