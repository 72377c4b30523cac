//! Background jobs over MCP: whose they are, and how long they live.

use eyelet::limits::MAX_SESSIONS;
use serde_json::{Value, json};
use testkit::TempTree;
use testkit::mcp_client::{LONG, Server, text_of};
use testkit::workspace::{FULL, SUPERVISED, Workspace, is_mentioned, marked, marker, within};

use crate::http_client::{self, call};
use crate::session::meta;

/// The error of calls that belong to no session.
const NO_SESSION: &str =
    "background jobs are not available: a job belongs to a session, and this call has no session";

fn tree() -> TempTree {
    TempTree::new("notes.txt = one")
}

/// The arguments of a command that becomes a job after one second.
fn late(command: &str) -> Value {
    json!({"command": command, "on_timeout": "background", "timeout_secs": 1})
}

#[test]
fn over_stdio_jobs_work_in_every_protocol_version() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let tree = tree();
        let mut server = Server::start(&tree, &[]);
        let has_handshake = version != "2026-07-28";
        if has_handshake {
            let params = json!({
                "protocolVersion": version, "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}
            });
            server.request("initialize", params);
            server.notify("notifications/initialized", json!({}));
        }
        let mut call = |tool: &str, arguments: Value| {
            let mut params = json!({"name": tool, "arguments": arguments});
            if !has_handshake {
                params["_meta"] = meta("test", json!({}));
            }
            text_of(&server.request("tools/call", params))
        };
        let reply = call("bash", late("echo up; exec sleep 1000"));
        assert!(reply.starts_with("[job 1 running, "), "{version}: {reply}");
        let reply = call("bash", json!({"command": "exec sleep 1000", "background": true}));
        assert!(reply.starts_with("[job 2 running, "), "{version}: {reply}");
        let reply = call("jobs", json!({"job": 1, "stop": true}));
        assert!(reply.starts_with("[job 1 killed, "), "{version}: {reply}");
        assert!(call("jobs", json!({})).starts_with("2 running "), "{version}");
    }
}

#[test]
fn http_requests_without_a_session_cannot_use_jobs() {
    let tree = tree();
    let server = http_client::Server::start(&tree);
    let session = server.new_session();
    let made_up = "Mcp-Session-Id: made-up";
    // The newest protocol version has no sessions, whatever the header says.
    for header in ["X-None: 1", session.as_str(), made_up] {
        for (tool, arguments) in [
            ("bash", json!({"command": "touch made", "background": true})),
            ("bash", late("touch made")),
            ("jobs", json!({})),
            ("jobs", json!({"job": 1, "wait_secs": 1})),
        ] {
            let headers = server.call_headers(tool);
            let headers: Vec<_> = headers.iter().map(String::as_str).chain([header]).collect();
            let (status, reply) = server.post(&headers, &call(tool, &arguments.to_string()));
            assert!(status == 200 && reply.contains(NO_SESSION), "{header} {arguments}: {reply}");
            assert!(reply.contains("\"isError\":true"), "{header} {arguments}: {reply}");
        }
    }
    assert!(!tree.path().join("made").exists());
    // The session itself can.
    let (_, reply) = server.call_in(&session, "bash", &late("exec sleep 1000"));
    assert!(reply.contains("[job 1 running, "), "{reply}");
}

#[test]
fn http_sessions_do_not_see_each_others_jobs() {
    let tree = tree();
    let server = http_client::Server::start(&tree);
    let (mine, other) = (server.new_session(), server.new_session());
    let (_, reply) = server.call_in(&mine, "bash", &late("exec sleep 1000"));
    assert!(reply.contains("[job 1 running, "), "{reply}");
    let (_, reply) = server.call_in(&other, "jobs", &json!({}));
    assert!(reply.contains("no jobs"), "{reply}");
    let (_, reply) = server.call_in(&other, "jobs", &json!({"job": 1, "stop": true}));
    assert!(reply.contains("job 1 does not exist; this session has no jobs"), "{reply}");
    let (_, reply) = server.call_in(&mine, "jobs", &json!({}));
    assert!(reply.contains("1 running "), "{reply}");
}

#[test]
fn the_end_of_an_http_session_kills_its_jobs() {
    for flags in SUPERVISED {
        let tree = tree();
        let server = http_client::Server::start_with(&tree, flags);
        let (mine, other) = (server.new_session(), server.new_session());
        let [marker, theirs] = [marker(), marker()];
        let command = format!("setsid sleep {marker} & sleep {marker}; true");
        let (_, reply) = server.call_in(&mine, "bash", &late(&command));
        assert!(reply.contains("[job 1 running, "), "{flags:?} {reply}");
        server.call_in(&other, "bash", &late(&format!("exec sleep {theirs}")));
        assert!(within(LONG, || marked(&marker) == 2), "{flags:?}");
        // A call that waits does not keep the job.
        let wait = json!({"job": 1, "wait_secs": 600});
        std::thread::scope(|scope| {
            scope.spawn(|| server.call_in(&mine, "jobs", &wait));
            let head = [&server.host(), &server.bearer(), mine.as_str()];
            let (status, answer) = server.send("DELETE /mcp", &head, "");
            assert_eq!(status, 204, "{flags:?} {answer}");
        });
        assert!(within(LONG, || marked(&marker) == 0), "{flags:?}");
        assert_eq!(marked(&theirs), 1, "{flags:?}");
    }
}

