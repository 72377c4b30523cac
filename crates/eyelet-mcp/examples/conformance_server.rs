//! A server with the tools that the MCP conformance suite calls, added to eyelet's own tools as any host
//! adds a tool. With it, the suite tests eyelet's server code.
//!
//! `cargo xtask test` runs it. The arguments are the origins of web pages that may connect.

#![allow(clippy::print_stderr, reason = "a program, not a library")]

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use eyelet::{
    Attachment, ErrorCode, OutputStore, Report, SandboxPolicy, Tool, ToolDefinition, ToolError,
    ToolRouter, TurnContext,
};
use eyelet_mcp::{Http, Options, Token, serve_http};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The smallest image: one red pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\
    \x00\x00\x00\x90\x77\x53\xde\x00\x00\x00\x0cIDAT\x78\x9c\x63\xf8\xcf\xc0\x00\x00\x03\x01\x01\
    \x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xae\x42\x60\x82";

/// Long enough for three progress notifications.
const LONG: Duration = Duration::from_millis(6500);

/// A tool that the suite calls by its name.
struct Fixture {
    name: &'static str,
    schema: fn() -> Value,
    run: fn(&TurnContext) -> Result<Answer, ToolError>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Serialize)]
struct Answer {
    text: &'static str,
    #[serde(skip)]
    image: Option<&'static [u8]>,
}

const FIXTURES: [Fixture; 6] = [
    Fixture { name: "test_simple_text", schema: no_arguments, run: |_| answer("a simple text") },
    Fixture {
        name: "test_image_content",
        schema: no_arguments,
        run: |_| Ok(Answer { text: "one red pixel", image: Some(PNG) }),
    },
    Fixture {
        name: "test_error_handling",
        schema: no_arguments,
        run: |_| Err(ToolError::new(ErrorCode::IoError, "this tool always fails")),
    },
    Fixture { name: "test_tool_with_progress", schema: no_arguments, run: run_slowly },
    Fixture { name: "test_reconnection", schema: no_arguments, run: |_| answer("still here") },
    Fixture { name: "json_schema_2020_12_tool", schema: newest_schema, run: |_| answer("a name") },
];

fn answer(text: &'static str) -> Result<Answer, ToolError> {
    Ok(Answer { text, image: None })
}

/// Counts while it waits; stops if the call is cancelled.
fn run_slowly(turn: &TurnContext) -> Result<Answer, ToolError> {
    let start = Instant::now();
    while start.elapsed() < LONG {
        if turn.cancel_flag().is_cancelled() {
            return Err(ToolError::new(ErrorCode::Cancelled, "the call was cancelled"));
        }
        turn.progress().add(1);
        thread::sleep(Duration::from_millis(50));
    }
    answer("finished after a delay")
}

fn no_arguments() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

/// A schema with keywords of JSON Schema 2020-12, which the server must not drop.
fn newest_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" }
        },
        "additionalProperties": false
    })
}

impl Tool for Fixture {
    type Args = NoArguments;
    type Report = Answer;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(self.name, "For the conformance suite.")
            .with_input_schema((self.schema)())
            .read_only()
            .with_counts("ticks")
    }

    fn run(&self, _: NoArguments, turn: &TurnContext) -> Result<Answer, ToolError> {
        (self.run)(turn)
    }
}

impl Report for Answer {
    fn content(&self) -> String {
        self.text.to_owned()
    }

    fn success(&self) -> bool {
        true
    }

    fn attachment(&self) -> Option<Attachment<'_>> {
        self.image.map(|bytes| Attachment { mime_type: "image/png", bytes })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let output_store = Arc::new(OutputStore::session(std::env::temp_dir()));
    let turn = TurnContext::new(std::env::current_dir()?, SandboxPolicy::Off)?;
    let options = Options::new(turn.with_output_store(output_store));
    let router = FIXTURES.into_iter().fold(ToolRouter::new(), ToolRouter::with);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let origins = std::env::args().skip(1).collect();
    let http = Http { listener, token: Token::random()?, origins, hosts: Vec::new() };
    eprintln!("eyelet serves MCP at {}", http.url()?);
    eprintln!("Authorization: Bearer {}", http.token.reveal());
    Ok(serve_http(options, router, http)?)
}
