//! Makes calls for the tests.

use std::path::Path;

use eyelet::{
    AttachmentMode, Envelope, FunctionCallError, SandboxPolicy, ToolInvocation, ToolRouter,
    TurnContext,
};
use serde_json::Value;

/// A turn in `cwd` that is not confined and may run commands.
pub(crate) fn turn(cwd: &Path) -> TurnContext {
    TurnContext::new(cwd, SandboxPolicy::Full).unwrap()
}

/// The envelope of one call as text.
pub(crate) fn envelope(turn: &TurnContext, tool: &str, arguments: &Value) -> String {
    let outcome = ToolRouter::new().call(&ToolInvocation::new(tool, arguments.to_string(), turn));
    Envelope::new(&outcome, AttachmentMode::Omit).to_json()
}

/// The `data` of a call that must succeed.
pub(crate) fn data(turn: &TurnContext, tool: &str, arguments: &Value) -> Value {
    let mut envelope: Value = serde_json::from_str(&envelope(turn, tool, arguments)).unwrap();
    assert_eq!(envelope["ok"], true, "{envelope}");
    envelope["data"].take()
}

/// The content of the function dialect, or `error CODE: ` and the error.
pub(crate) fn content(turn: &TurnContext, tool: &str, arguments: &Value) -> String {
    text(turn, tool, &arguments.to_string())
}

/// The same for arguments that need not be JSON.
pub(crate) fn text(turn: &TurnContext, tool: &str, arguments: &str) -> String {
    let outcome = ToolRouter::new()
        .call(&ToolInvocation::new(tool, arguments, turn))
        .and_then(|output| output.function());
    match outcome {
        Ok(output) => output.content,
        Err(FunctionCallError::RespondToModel(error)) => {
            format!("error {}: {error}", error.code)
        }
        Err(FunctionCallError::Fatal(message)) => panic!("fatal: {message}"),
    }
}
