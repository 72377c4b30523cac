//! A server answers each request of any stream exactly once, and writes only messages.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};

use eyelet::{Root, SandboxPolicy, ToolRouter, TurnContext};
use eyelet_mcp::Options;
use eyelet_mcp::internals::{FileServer, Parsed, lines, parse};
use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::Value;
use testkit::TempTree;

use crate::frames;
use crate::target::{Check, Target};

/// The target.
pub const TARGET: Target = Target { name: "sessions", start };

const HANDSHAKE: &str = r#"{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

fn start() -> Check {
    let tree = TempTree::new("notes.txt = one");
    // Without settings of the sandbox, this policy refuses every command.
    let turn =
        TurnContext::new(tree.path(), SandboxPolicy::WorkspaceWrite).expect("the path is absolute");
    let mut options = Options::new(turn);
    options.roots = vec![Root::open(tree.path()).expect("the tree is there").into()];
    let server = FileServer::new(options, ToolRouter::new());
    Box::new(move |choices| {
        // The tree lives as long as the server.
        let _ = &tree;
        let mut input = Vec::new();
        if choices.u8(0..8) != 7 {
            input.extend(HANDSHAKE.as_bytes());
        }
        input.extend(frames::stream(choices));
        let output = serve(&server, &input);
        check_answers(&input, &output);
    })
}

fn serve(server: &FileServer, input: &[u8]) -> Vec<u8> {
    let file = |name| File::from(memfd_create(name, MemfdFlags::CLOEXEC).expect("memory is left"));
    let (mut stdin, mut stdout) = (file("input"), file("output"));
    stdin.write_all(input).and_then(|()| stdin.rewind()).expect("memory is left");
    let output = stdout.try_clone().expect("descriptors are left");
    let is_answered = server.serve(stdin, output).expect("a runtime can be created");
    assert!(is_answered, "a request has no answer");
    let mut written = Vec::new();
    stdout.rewind().and_then(|()| stdout.read_to_end(&mut written)).expect("it can be read");
    written
}

fn check_answers(input: &[u8], output: &[u8]) {
    let mut answers: HashMap<String, usize> = HashMap::new();
    let output = std::str::from_utf8(output).expect("the output is UTF-8");
    assert!(output.is_empty() || output.ends_with('\n'));
    for line in output.lines() {
        let answer: Value = serde_json::from_str(line).expect("each line is a message");
        assert_eq!(answer["jsonrpc"], "2.0", "{line}");
        if answer.get("method").is_none() {
            *answers.entry(answer["id"].to_string()).or_default() += 1;
        }
    }
    let mut requests: HashMap<String, usize> = HashMap::new();
    let mut cancels = false;
    for line in lines([input]).iter().map(Option::as_deref) {
        cancels |= line.is_some_and(|line| line.windows(9).any(|word| word == b"cancelled"));
        match parse(line) {
            Parsed::Request(id, _) => *requests.entry(id).or_default() += 1,
            // Its answer has its id, if it has a valid one.
            Parsed::Refused(answer) => {
                let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
                *requests.entry(answer["id"].to_string()).or_default() += 1;
            }
            Parsed::Message | Parsed::Nothing => {}
        }
    }
    for (id, asked) in &requests {
        let answered = answers.get(id).copied().unwrap_or_default();
        // A request whose id is in use gets an answer without id.
        assert!(answered <= *asked || id == "null", "{id}: {answered} answers, {asked} requests");
        assert!(answered > 0 || cancels, "{id} has no answer");
    }
    for id in answers.keys() {
        assert!(requests.contains_key(id) || id == "null", "{id} was never requested");
    }
}
