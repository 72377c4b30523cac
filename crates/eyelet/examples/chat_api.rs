//! Offers the tools to a chat API: builds the request, runs the tool calls in the model's reply, and
//! turns the results into messages. It sends nothing; the model's reply is made up.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a program, not a library"
)]

use eyelet::{
    DefinitionFormat, FunctionCallError, SandboxPolicy, ToolInvocation, ToolRouter, TurnContext,
    render_definitions,
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let router = ToolRouter::new();
    let turn = TurnContext::new(std::env::current_dir()?, SandboxPolicy::Off)?;
    let mut messages = vec![json!({"role": "user", "content": "What is in this project?"})];

    let request = json!({
        "model": "any",
        "messages": messages,
        "tools": render_definitions(&router.definitions(), DefinitionFormat::OpenAi),
    });
    println!("request:\n{request:#}\n");

    for call in made_up_reply(&turn) {
        let name = call["function"]["name"].as_str().unwrap_or_default();
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let outcome = router.call(&ToolInvocation::new(name, arguments, &turn));
        let content = match outcome.and_then(|output| output.function()) {
            Ok(output) => output.content,
            Err(FunctionCallError::RespondToModel(error)) => error.message,
            Err(fatal @ FunctionCallError::Fatal(_)) => return Err(fatal.into()),
        };
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": content}));
    }
    println!("messages for the next request:\n{:#}", Value::from(messages));
    Ok(())
}

/// A reply that a model might give: arguments as text, a number as a string, an unknown tool.
fn made_up_reply(turn: &TurnContext) -> Vec<Value> {
    let list = json!({"dir_path": turn.cwd(), "limit": "5", "depth": 1}).to_string();
    [("list_dir", list.as_str()), ("read", r#"{"path":"no-such-file"}"#), ("write", "{}")]
        .iter()
        .enumerate()
        .map(|(number, (name, arguments))| {
            json!({"id": format!("call_{number}"), "type": "function",
                   "function": {"name": name, "arguments": arguments}})
        })
        .collect()
}
