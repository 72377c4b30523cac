//! The whole round of a chat API: offers the tools, runs the calls that the model asks for, and sends the
//! results back until the model answers with text. The model is made up, so nothing is sent anywhere.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program, not a library")]

use eyelet::{
    DefinitionFormat, FunctionCallError, ReplyBudget, Root, SandboxPolicy, ToolInvocation,
    ToolRouter, TurnContext, render_definitions,
};
use serde_json::{Value, json};

/// A model that calls tools for ever must not keep the host busy for ever.
const MAX_ROUNDS: usize = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::current_dir()?;
    let router = ToolRouter::new();
    let turn = TurnContext::new(&directory, SandboxPolicy::Off)?
        .with_root(Root::open(&directory)?)
        .with_reply_budget(ReplyBudget::new(16 * 1024));
    let mut messages = vec![json!({"role": "user", "content": "Which package is this?"})];
    for _ in 0..MAX_ROUNDS {
        let request = json!({
            "model": "any",
            "messages": messages,
            "tools": render_definitions(&router.definitions(), DefinitionFormat::OpenAi),
        });
        let message = made_up_model(&request);
        messages.push(message.clone());
        let Some(calls) = message.get("tool_calls").and_then(Value::as_array) else {
            println!("{}", message.get("content").and_then(Value::as_str).unwrap_or_default());
            return Ok(());
        };
        for call in calls {
            let content = run(&router, &turn, call)?;
            println!("{} -> {content}", call.pointer("/function/name").unwrap_or(&Value::Null));
            let id = call.get("id");
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
        }
    }
    Err("the model did not answer".into())
}

/// Runs one call of the model. Errors that the model can react to become text, too.
fn run(router: &ToolRouter, turn: &TurnContext, call: &Value) -> Result<String, FunctionCallError> {
    let text = |path| call.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let invocation = ToolInvocation::new(text("/function/name"), text("/function/arguments"), turn);
    match router.call(&invocation).and_then(|output| output.reply()) {
        Err(FunctionCallError::RespondToModel(error)) => Ok(format!("error: {error}")),
        reply => reply,
    }
}

/// Stands for the request to a chat API. Asks for a missing file and an unknown tool, then reads
/// `Cargo.toml`, then answers.
fn made_up_model(request: &Value) -> Value {
    let results = request.pointer("/messages").and_then(Value::as_array).map_or(0, |messages| {
        messages.iter().filter(|message| message.get("role") == Some(&json!("tool"))).count()
    });
    let call = |id: &str, name: &str, arguments: Value| {
        let arguments = arguments.to_string();
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    };
    let calls = match results {
        0 => json!([
            call("1", "read", json!({"path": "no-such-file"})),
            call("2", "write", json!({})),
        ]),
        2 => json!([call("3", "read", json!({"path": "Cargo.toml", "limit": "3"}))]),
        _ => return json!({"role": "assistant", "content": "It is the package `eyelet`."}),
    };
    json!({"role": "assistant", "tool_calls": calls})
}
