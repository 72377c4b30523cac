//! `eyelet mcp` over stdio: invalid input, many calls, slow clients and shutdown (group F of the security
//! model).

use std::collections::BTreeSet;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::TempTree;
use testkit::cli::command;
use testkit::mcp_client::{LONG, Server, WRONG_ARGUMENTS, output_directories, text_of};

fn tree() -> TempTree {
    TempTree::new("notes.txt = one")
}

/// The next ordinary call succeeds.
fn check_alive(server: &mut Server) {
    assert_eq!(server.text("read", json!({"path": "notes.txt"})), "[lines 1-1 of 1]\none");
}

fn code(server: &mut Server, line: impl AsRef<[u8]>) -> i64 {
    server.line(line);
    server.message()["error"]["code"].as_i64().unwrap()
}

#[test]
fn invalid_messages_get_an_error_and_the_server_continues() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    for line in ["{", "nonsense", &"[".repeat(100_000), r#"{"a":"\ud800"}"#] {
        assert_eq!(code(&mut server, line), -32700, "{line:.40}");
    }
    assert_eq!(code(&mut server, b"{\"method\":\"\xff\xfe\"}"), -32700);
    for line in ["[]", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "{}", "7", "null"] {
        assert_eq!(code(&mut server, line), -32600, "{line}");
    }
    server.line("");
    server.line("\r");
    server.line("{\"jsonrpc\":\"2.0\",\"id\":\"crlf\",\"method\":\"ping\"}\r");
    assert_eq!(server.message()["id"], "crlf");
    check_alive(&mut server);
}

#[test]
fn a_line_above_the_limit_is_refused_and_the_server_continues() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    assert_eq!(code(&mut server, vec![b'x'; 9 << 20]), -32700);
    let huge = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "read", "arguments": {"path": "y".repeat(20 << 20)}}});
    assert_eq!(code(&mut server, huge.to_string()), -32700);
    check_alive(&mut server);
}

#[test]
fn unknown_methods_and_tools_are_protocol_errors() {
    let tree = tree();
    let mut server = Server::start(&tree, &[]);
    server.notify("notifications/initialized", json!({}));
    let early = server.call("read", json!({"path": "notes.txt"}));
    assert!(early["error"]["code"].is_i64(), "{early}");
    server.initialize("test", &json!({}));
    assert_eq!(server.request("no/such/method", json!({}))["error"]["code"], -32601);
    assert_eq!(server.request("prompts/list", json!({}))["error"]["code"], -32601);
    assert_eq!(server.request("resources/list", json!({}))["error"]["code"], -32601);
    assert_eq!(server.call("no_such_tool", json!({}))["error"]["code"], -32602);
    assert_eq!(server.call("read", json!([]))["error"]["code"], -32602);
    assert_eq!(server.request("tools/call", json!({"name": 3}))["error"]["code"], -32602);
    check_alive(&mut server);
}

#[test]
fn a_duplicate_id_is_refused_and_the_first_call_is_answered() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let id = server.send_call("bash", json!({"command": "sleep 1; echo first"}));
    let again = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    assert_eq!(code(&mut server, again.to_string()), -32600);
    let answer = server.message();
    assert_eq!(answer["id"], id);
    assert!(text_of(&answer).ends_with("first\n"));
    check_alive(&mut server);
}

#[test]
fn arguments_are_lenient_with_numbers_and_strict_with_names() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    for limit in ["25", "25.0", "\"25\"", "null"] {
        server.line(format!(
            r#"{{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{{"name":"read","arguments":{{"path":"notes.txt","limit":{limit}}}}}}}"#
        ));
        assert_eq!(text_of(&server.message()), "[lines 1-1 of 1]\none", "{limit}");
    }
    let invalid = invalid_only_for_the_tool();
    let invalid = invalid.iter().map(|(arguments, named)| (arguments.as_str(), *named));
    for (arguments, named) in WRONG_ARGUMENTS.into_iter().chain(invalid) {
        server.line(format!(
            r#"{{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{{"name":"read","arguments":{arguments}}}}}"#
        ));
        let answer = server.message();
        assert_eq!(answer["result"]["isError"], true, "{arguments}: {answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let expected = format!("failed to parse function arguments: {named}");
        assert!(text.starts_with(&expected), "{arguments}: {text}");
    }
}

