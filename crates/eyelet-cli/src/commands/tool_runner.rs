//! Runs a tool for a command: builds its arguments, calls the router, prints the envelope.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use eyelet::{
    AttachmentMode, Envelope, FunctionCallError, ToolInvocation, ToolOutput, ToolRouter,
    TurnContext,
};
use serde_json::{Map, Value};

use crate::failure::{FAILED, Failure};
use crate::print;

/// Builds the JSON arguments of a call.
#[derive(Default)]
pub(super) struct ToolArguments(Map<String, Value>);

impl ToolArguments {
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(super) fn with_optional(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn call(
        self,
        tool: &str,
        turn: &TurnContext,
    ) -> Result<ToolOutput, FunctionCallError> {
        let arguments = Value::Object(self.0).to_string();
        ToolRouter::new().call(&ToolInvocation::new(tool, arguments, turn))
    }
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
