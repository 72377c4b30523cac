//! Any arguments of any tool get a bounded result, the same in both dialects.

use std::sync::Arc;

use eyelet::limits::MAX_ANSWER_BYTES;
use eyelet::{
    AttachmentMode, Envelope, FunctionCallError, Jobs, Root, SandboxPolicy, ToolDefinition,
    ToolInvocation, ToolRouter, TurnContext,
};
use serde_json::{Map, Value, json};
use testkit::{Choices, TempTree, random_tree};

use crate::target::{Check, Target};

/// The target. It refuses all commands; the target `saved_output` runs commands.
pub const TARGET: Target = Target { name: "arguments", start };

/// Commands that change nothing.
pub(crate) const COMMANDS: [&str; 10] = [
    "true",
    "echo hi; echo no >&2",
    "exit 3",
    "kill -9 $$",
    "printf '\\xff\\xfe'",
    "no-such-command-at-all",
    "head -c 70000 /dev/zero",
    "cat",
    "ls -a",
    "'",
];

fn start() -> Check {
    // The tools only read, so all inputs share a tree.
    let tree = random_tree(&mut Choices::random(3));
    tree.file("text.txt", "text\n".repeat(2500));
    // Without settings of the sandbox, this policy refuses every command.
    let turn = TurnContext::new(tree.path(), SandboxPolicy::WorkspaceWrite)
        .expect("the path is absolute")
        .with_root(Root::open(tree.path()).expect("the tree is there"))
        .with_jobs(Arc::new(Jobs::new()));
    let tools = ToolRouter::new().definitions_in(&turn);
    Box::new(move |choices| {
        let tool = choices.pick(&tools);
        let arguments = match choices.bool() {
            true => arguments(tool, &tree, choices).to_string(),
            false => String::from_utf8_lossy(&choices.rest()).into_owned(),
        };
        let arguments = if tool.name == "grep_files" { plain(arguments) } else { arguments };
        check(tool.name, &arguments, &turn);
    })
}

/// The same arguments, with a plain pattern unless it is short. Most of the time would go into compiling regular
/// expressions, which the target `patterns` has.
fn plain(arguments: String) -> String {
    let Ok(mut object) = serde_json::from_str::<Map<String, Value>>(&arguments) else {
        return arguments;
    };
    match object.get_mut("pattern") {
        Some(Value::String(pattern)) if pattern.len() > 4 && pattern.contains(SPECIAL) => {
            *pattern = pattern.replace(SPECIAL, "-");
            Value::Object(object).to_string()
        }
        _ => arguments,
    }
}

/// What has a meaning in a regular expression.
const SPECIAL: [char; 14] = ['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'];

/// Arguments by the tool's schema, mostly valid.
pub(crate) fn arguments(
    tool: &ToolDefinition,
    tree: &TempTree,
    choices: &mut Choices<'_>,
) -> Value {
    let required = tool.input_schema["required"].as_array().cloned().unwrap_or_default();
    let mut arguments = Map::new();
    for name in tool.input_schema["properties"].as_object().expect("an object").keys() {
        let give =
            if required.contains(&json!(name)) { choices.u8(0..30) != 29 } else { choices.bool() };
        if give {
            arguments.insert(name.clone(), value(name, tree, choices));
        }
    }
    if choices.u8(0..20) == 19 {
        arguments.insert("unknown".to_owned(), json!(1));
    }
    Value::Object(arguments)
}

