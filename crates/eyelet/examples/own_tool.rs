//! A host's own tool: counts the words of a file. It opens only confined paths and stops when the host
//! cancels it, like the tools of eyelet.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program, not a library")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use eyelet::{
    ReplyBudget, Root, SandboxPolicy, TextReport, Tool, ToolDefinition, ToolError, ToolInvocation,
    ToolRouter, TurnContext,
};
use serde::Deserialize;
use serde_json::json;

/// The tool.
struct WordCount;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordCountArgs {
    path: String,
    /// Models send numbers as `2`, `2.0` and `"2"`.
    #[serde(default, deserialize_with = "eyelet::args::number")]
    at_least: Option<u64>,
}

impl Tool for WordCount {
    type Args = WordCountArgs;
    type Report = TextReport;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("word_count", "Counts how often each word occurs in a text file.")
            .with_title("Count words")
            .with_input_schema(json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Path of the file."},
                    "at_least": {
                        "type": "integer", "minimum": 0,
                        "description": "Show only words that occur this often. Default 1."
                    }
                },
                "required": ["path"],
                "additionalProperties": false
            }))
            .read_only()
            .with_counts("lines read")
    }

    fn run(&self, args: WordCountArgs, turn: &TurnContext) -> Result<TextReport, ToolError> {
        let stop_check = turn.stop_check(Duration::from_secs(10));
        let file = turn.resolve_path("path", &args.path)?.open_file()?;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for line in BufReader::new(file).lines() {
            stop_check.check()?;
            turn.progress().add(1);
            let line = line.map_err(|error| ToolError::io("cannot read the file", &error))?;
            for word in line.split_whitespace() {
                *counts.entry(word.to_owned()).or_default() += 1;
            }
        }
        counts.retain(|_, count| *count >= args.at_least.unwrap_or(1));
        let lines: String =
            counts.iter().map(|(word, count)| format!("{count} {word}\n")).collect();
        Ok(TextReport::new(lines).with_success(!counts.is_empty()))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::current_dir()?;
    let turn = TurnContext::new(&directory, SandboxPolicy::Off)?
        .with_root(Root::open(&directory)?)
        .with_reply_budget(ReplyBudget::new(4096));
    let router = ToolRouter::new().with(WordCount);
    for arguments in [r#"{"path":"Cargo.toml","at_least":"2"}"#, r#"{"path":"/etc/passwd"}"#] {
        match router.call(&ToolInvocation::new("word_count", arguments, &turn)) {
            Ok(output) => println!("{}", output.reply()?),
            Err(error) => println!("error: {error}"),
        }
    }
    Ok(())
}