/// Arguments with valid JSON syntax that only the tool's parser refuses.
fn invalid_only_for_the_tool() -> [(String, &'static str); 2] {
    let deep = format!(r#"{{"path":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    [(deep, "`path`: "), (r#"{"path":"\ud800"}"#.to_owned(), "`path`: ")]
}

#[test]
fn large_arguments_cost_little_more_memory_than_their_text() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let wide = format!(r#"{{"path":"notes.txt","z":[{}{{}}]}}"#, r#"{"a":[]},"#.repeat(800_000));
    server.line(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"read","arguments":{wide}}}}}"#
    ));
    let answer = server.message().to_string();
    assert!(answer.contains("unknown field `z`"), "{answer:.300}");
    // The line has 7 MiB. Built as a JSON object, the arguments have more than 400 MiB.
    let peak = memory_kibibytes(server.id(), "VmHWM:");
    assert!(peak < 64 * 1024, "{peak} KiB");
}

/// A line of the process's status, in KiB.
fn memory_kibibytes(process: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn pipelined_calls_are_each_answered_once() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let mut open = BTreeSet::new();
    for _ in 0..64 {
        open.insert(server.send_call("bash", json!({"command": "echo hi"})));
        open.insert(server.send_call("read", json!({"path": "notes.txt"})));
    }
    while !open.is_empty() {
        let answer = server.message();
        text_of(&answer);
        assert!(open.remove(&answer["id"].as_u64().unwrap()), "{answer}");
    }
    assert!(server.is_silent(Duration::from_millis(50)));
}

#[test]
fn an_id_can_be_reused_after_its_answer() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let again = json!({"jsonrpc": "2.0", "id": "again", "method": "tools/call",
        "params": {"name": "read", "arguments": {"path": "notes.txt"}}});
    for _ in 0..200 {
        server.line(again.to_string());
        let answer = server.message();
        assert_eq!(answer["id"], "again");
        assert_eq!(text_of(&answer), "[lines 1-1 of 1]\none");
    }
    assert!(server.is_silent(Duration::from_millis(50)));
}

#[test]
fn slow_and_quick_calls_get_the_same_form_of_answer() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let mut result =
        |command: &str| server.call("bash", json!({"command": command}))["result"].take();
    let slow = result("sleep 1.1; echo hi");
    assert_eq!(slow, result("echo hi"));
    let keys: Vec<_> = slow.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["content", "_meta"], "{slow}");
}

#[test]
fn stdin_may_be_a_file() {
    let tree = tree();
    let lines = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "read", "arguments": {"path": "notes.txt"}}}),
    ];
    tree.file("messages", lines.map(|line| line.to_string()).join("\n"));
    let mut from_file = command(&tree);
    from_file.arg("mcp").stdin(std::fs::File::open(tree.at("messages")).unwrap());
    let output = from_file.output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 2, "{text}");
    assert_eq!(text_of(&answers[1]), "[lines 1-1 of 1]\none");
}

#[test]
fn too_many_calls_of_one_kind_are_busy_while_others_run() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    for _ in 0..200 {
        server.send_call("bash", json!({"command": "sleep 20"}));
    }
    let is_busy =
        |answer: &Value| answer.to_string().contains("too many calls are queued; retry in 3 s");
    let mut busy = 0;
    let read = server.send_call("read", json!({"path": "notes.txt"}));
    loop {
        let answer = server.message();
        if answer["id"] == read {
            assert_eq!(text_of(&answer), "[lines 1-1 of 1]\none");
            break;
        }
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(is_busy(&answer), "{answer}");
        busy += 1;
    }
    let (time, messages) = server.close();
    assert!(time < Duration::from_secs(3), "{time:?}");
    // The read may have finished before some of them.
    busy += messages.iter().filter(|answer| is_busy(answer)).count();
    assert!((60..=64 + 8).contains(&busy), "{busy}");
}

#[test]
fn a_client_that_does_not_read_costs_bounded_memory() {
    let tree = tree();
    tree.file("big.txt", "0123456789012345678901234567890123456789\n".repeat(1500));
    let mut command = command(&tree);
    command.args(["mcp", "--reply-bytes", "60000"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut messages = vec![json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})];
    // The replies exceed the limit of unwritten bytes, so the server stops reading.
    let last = 1500;
    for id in 1..=last {
        messages.push(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "read", "arguments": {"path": "big.txt"}}}));
    }
    let writer = std::thread::spawn(move || {
        for message in messages {
            writeln!(stdin, "{message}").unwrap();
        }
        stdin
    });
    std::thread::sleep(Duration::from_secs(1));
    let resident = memory_kibibytes(child.id(), "VmRSS:");
    assert!(resident < 256 * 1024, "{resident} KiB");
    let stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let ids: BTreeSet<u64> = stdout
        .lines()
        .take(last + 1)
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), last + 1);
    drop(writer.join().unwrap());
    assert!(child.wait().unwrap().success());
}

