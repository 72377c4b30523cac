//! The size of the interface: every flag and every byte of a definition costs its readers attention.

use serde_json::Value;
use testkit::TempTree;
use testkit::cli::command;

const MAX_MCP_FLAGS: usize = 24;
const MAX_TOOL_PARAMETERS: usize = 34;
const MAX_DEFINITION_BYTES: usize = 9_000;

fn stdout(arguments: &[&str]) -> String {
    let output = command(&TempTree::new("")).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn mcp_has_at_most_24_flags() {
    let help = stdout(&["mcp", "--help"]);
    let flags = help.lines().filter(|line| line.trim_start().starts_with("--")).count();
    assert!((1..=MAX_MCP_FLAGS).contains(&flags), "{flags} flags");
}

#[test]
fn tool_definitions_are_small() {
    let text = stdout(&["tools"]);
    assert!(text.len() <= MAX_DEFINITION_BYTES, "{} bytes", text.len());
    let tools: Value = serde_json::from_str(&text).unwrap();
    let parameters = |tool: &Value| tool["inputSchema"]["properties"].as_object().unwrap().len();
    let parameters: usize = tools.as_array().unwrap().iter().map(parameters).sum();
    assert!((1..=MAX_TOOL_PARAMETERS).contains(&parameters), "{parameters} parameters");
}