/// A value for the property `name`, valid or not.
fn value(name: &str, tree: &TempTree, choices: &mut Choices<'_>) -> Value {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!("x\u{1b}"),
        json!([]),
        json!({}),
        json!("\0"),
        json!("é".repeat(3000)),
        json!("7"),
        json!(u64::MAX),
        json!(1e300),
        json!(" "),
        json!(""),
    ];
    let paths = [
        json!(tree.str()),
        json!("a"),
        json!("."),
        json!("src"),
        json!(tree.at("text.txt")),
        json!(tree.at("a")),
        json!("missing"),
        json!("../w"),
        json!("/dev/null"),
        json!("-x"),
    ];
    let commands = COMMANDS.map(Value::from);
    let wanted: &[Value] = match name {
        "dir_path" | "path" | "cwd" => &paths,
        "pattern" => {
            &[json!("text"), json!("te.t"), json!("("), json!("$"), json!("\\n"), json!("-x")]
        }
        "include" => &[json!("*.txt"), json!("!a*"), json!("{a,b}"), json!("["), json!("**/a")],
        "command" => &commands,
        "keep" => &[json!("head"), json!("tail"), json!("both"), json!("middle")],
        "show" => &[json!("files"), json!("lines"), json!("count"), json!("all")],
        "encoding" => &[json!("utf-8"), json!("utf-16le"), json!("GBK"), json!("latin1")],
        "on_timeout" => &[json!("kill"), json!("background"), json!("wait")],
        "numbers" | "background" | "stop" => &[json!(true), json!(false)],
        "ignored" => &[json!("show"), json!("skip"), json!("hide")],
        _ => &[
            json!(0),
            json!(1),
            json!(2),
            json!(9),
            json!("3"),
            json!(2000),
            json!(2001),
            json!(5.0),
        ],
    };
    match choices.u8(0..8) {
        0 => choices.pick(&odd).clone(),
        1 => json!(String::from_utf8_lossy(&choices.bytes(200))),
        2 => json!(choices.u64(..)),
        _ => choices.pick(wanted).clone(),
    }
}

/// Checks one call: no `Fatal`, both dialects agree, no limit is exceeded.
pub(crate) fn check(tool: &str, text: &str, turn: &TurnContext) {
    let outcome = ToolRouter::new().call(&ToolInvocation::new(tool, text, turn));
    let json = Envelope::new(&outcome, AttachmentMode::Inline).to_json();
    assert!(json.len() <= MAX_ANSWER_BYTES + 100, "{} bytes", json.len());
    assert!(!json.contains('\n'));
    let envelope: Value = serde_json::from_str(&json).expect("the reply has it");
    let function = match outcome.and_then(|output| output.function()) {
        Ok(function) => function,
        Err(FunctionCallError::Fatal(message)) => panic!("fatal: {message}"),
        Err(FunctionCallError::RespondToModel(error)) => {
            assert_eq!(envelope["ok"], false);
            assert_eq!(envelope["error"]["message"], error.message);
            assert_eq!(envelope["error"]["code"], error.code.as_str());
            assert!(!error.message.is_empty() && error.message.len() < 20_000);
            return;
        }
    };
    assert_eq!(envelope["ok"], true);
    let arguments: Value = serde_json::from_str(text).expect("invalid JSON is refused");
    let data = &envelope["data"];
    match tool {
        "grep_files" if arguments["show"] == "lines" => {
            assert_eq!(data["success"], function.success.expect("the reply has it"));
            let matches = data["matches"].as_array().expect("the reply has it");
            assert!(
                matches.len() <= 2000
                    && matches.is_empty() != function.success.expect("the reply has it")
            );
        }
        "grep_files" if arguments["show"] == "count" => {
            assert_eq!(data["success"], function.success.expect("the reply has it"));
            assert_eq!(data["files"], data["counts"].as_array().expect("the reply has it").len());
        }
        "list_dir" | "grep_files" | "find_files" => {
            assert_eq!(data["content"], function.content);
            assert_eq!(data["success"], function.success.expect("the reply has it"));
        }
        "read" => {
            assert_eq!(function.success, Some(true));
            let body = data["content"].as_str().expect("the reply has it");
            let shown = &function.content;
            if data["binary"] == true {
                assert!(shown.starts_with("[binary: ") && shown.lines().count() <= 33, "{shown}");
            } else if arguments["numbers"] == true {
                let lines = shown.split_inclusive('\n').skip(1);
                let plain: String =
                    lines.map(|line| line.split_once('\t').expect("the reply has it").1).collect();
                assert_eq!(plain, body);
            } else {
                assert!(shown.ends_with(body));
            }
            assert!(body.lines().count() <= 2000);
            assert!(body.split('\n').all(|line| line.chars().count() <= 501));
        }
        "bash" => {
            assert_eq!(function.success, Some(data["exit_code"] == 0));
            for stream in ["stdout", "stderr"] {
                let shown = data[stream].as_str().expect("the reply has it");
                assert!(shown.len() <= 51_200, "{} bytes", shown.len());
                // The text form shows what a terminal would show.
                let is_plain = !shown.contains(['\r', '\u{8}', '\u{1b}']);
                assert!(!is_plain || function.content.contains(shown));
            }
        }
        "jobs" => assert_eq!(function.success, Some(true)),
        other => panic!("{other} needs its own check here"),
    }
}
