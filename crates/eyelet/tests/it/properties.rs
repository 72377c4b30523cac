//! Properties of every tool, for random arguments.

use eyelet::limits::MAX_ANSWER_BYTES;
use eyelet::{
    AttachmentMode, Envelope, FunctionCallError, ToolDefinition, ToolInvocation, ToolRouter,
    TurnContext,
};
use serde_json::{Map, Value, json};
use testkit::{TempTree, each_seed, random_tree};

use crate::ask::{content, data, turn};

fn definitions() -> Vec<ToolDefinition> {
    ToolRouter::new().definitions()
}

/// A random value for the property `name`, valid or not.
fn value(name: &str, tree: &TempTree, random: &mut fastrand::Rng) -> Value {
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
    let wanted: &[Value] = match name {
        "dir_path" | "path" | "cwd" => &paths,
        "pattern" => {
            &[json!("text"), json!("te.t"), json!("("), json!("$"), json!("\\n"), json!("-x")]
        }
        "include" => &[json!("*.txt"), json!("!a*"), json!("{a,b}"), json!("["), json!("**/a")],
        "command" => &[
            json!("true"),
            json!("echo hi; echo no >&2"),
            json!("exit 3"),
            json!("kill -9 $$"),
            json!("printf '\\xff\\xfe'"),
            json!("no-such-command-at-all"),
            json!("head -c 70000 /dev/zero"),
            json!("cat"),
            json!("ls -a"),
            json!("'"),
        ],
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
    let pool = if random.u8(0..5) == 0 { &odd[..] } else { wanted };
    pool[random.usize(0..pool.len())].clone()
}

fn arguments(tool: &ToolDefinition, tree: &TempTree, random: &mut fastrand::Rng) -> Value {
    let required = tool.input_schema["required"].as_array().cloned().unwrap_or_default();
    let mut arguments = Map::new();
    for name in tool.input_schema["properties"].as_object().unwrap().keys() {
        let give =
            if required.contains(&json!(name)) { random.u8(0..30) != 0 } else { random.bool() };
        if give {
            arguments.insert(name.clone(), value(name, tree, random));
        }
    }
    if random.u8(0..20) == 0 {
        arguments.insert("unknown".to_owned(), json!(1));
    }
    Value::Object(arguments)
}

/// Checks one call: no `Fatal`, both dialects agree, no limit is exceeded.
fn check(tool: &str, arguments: &Value, turn: &TurnContext) {
    let outcome = ToolRouter::new().call(&ToolInvocation::new(tool, arguments.to_string(), turn));
    let json = Envelope::new(&outcome, AttachmentMode::Inline).to_json();
    assert!(json.len() <= MAX_ANSWER_BYTES + 100, "{} bytes", json.len());
    assert!(!json.contains('\n'));
    let envelope: Value = serde_json::from_str(&json).unwrap();
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
    let data = &envelope["data"];
    match tool {
        "grep_files" if arguments["show"] == "lines" => {
            assert_eq!(data["success"], function.success.unwrap());
            let matches = data["matches"].as_array().unwrap();
            assert!(matches.len() <= 2000 && matches.is_empty() != function.success.unwrap());
        }
        "grep_files" if arguments["show"] == "count" => {
            assert_eq!(data["success"], function.success.unwrap());
            assert_eq!(data["files"], data["counts"].as_array().unwrap().len());
        }
        "list_dir" | "grep_files" | "find_files" => {
            assert_eq!(data["content"], function.content);
            assert_eq!(data["success"], function.success.unwrap());
        }
        "read" => {
            assert_eq!(function.success, Some(true));
            let body = data["content"].as_str().unwrap();
            let shown = &function.content;
            if data["binary"] == true {
                assert!(shown.starts_with("[binary: ") && shown.lines().count() <= 33, "{shown}");
            } else if arguments["numbers"] == true {
                let lines = shown.split_inclusive('\n').skip(1);
                let plain: String = lines.map(|line| line.split_once('\t').unwrap().1).collect();
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
                let shown = data[stream].as_str().unwrap();
                assert!(shown.len() <= 51_200, "{} bytes", shown.len());
                // The text form shows what a terminal would show.
                let is_plain = !shown.contains(['\r', '\u{8}', '\u{1b}']);
                assert!(!is_plain || function.content.contains(shown));
            }
        }
        other => panic!("{other} needs its own check here"),
    }
}

#[test]
fn any_arguments_get_a_bounded_result_in_both_dialects() {
    each_seed(150, |random| {
        let tree = random_tree(random);
        tree.file("text.txt", "text\n".repeat(random.usize(0..3000)));
        let turn = turn(tree.path()).with_environment(std::env::vars_os().collect());
        for tool in definitions() {
            let rounds = if tool.name == "bash" { 2 } else { 8 };
            for _ in 0..rounds {
                check(tool.name, &arguments(&tool, &tree, random), &turn);
            }
        }
    });
}

#[test]
fn pages_of_any_size_list_every_entry_once() {
    each_seed(60, |random| {
        let tree = random_tree(random);
        let turn = turn(tree.path());
        let listing = |offset: usize, limit: u64| {
            let arguments =
                json!({"dir_path": tree.str(), "offset": offset, "limit": limit, "depth": 99});
            content(&turn, "list_dir", &arguments)
        };
        let entries = |page: &str| -> Vec<String> {
            let lines = page.lines().skip(1).filter(|line| !line.starts_with("More than "));
            lines.map(str::to_owned).collect()
        };
        let mut whole = entries(&listing(1, u64::MAX));
        whole.sort();
        let size = random.u64(1..10);
        let (mut joined, mut offset) = (Vec::new(), 1);
        loop {
            let page = listing(offset, size);
            joined.extend(entries(&page));
            offset += entries(&page).len();
            if !page.contains("\nMore than ") {
                break;
            }
        }
        joined.sort();
        assert_eq!(joined, whole);
    });
}

#[test]
fn pages_of_a_file_join_to_the_file_for_any_page_size() {
    each_seed(60, |random| {
        let tree = TempTree::new("");
        let lines = random.usize(0..50);
        let file: String =
            (0..lines).map(|line| "é".repeat(line) + "\r\n").collect::<String>() + "end";
        tree.file("f", &file);
        let (mut joined, mut offset) = (String::new(), 1);
        let size = random.u64(1..20);
        loop {
            let arguments = json!({"path": "f", "offset": offset, "limit": size});
            let page = data(&turn(tree.path()), "read", &arguments);
            joined += page["content"].as_str().unwrap();
            offset += page["lines_shown"].as_u64().unwrap();
            if page["truncated"] == false {
                break;
            }
        }
        assert_eq!(joined, file);
    });
}

#[test]
fn descriptions_are_short_and_name_the_default_limits() {
    for tool in definitions() {
        let told = tool.description.clone() + &tool.input_schema.to_string();
        assert!(told.len() < 2500, "{}: {} bytes", tool.name, told.len());
        for limit in &tool.limits {
            if ["entries", "levels", "lines", "characters", "files", "seconds"]
                .contains(&limit.unit)
            {
                assert!(
                    told.contains(&limit.value.to_string()),
                    "{} does not tell its {} {} ({})",
                    tool.name,
                    limit.value,
                    limit.unit,
                    limit.what
                );
            }
        }
    }
}

#[test]
fn pages_of_a_kept_stream_join_to_the_stream() {
    let tree = TempTree::new("");
    let spill = std::sync::Arc::new(eyelet::OutputStore::session(tree.beside()));
    let turn =
        turn(tree.path()).with_environment(std::env::vars_os().collect()).with_output_store(spill);
    let command = "seq 1 30000; printf 'x%.0s' $(seq 1 1300)";
    let answer = data(&turn, "bash", &json!({ "command": command }));
    let file = answer["stdout_file"].as_str().unwrap();
    let (mut joined, mut offset) = (String::new(), 1);
    loop {
        let page = data(&turn, "read", &json!({"path": file, "offset": offset, "limit": 1777}));
        joined += page["content"].as_str().unwrap();
        offset += page["lines_shown"].as_u64().unwrap();
        if page["truncated"] == false {
            break;
        }
    }
    for column in [501, 1001] {
        let page = data(&turn, "read", &json!({"path": file, "offset": 30001, "column": column}));
        joined += page["content"].as_str().unwrap();
    }
    let expected: String = (1..=30000).map(|number| format!("{number}\n")).collect();
    assert_eq!(joined, expected + &"x".repeat(1300));
    assert_eq!(answer["stdout_total_bytes"], joined.len());
}