#[test]
fn invalid_lines_of_a_client_that_does_not_read_cost_bounded_memory() {
    let tree = tree();
    let mut child = command(&tree)
        .arg("mcp")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Each line is answered with an error; all answers together have several hundred MiB.
    let writer = std::thread::spawn(move || {
        let lines = "x\n".repeat(10_000);
        (0..400).all(|_| stdin.write_all(lines.as_bytes()).is_ok())
    });
    // The server stops reading, so its processor time stops growing.
    let time = || std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let mut before = String::new();
    while before != time() && !writer.is_finished() {
        before = time();
        std::thread::sleep(Duration::from_millis(500));
    }
    let resident = memory_kibibytes(child.id(), "VmRSS:");
    assert!(resident < 384 * 1024, "{resident} KiB");
    assert!(!writer.is_finished(), "the server read everything");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!writer.join().unwrap());
}

#[test]
fn stdout_carries_only_protocol_messages_at_any_log_level() {
    let tree = tree();
    let mut command = command(&tree);
    command.env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full");
    let mut server = Server::run(command.args(["mcp", "--sandbox", "full"]));
    server.initialize("test", &json!({}));
    // A command that tries to write to the server's output and to read its input.
    let script = "echo forged >/proc/$PPID/fd/1; cat <&0; ls /proc/self/fd | wc -l";
    let text = server.text("bash", json!({"command": script}));
    assert!(text.starts_with("[exit 0; "), "{text}");
    check_alive(&mut server);
}

#[test]
fn commands_inherit_no_descriptor_of_the_server() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let script = "ls /proc/self/fd | tr '\\n' ' '";
    let text = server.text("bash", json!({"command": script}));
    let (_, fds) = text.split_once('\n').unwrap();
    // `ls` opened the fourth for its listing.
    assert_eq!(fds, "0 1 2 3 ");
}

/// A server with saved output and a running command, and the process id of that command.
fn busy_server(tree: &TempTree) -> (Server, u32) {
    let mut server = Server::initialized(tree, &[], "test");
    server.text("bash", json!({"command": "seq 100000"}));
    assert_eq!(output_directories(tree), 1);
    server.send_call("bash", json!({"command": "echo $$ > pid.new; mv pid.new pid; sleep 300"}));
    let pid = tree.path().join("pid");
    let start = Instant::now();
    while !pid.exists() {
        assert!(start.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(2));
    }
    (server, std::fs::read_to_string(pid).unwrap().trim().parse().unwrap())
}

fn check_gone(tree: &TempTree, process: u32) {
    assert!(!Path::new(&format!("/proc/{process}")).exists(), "the command still runs");
    assert_eq!(output_directories(tree), 0);
}

#[test]
fn end_of_input_kills_commands_and_removes_saved_output() {
    let tree = tree();
    let (server, process) = busy_server(&tree);
    let (time, messages) = server.close();
    check_gone(&tree, process);
    assert!(time < Duration::from_secs(2), "{time:?}");
    assert!(text_of(&messages[0]).starts_with("[cancelled; "), "{messages:?}");
}

#[test]
fn signals_kill_commands_and_remove_saved_output() {
    for name in ["TERM", "HUP", "INT"] {
        let tree = tree();
        let (mut server, process) = busy_server(&tree);
        let start = Instant::now();
        server.signal(name);
        assert!(server.wait().success());
        assert!(start.elapsed() < Duration::from_secs(30), "{name}: {:?}", start.elapsed());
        check_gone(&tree, process);
    }
}

#[test]
fn requests_before_end_of_input_are_answered() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let id = server.send_call("read", json!({"path": "notes.txt"}));
    let (_, messages) = server.close();
    assert_eq!(messages[0]["id"], id);
}

#[test]
fn the_server_starts_with_an_empty_environment() {
    let tree = tree();
    let mut bare = command(&tree);
    bare.env_clear();
    let mut server = Server::run(bare.arg("mcp"));
    server.initialize("test", &json!({}));
    check_alive(&mut server);
}