#[test]
fn a_session_with_a_running_job_is_not_ended_for_another() {
    let tree = tree();
    let server = http_client::Server::start(&tree);
    let session = server.new_session();
    server.call_in(&session, "bash", &late("exec sleep 1000"));
    for _ in 0..MAX_SESSIONS + 5 {
        server.new_session();
    }
    let (status, reply) = server.call_in(&session, "jobs", &json!({"job": 1, "stop": true}));
    assert!(status == 200 && reply.contains("[job 1 killed, "), "{reply}");
    for _ in 0..MAX_SESSIONS {
        server.new_session();
    }
    assert_eq!(server.call_in(&session, "jobs", &json!({})).0, 404);
}

/// How a server ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Input,
    Signal(&'static str),
}

#[test]
fn no_process_of_eight_jobs_outlives_the_server() {
    for flags in SUPERVISED {
        for end in [End::Input, End::Signal("TERM"), End::Signal("KILL")] {
            let workspace = Workspace::new("");
            let mut server = Server::run(workspace.eyelet(flags).arg("mcp"));
            server.initialize("test", &json!({}));
            let marker = marker();
            let command =
                format!("setsid sleep {marker} & (sleep {marker} &); sleep {marker}; true");
            for _ in 0..8 {
                server.send_call("bash", late(&command));
            }
            for _ in 0..8 {
                let reply = text_of(&server.message());
                assert!(reply.contains(" running, "), "{flags:?} {end:?}: {reply}");
            }
            assert!(within(LONG, || marked(&marker) == 24), "{flags:?} {end:?}");
            match end {
                End::Input => drop(server.close()),
                End::Signal(name) => {
                    server.signal(name);
                    server.wait();
                }
            }
            assert!(
                within(LONG, || !is_mentioned(&marker)),
                "{flags:?} {end:?}: {}",
                marked(&marker)
            );
        }
    }
}

#[test]
fn other_calls_are_answered_while_eight_jobs_run_and_forty_calls_wait() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    for _ in 0..8 {
        server.send_call("bash", late("until [ -e go ]; do sleep 0.05; done"));
    }
    for _ in 0..8 {
        let reply = text_of(&server.message());
        assert!(reply.contains(" running, "), "{reply}");
    }
    let mut waits: Vec<_> = (0..40)
        .map(|number| server.send_call("jobs", json!({"job": number % 8 + 1, "wait_secs": 600})))
        .collect();
    // Each reply is the next message: none of the waits ends before.
    for _ in 0..3 {
        assert_eq!(server.text("read", json!({"path": "notes.txt"})), "[lines 1-1 of 1]\none");
        assert!(server.text("grep_files", json!({"pattern": "one"})).contains("notes.txt"));
        assert!(server.text("list_dir", json!({"dir_path": tree.str()})).contains("notes.txt"));
        let reply = server.text("bash", json!({"command": "echo a"}));
        assert_eq!(reply, "[exit 0; stdout 1 line; stderr empty]\na\n");
        assert!(server.text("jobs", json!({"job": 1})).starts_with("[job 1 running, "));
        assert_eq!(server.text("jobs", json!({})).lines().count(), 8);
    }
    tree.file("go", "");
    while !waits.is_empty() {
        let answer = server.message();
        let id = answer["id"].as_u64().unwrap();
        assert!(waits.contains(&id), "{answer}");
        waits.retain(|wait| *wait != id);
        assert!(text_of(&answer).contains(" exited 0, "), "{answer}");
    }
}

#[test]
fn progress_carries_the_last_line_of_output() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let reply = server.text("bash", late("printf 'first\\nof the job\\n'; exec sleep 1000"));
    assert!(reply.starts_with("[job 1 running, "), "{reply}");
    for (tool, arguments, start, end) in [
        (
            "bash",
            json!({"command": "printf 'one\\n\\033[1m50%%\\r60%%'; sleep 4.5"}),
            "15 bytes printed, ",
            " s: 60%",
        ),
        ("jobs", json!({"job": 1, "wait_secs": 4}), "17 bytes printed, ", " s: of the job"),
    ] {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}});
        let id = server.send("tools/call", params);
        let report = server.message();
        assert_eq!(report["method"], "notifications/progress", "{report}");
        let message = report["params"]["message"].as_str().unwrap();
        assert!(message.starts_with(start) && message.ends_with(end), "{message}");
        while server.message()["id"] != id {}
    }
}

#[test]
fn the_description_of_background_says_who_reaches_the_ports_of_a_job() {
    let tree = tree();
    let (session, machine) = (
        "Only commands of this session can reach its ports.",
        "Its ports are open on this machine.",
    );
    for (flags, expected) in [
        (&[][..], session),
        (&["--sandbox", "read-only"], session),
        (&["--allow-host", "example.org"], session),
        (&["--network"], machine),
        (&["--sandbox", "read-only", "--network"], machine),
        (FULL, machine),
    ] {
        let mut server = Server::run(testkit::cli::command(&tree).arg("mcp").args(flags));
        server.initialize("test", &json!({}));
        let answer = server.request("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        let bash = tools.iter().find(|tool| tool["name"] == "bash").unwrap();
        let said = bash["inputSchema"]["properties"]["background"]["description"].as_str().unwrap();
        assert!(said.ends_with(&format!(" {expected}")), "{flags:?}: {said}");
    }
}
