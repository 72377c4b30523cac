//! The tool definitions as JSON, in the formats that hosts expect.

use serde_json::{Value, json};

use crate::names::named;
use crate::tool::ToolDefinition;

/// The format of a tool definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefinitionFormat {
    /// The format of `tools/list` in the Model Context Protocol.
    Mcp,
    /// The format of function tools in OpenAI's chat API.
    OpenAi,
    /// The format of tools in Anthropic's messages API.
    Anthropic,
}

named!(DefinitionFormat, "definition format", {
    Mcp = "mcp",
    OpenAi = "openai",
    Anthropic = "anthropic",
});

/// Renders the definitions as the JSON array that a host puts into its request to a model.
pub fn render_definitions(definitions: &[ToolDefinition], format: DefinitionFormat) -> Value {
    definitions.iter().map(|definition| render(definition, format)).collect()
}

fn render(definition: &ToolDefinition, format: DefinitionFormat) -> Value {
    let ToolDefinition { name, title, description, input_schema, read_only, .. } = definition;
    match format {
        DefinitionFormat::Mcp => json!({
            "name": name,
            "title": title,
            "description": description,
            "inputSchema": input_schema,
            "annotations": {
                "readOnlyHint": read_only,
                "destructiveHint": !read_only,
                "openWorldHint": !read_only,
            },
        }),
        DefinitionFormat::OpenAi => json!({
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": input_schema,
            },
        }),
        DefinitionFormat::Anthropic => json!({
            "name": name,
            "description": description,
            "input_schema": input_schema,
        }),
    }
}
