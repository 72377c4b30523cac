//! `eyelet read`: prints the lines of a text file.

use std::process::ExitCode;

use serde_json::json;

use super::tool_runner;
use crate::failure::Failure;
use crate::flags::{ContextFlags, ReadFlags};
use crate::{context, print};

pub(crate) fn run(flags: &ReadFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let turn = context::build(&before.with(&flags.common.context))?;
    let arguments = json!({
        "path": tool_runner::absolute_path("FILE", &flags.file, &turn)?,
        "offset": flags.offset,
        "limit": flags.limit,
        "column": flags.column,
    });
    let outcome = tool_runner::call("read", &arguments, &turn);
    if flags.common.json {
        return tool_runner::print_envelope(&outcome);
    }
    let output = outcome?;
    let content = output.function()?.content;
    if output.attachment().is_some() {
        print::lines(&content)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (header, body) = content.split_once('\n').unwrap_or((&content, ""));
    print::text(body)?;
    if let Some(note) = truncation_note(header) {
        print::note(&note);
    }
    Ok(ExitCode::SUCCESS)
}

/// Rewrites the header of `read`'s text for the command line, if it has more than the range of lines.
fn truncation_note(header: &str) -> Option<String> {
    let header = header.trim_start_matches('[').trim_end_matches(']');
    if !header.contains("; ") {
        return None;
    }
    let parts = header.split("; ").map(|part| match part.strip_prefix("next offset ") {
        Some(offset) => format!("continue with --offset {offset}"),
        None => part.replace(" column ", " --column "),
    });
    Some(parts.collect::<Vec<_>>().join("; "))
}
