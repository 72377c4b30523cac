//! A host that offers two tools of eyelet and one of its own to a chat API, in 60 lines.
#![allow(clippy::print_stdout, clippy::indexing_slicing, reason = "a program, not a library")]
use eyelet::{tools::*, *};
use serde_json::{Value, json};
use std::io::{Read as _, Seek as _, SeekFrom};
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct TailArgs {
    path: String,
}
struct Tail;
impl Tool for Tail {
    type Args = TailArgs;
    type Report = TextReport;
    fn definition(&self) -> ToolDefinition {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}},
            "required": ["path"], "additionalProperties": false});
        let tail = ToolDefinition::new("tail", "Returns the last 2000 bytes of a file.");
        tail.with_input_schema(schema).read_only()
    }
    fn run(&self, args: TailArgs, turn: &TurnContext) -> Result<TextReport, ToolError> {
        let (mut file, mut end) = (turn.resolve_path("path", &args.path)?.open_file()?, vec![]);
        let _is_short = file.seek(SeekFrom::End(-2000)).is_err(); // then it stays at the start
        file.take(2000).read_to_end(&mut end).map_err(|err| ToolError::io("cannot read", &err))?;
        Ok(TextReport::new(String::from_utf8_lossy(&end)))
    }
}
fn chat(messages: &[Value], _tools: &Value) -> Value {
    let (name, arguments) = match messages.len() {
        1 => ("grep_files", r#"{"pattern":"eyelet","include":"*.toml"}"#),
        3 => ("read", r#"{"path":"../../etc/passwd"}"#),
        5 => ("tail", r#"{"path":"Cargo.toml"}"#),
        _ => return json!({"content": format!("The tools said: {:#}", json!(messages))}),
    };
    json!({"tool_calls": [{"id": name, "function": {"name": name, "arguments": arguments}}]})
}
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::path::absolute(".")?;
    let turn = TurnContext::new(&dir, SandboxPolicy::Off)?.with_root(Root::open(&dir)?);
    let turn = turn.with_reply_budget(ReplyBudget::new(8192));
    let router = ToolRouter::empty().with(GrepFiles).with(Read).with(Tail);
    let tools = render_definitions(&router.definitions(), DefinitionFormat::OpenAi);
    let mut messages = vec![json!({"role": "user", "content": "Which crates do I use?"})];
    let mut answer = chat(&messages, &tools);
    while let Some(calls) = answer["tool_calls"].as_array() {
        messages.push(answer.clone());
        for call in calls {
            let [name, args] = ["name", "arguments"].map(|key| call["function"][key].as_str());
            let call_it = ToolInvocation::new(name.unwrap_or(""), args.unwrap_or(""), &turn);
            let text = match router.call(&call_it).and_then(|output| output.reply()) {
                Err(FunctionCallError::RespondToModel(error)) => format!("error: {error}"),
                reply => reply?,
            };
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": text}));
        }
        answer = chat(&messages, &tools);
    }
    println!("{}", answer["content"].as_str().unwrap_or_default());
    Ok(())
}
