//! Runs a tool for a command: calls the router, prints the envelope.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use eyelet::{
    AttachmentMode, Envelope, FunctionCallError, Report, Tool, ToolOutput, ToolRouter, TurnContext,
};

use crate::failure::{FAILED, Failure};
use crate::print;

/// Runs a tool of the library.
pub(super) fn run<T: Tool>(
    args: T::Args,
    turn: &TurnContext,
) -> Result<T::Report, FunctionCallError> {
    ToolRouter::new().run::<T>(args, turn)
}

/// Prints the envelope of a report.
pub(super) fn print_report(
    outcome: Result<impl Report, FunctionCallError>,
) -> Result<ExitCode, Failure> {
    print_envelope(&outcome.map(ToolOutput::new))
}

/// Prints the envelope. The exit code is 0 if the call succeeded.
pub(super) fn print_envelope(
    outcome: &Result<ToolOutput, FunctionCallError>,
) -> Result<ExitCode, Failure> {
    let envelope =
        Envelope::new(outcome, AttachmentMode::Inline).with_hint_text(eyelet_mcp::hint_text);
    print::json(&envelope)?;
    Ok(if envelope.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// Prints to stderr how to continue, if the result is truncated.
pub(super) fn note_next_offset(next_offset: Option<u64>) {
    if let Some(offset) = next_offset {
        print::note(&format!("truncated; continue with --offset {offset}"));
    }
}

/// Prints to stderr which of `count` files could not be read.
pub(super) fn note_unreadable(paths: &[String], count: u64) {
    for path in paths {
        print::note(&format!("could not read {path}"));
    }
    let more = count.saturating_sub(paths.len() as u64);
    if more > 0 {
        print::note(&format!("could not read {more} more files"));
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
