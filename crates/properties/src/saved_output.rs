//! Commands: output is shown truthfully, and saved to the last byte.

use std::fs;
use std::sync::Arc;

use eyelet::tools::{Bash, BashArgs, Keep, ReadArgs, SavedOutput, StreamReport};
use eyelet::{Jobs, OutputStore, SandboxPolicy, Tool as _, ToolRouter, TurnContext};
use testkit::{Choices, TempTree, naive_read, random_tree};

use crate::arguments::{COMMANDS, arguments, check};
use crate::head_tail::naive_shown;
use crate::pages::{compared, page};
use crate::target::{Check, Target};

/// The target. It runs a few fixed commands without a sandbox; the input chooses their output.
pub const TARGET: Target = Target { name: "saved_output", start };

/// The window of a stream.
const WINDOW: usize = 50 * 1024;

/// The store forgets the oldest files above this size.
const MAX_SESSION_BYTES: u64 = 4 << 20;

const PARTS: [&[u8]; 12] = [
    b"line\n",
    b"\r\n",
    b"\n",
    b"word ",
    b"\xff",
    b"\xe2\x82",
    b"\0",
    "\u{1F600}".as_bytes(),
    b"\rredrawn",
    b"\x1b[31m",
    b"\x1b[2K",
    b"\x08",
];

fn start() -> Check {
    let tree = random_tree(&mut Choices::random(3));
    let store =
        OutputStore::session(tree.beside()).with_limits(MAX_SESSION_BYTES, MAX_SESSION_BYTES);
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Full)
        .expect("the path is absolute")
        .with_environment(std::env::vars_os().collect())
        .with_output_store(Arc::new(store));
    let with_jobs = turn.clone().with_jobs(Arc::new(Jobs::new()));
    let tools = ToolRouter::new().definitions_in(&with_jobs);
    let tools: Vec<_> =
        tools.into_iter().filter(|tool| ["bash", "jobs"].contains(&tool.name)).collect();
    Box::new(move |choices| {
        if choices.u8(0..8) == 7 {
            let tool = choices.pick(&tools);
            let mut arguments = arguments(tool, &tree, choices);
            // A command that the input spells would do anything, and a long wait is no hang.
            if let Some(arguments) = arguments.as_object_mut() {
                arguments.remove("wait_secs");
                let is_fixed = COMMANDS
                    .iter()
                    .any(|command| arguments.get("command") == Some(&(*command).into()));
                if !is_fixed {
                    arguments.insert("command".to_owned(), COMMANDS[0].into());
                }
            }
            check(tool.name, &arguments.to_string(), &with_jobs);
        } else {
            check_streams(&tree, &turn, choices);
        }
    })
}

fn check_streams(tree: &TempTree, turn: &TurnContext, choices: &mut Choices<'_>) {
    let keep = *choices.pick(&[Keep::Head, Keep::Tail, Keep::Both]);
    let streams = [output(choices), output(choices)];
    for (name, stream) in ["out", "err"].iter().zip(&streams) {
        fs::write(tree.path().join(name), stream).expect("the tree is writable");
    }
    let args = BashArgs { keep: Some(keep), ..BashArgs::new("cat out; cat err >&2") };
    let report = Bash.run(args, turn).expect("the command runs");
    assert_eq!((report.exit_code, report.timed_out), (0, false));
    for (stream, report) in streams.iter().zip([&report.stdout, &report.stderr]) {
        check_stream(stream, report, keep, turn);
    }
}

/// What a command prints.
fn output(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut stream = Vec::new();
    for _ in 0..choices.usize(0..12) {
        let is_long = choices.u8(..) < 60 && stream.len() < 2 * WINDOW;
        let times = if is_long { choices.usize(1..20_000) } else { 1 };
        stream.extend(PARTS[choices.usize(0..PARTS.len())].repeat(times));
    }
    stream
}

fn check_stream(stream: &[u8], report: &StreamReport, keep: Keep, turn: &TurnContext) {
    assert_eq!(report.shown, naive_shown(stream, keep, WINDOW));
    assert_eq!(report.total_bytes, stream.len() as u64);
    assert_eq!(report.lines, stream.split_inclusive(|byte| *byte == b'\n').count() as u64);
    match &report.saved {
        None => assert!(!report.is_truncated(), "nothing was saved"),
        Some(SavedOutput::Whole { file }) => {
            let saved = fs::read(file).expect("the file is there");
            assert!(saved == stream, "{} bytes of {}", saved.len(), stream.len());
            let path = file.to_str().expect("the path is UTF-8");
            let last = naive_read(stream, 1, 1, 1).total_lines.max(1);
            let args = ReadArgs { offset: Some(last), limit: Some(1), ..ReadArgs::new(path) };
            assert_eq!(compared(page(turn, args)), naive_read(stream, last as usize, 1, 1));
        }
        Some(other) => panic!("{other:?}"),
    }
}
