//! `eyelet bash`: runs a command, prints its output and exits with its exit code.

use std::process::ExitCode;

use eyelet::{AttachmentMode, ToolOutput};
use serde_json::{Map, Value, json};

use super::tool_runner;
use crate::failure::Failure;
use crate::flags::{BashFlags, ContextFlags};
use crate::{context, print};

/// The same exit codes as those of `timeout` and `env`.
const TIMED_OUT: u8 = 124;
const COULD_NOT_RUN: u8 = 125;

pub(crate) fn run(flags: &BashFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let turn = context::build(&before.with(&flags.common.context)).map_err(could_not_run)?;
    let arguments = json!({
        "command": flags.command,
        "timeout_secs": flags.timeout_secs,
        "keep": flags.keep,
    });
    let outcome = tool_runner::call("bash", &arguments, &turn);
    if flags.common.json {
        tool_runner::print_envelope(&outcome)?;
        return Ok(outcome.map_or(COULD_NOT_RUN.into(), |output| exit_code(&data(&output))));
    }
    let data = data(&outcome.map_err(|error| could_not_run(error.into()))?);
    let keep = flags.keep.as_deref();
    let stdout = Stream { name: "stdout", data: &data, keep };
    let stderr = Stream { name: "stderr", data: &data, keep };
    print::text(&stdout.shown())?;
    print::stderr_text(&stderr.shown())?;
    let notes = [stdout.note(), stderr.note(), ending(&data)].into_iter().flatten();
    for note in notes.chain(restored(&data)) {
        print::note(&note);
    }
    Ok(exit_code(&data))
}

fn could_not_run(failure: Failure) -> Failure {
    Failure { exit: COULD_NOT_RUN, ..failure }
}

/// The report as data; empty if it exceeded the output limit.
fn data(output: &ToolOutput) -> Map<String, Value> {
    let data = output.data(AttachmentMode::Omit).ok();
    data.and_then(|data| serde_json::from_str(&data).ok()).unwrap_or_default()
}

fn exit_code(data: &Map<String, Value>) -> ExitCode {
    if flag(data, "timed_out") {
        return TIMED_OUT.into();
    }
    let code = data.get("exit_code").and_then(Value::as_i64);
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(COULD_NOT_RUN).into()
}

fn ending(data: &Map<String, Value>) -> Option<String> {
    if flag(data, "timed_out") {
        return Some("timed out; use --timeout-secs to allow more time".to_owned());
    }
    flag(data, "cancelled").then(|| "cancelled".to_owned())
}

/// The protected paths that were restored.
fn restored(data: &Map<String, Value>) -> Vec<String> {
    let paths = data.get("sandbox_reverted").and_then(Value::as_array).into_iter().flatten();
    paths.filter_map(Value::as_str).map(|path| format!("protected: {path}")).collect()
}

fn flag(data: &Map<String, Value>, name: &str) -> bool {
    data.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// One stream of the report.
struct Stream<'d> {
    name: &'static str,
    data: &'d Map<String, Value>,
    keep: Option<&'d str>,
}

impl Stream<'_> {
    fn text(&self, suffix: &str) -> Option<&str> {
        self.data.get(&format!("{}{suffix}", self.name)).and_then(Value::as_str)
    }

    fn total_bytes(&self) -> u64 {
        let total = self.data.get(&format!("{}_total_bytes", self.name));
        total.and_then(Value::as_u64).unwrap_or_default()
    }

    /// The shown part, with a marker line between head and tail.
    fn shown(&self) -> String {
        let head = self.text("").unwrap_or_default();
        let Some(tail) = self.text("_tail") else { return head.to_owned() };
        let newline = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        format!("{head}{newline}[middle truncated]\n{tail}")
    }

    fn note(&self) -> Option<String> {
        if !flag(self.data, &format!("{}_truncated", self.name)) {
            return None;
        }
        let part = match self.keep {
            Some("tail") => "only the end is shown",
            Some("both") => "only the start and the end are shown",
            Some(_) | None => "only the start is shown",
        };
        let saved = match (self.text("_file"), self.text("_spill_error")) {
            (Some(file), None) => format!("saved to {file}"),
            (Some(file), Some(reason)) => format!("partly saved to {file}: {reason}"),
            (None, Some(reason)) => format!("not saved: {reason}"),
            (None, None) => "not saved".to_owned(),
        };
        Some(format!("{}: {} bytes in total, {part}; {saved}", self.name, self.total_bytes()))
    }
}
