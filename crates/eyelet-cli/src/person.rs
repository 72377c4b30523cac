//! The tools for a person: flags in, readable text out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use eyelet::{FunctionCallError, ToolInvocation, ToolOutput, ToolRouter, TurnContext};
use serde_json::{Map, Value};

use crate::args::{GrepFiles, ListDir, Read, Surroundings};
use crate::failure::{FAILED, Failure};
use crate::{call, show, turn};

mod bash;

pub(crate) use bash::run as bash;

pub(crate) fn list_dir(command: &ListDir, before: &Surroundings) -> Result<ExitCode, Failure> {
    let turn = turn::build(&before.with(&command.common.surroundings))?;
    let arguments = Arguments::default()
        .with("dir_path", absolute("DIR", &command.dir, &turn)?)
        .maybe("offset", command.offset)
        .maybe("limit", command.limit)
        .maybe("depth", command.depth);
    let outcome = arguments.call("list_dir", &turn);
    if command.common.json {
        return call::envelope(&outcome);
    }
    let output = outcome?;
    show::listing(&output.function()?.content)?;
    tell_next_offset(&output);
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn grep_files(command: &GrepFiles, before: &Surroundings) -> Result<ExitCode, Failure> {
    let turn = turn::build(&before.with(&command.common.surroundings))?;
    let path = command.path.as_deref().map(|path| absolute("PATH", path, &turn)).transpose()?;
    let arguments = Arguments::default()
        .with("pattern", command.pattern.as_str())
        .maybe("include", command.include.as_deref())
        .maybe("path", path)
        .maybe("limit", command.limit)
        .maybe("offset", command.offset);
    let outcome = arguments.call("grep_files", &turn);
    let found = outcome.as_ref().is_ok_and(ToolOutput::success);
    if command.common.json {
        call::envelope(&outcome)?;
    } else {
        let output = outcome?;
        show::lines(&output.function()?.content)?;
        tell_next_offset(&output);
    }
    Ok(if found { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

pub(crate) fn read(command: &Read, before: &Surroundings) -> Result<ExitCode, Failure> {
    let turn = turn::build(&before.with(&command.common.surroundings))?;
    let arguments = Arguments::default()
        .with("path", absolute("FILE", &command.file, &turn)?)
        .maybe("offset", command.offset)
        .maybe("limit", command.limit)
        .maybe("column", command.column);
    let outcome = arguments.call("read", &turn);
    if command.common.json {
        return call::envelope(&outcome);
    }
    let output = outcome?;
    let content = output.function()?.content;
    if output.attachment().is_some() {
        show::lines(&content)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (header, body) = content.split_once('\n').unwrap_or((&content, ""));
    show::text(body)?;
    if let Some(note) = what_is_missing(header) {
        show::note(&note);
    }
    Ok(ExitCode::SUCCESS)
}

/// The header of `read`'s text in the words of the command line, where it says more than which lines
/// are shown.
fn what_is_missing(header: &str) -> Option<String> {
    let header = header.trim_start_matches('[').trim_end_matches(']');
    if !header.contains("; ") {
        return None;
    }
    let parts = header.split("; ").map(|part| match part.strip_prefix("next offset ") {
        Some(offset) => format!("--offset {offset} goes on"),
        None => part.replace(", column ", ", --column "),
    });
    Some(parts.collect::<Vec<_>>().join("; "))
}

fn tell_next_offset(output: &ToolOutput) {
    if let Some(offset) = output.next_offset() {
        show::note(&format!("there are more; --offset {offset} goes on"));
    }
}

/// A path as the tools take it: absolute, and text.
fn absolute(argument: &str, path: &Path, turn: &TurnContext) -> Result<String, Failure> {
    // A trailing `/.` is dropped, `..` is kept: what it leads to depends on links.
    let joined: PathBuf = turn.cwd().join(path).components().collect();
    joined.into_os_string().into_string().map_err(|joined| {
        let shown = joined.to_string_lossy();
        Failure::usage(format!(
            "{argument} must be UTF-8, and `{shown}` is not; give it a name that is"
        ))
    })
}

/// The arguments of a call, as they are gathered.
#[derive(Default)]
struct Arguments(Map<String, Value>);

impl Arguments {
    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn maybe(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    fn call(self, tool: &str, turn: &TurnContext) -> Result<ToolOutput, FunctionCallError> {
        let arguments = Value::Object(self.0).to_string();
        ToolRouter::new().call(&ToolInvocation::new(tool, arguments, turn))
    }
}
