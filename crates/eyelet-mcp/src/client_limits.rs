//! The limits of known clients: the size of replies and the duration of calls that each client
//! accepts.

use std::time::{Duration, Instant};

use eyelet::ReplyBudget;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::Value;

const CLAUDE_CODE: &str = "claude-code";
const CODEX: &str = "codex-mcp-client";
const CODEX_METADATA: &str = "x-codex-turn-metadata";

// The sizes of replies that clients show to their models untruncated.

/// Claude Code truncates replies above 50,000 UTF-16 units (measured).
pub(crate) const CLAUDE_CODE_BYTES: usize = 49_000;
/// The limits of Codex for known models and for other models (measured).
const CODEX_KNOWN_MODEL_BYTES: usize = 34_000;
const CODEX_OTHER_MODEL_BYTES: usize = 11_500;
/// The limit for clients that were not measured.
const OTHER_CLIENT_BYTES: usize = 20_000;

/// The name of Claude Desktop. Claude Desktop drops the replies of calls that take more than 240
/// seconds, and no setting changes this.
const CLAUDE_DESKTOP: &str = "claude-ai";
const CLAUDE_DESKTOP_CALL: Duration = Duration::from_secs(230);

/// The size limit of replies for the client of this request.
pub(crate) fn budget(context: &RequestContext<RoleServer>) -> ReplyBudget {
    let name = client_name(context).unwrap_or_default();
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
fn client_name(context: &RequestContext<RoleServer>) -> Option<String> {
    context.client_info().map(|client| client.name)
}

/// Codex has a limit per model. Codex names the model in each call, in an object or in a string of
/// JSON.
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

/// When calls of this client must end, if it drops the replies of long calls.
pub(crate) fn deadline(context: &RequestContext<RoleServer>) -> Option<Instant> {
    let is_desktop = client_name(context).as_deref() == Some(CLAUDE_DESKTOP);
    is_desktop.then(|| Instant::now() + CLAUDE_DESKTOP_CALL)
}
