//! Runs a tool for a command: calls the router, prints the envelope.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use eyelet::{
    AttachmentMode, Envelope, FunctionCallError, ToolInvocation, ToolOutput, ToolRouter,
    TurnContext,
};
use serde_json::Value;

use crate::failure::{FAILED, Failure};
use crate::print;

/// Calls a tool. Arguments that are `null` count as absent.
pub(super) fn call(
    tool: &str,
    arguments: &Value,
    turn: &TurnContext,
) -> Result<ToolOutput, FunctionCallError> {
    ToolRouter::new().call(&ToolInvocation::new(tool, arguments.to_string(), turn))
}

/// Prints the envelope. The exit code is 0 if the call succeeded.
pub(super) fn print_envelope(
    outcome: &Result<ToolOutput, FunctionCallError>,
) -> Result<ExitCode, Failure> {
    let envelope =
        Envelope::new(outcome, AttachmentMode::Inline).with_hint_text(eyelet_mcp::hint_text);
    print::json(&envelope)?;
    Ok(if envelope.ok { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// Prints to stderr how to continue, if the result is truncated.
pub(super) fn note_next_offset(output: &ToolOutput) {
    if let Some(offset) = output.next_offset() {
        print::note(&format!("truncated; continue with --offset {offset}"));
    }
}

/// Converts a path into the form that tools take: absolute, and UTF-8.
pub(super) fn absolute_path(
    argument: &str,
    path: &Path,
    turn: &TurnContext,
) -> Result<String, Failure> {
    // Drops a trailing `/.` but keeps `..`, whose meaning depends on symlinks.
    let joined: PathBuf = turn.cwd().join(path).components().collect();
    joined.into_os_string().into_string().map_err(|joined| {
        let shown = joined.to_string_lossy();
        Failure::usage(format!("{argument} is not valid UTF-8: `{shown}`; use a path that is"))
    })
}
