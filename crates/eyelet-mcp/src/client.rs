//! What is known of clients: how much of a reply each shows its model.

use eyelet::ReplyBudget;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::Value;

pub(crate) const CLAUDE_CODE: &str = "claude-code";
const CODEX: &str = "codex-mcp-client";
const CODEX_METADATA: &str = "x-codex-turn-metadata";

/// What Claude Code shows whole, measured at 50,000 UTF-16 units.
pub(crate) const CLAUDE_CODE_BYTES: usize = 49_000;
/// What Codex shows whole for the models it knows, and for others.
const CODEX_KNOWN_MODEL_BYTES: usize = 34_000;
const CODEX_OTHER_MODEL_BYTES: usize = 11_500;
/// What a client that nobody has measured may be sent: the least of those that were.
const ANY_OTHER_BYTES: usize = 20_000;

/// What the text of a reply may hold for the client of this request.
pub(crate) fn budget(context: &RequestContext<RoleServer>) -> ReplyBudget {
    let name = name(context).unwrap_or_default();
    ReplyBudget::new(match name.as_str() {
        CLAUDE_CODE => CLAUDE_CODE_BYTES,
        "opencode" => 50_000,
        "gemini-cli-mcp-client" => 39_000,
        CODEX => codex(context.meta.get(CODEX_METADATA)),
        "copilot-cli" => 20_000,
        _ => ANY_OTHER_BYTES,
    })
}

/// What the client calls itself.
pub(crate) fn name(context: &RequestContext<RoleServer>) -> Option<String> {
    context.client_info().map(|client| client.name)
}

/// By the model that Codex names in each call, as an object or as JSON in a string.
fn codex(metadata: Option<&Value>) -> usize {
    let parsed = match metadata {
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(metadata) => Some(metadata.clone()),
        None => None,
    };
    let model = parsed.as_ref().and_then(|metadata| metadata.get("model")?.as_str());
    match model {
        Some(model) if model.starts_with("gpt-") || model.starts_with("codex") => {
            CODEX_KNOWN_MODEL_BYTES
        }
        Some(_) | None => CODEX_OTHER_MODEL_BYTES,
    }
}
