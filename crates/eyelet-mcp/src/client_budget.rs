//! How large a reply may be for each client, so that the client shows it to its model untruncated.

use eyelet::ReplyBudget;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::Value;

pub(crate) const CLAUDE_CODE: &str = "claude-code";
const CODEX: &str = "codex-mcp-client";
const CODEX_METADATA: &str = "x-codex-turn-metadata";

/// Claude Code truncates replies above 50,000 UTF-16 units (measured).
pub(crate) const CLAUDE_CODE_BYTES: usize = 49_000;
/// The limits of Codex, for the models that it knows and for all others (measured).
const CODEX_KNOWN_MODEL_BYTES: usize = 34_000;
const CODEX_OTHER_MODEL_BYTES: usize = 11_500;
/// For clients that nobody has measured: the smallest limit of those that were.
const OTHER_CLIENT_BYTES: usize = 20_000;

/// The reply budget for the client of this request.
pub(crate) fn budget(context: &RequestContext<RoleServer>) -> ReplyBudget {
    let name = name(context).unwrap_or_default();
    ReplyBudget::new(match name.as_str() {
        CLAUDE_CODE => CLAUDE_CODE_BYTES,
        "opencode" => 50_000,
        "gemini-cli-mcp-client" => 39_000,
        CODEX => codex_bytes(context.meta.get(CODEX_METADATA)),
        "copilot-cli" => 20_000,
        _ => OTHER_CLIENT_BYTES,
    })
}

/// The name that the client gave in its handshake.
pub(crate) fn name(context: &RequestContext<RoleServer>) -> Option<String> {
    context.client_info().map(|client| client.name)
}

/// Depends on the model, which Codex names in each call, as an object or as JSON in a string.
fn codex_bytes(metadata: Option<&Value>) -> usize {
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
