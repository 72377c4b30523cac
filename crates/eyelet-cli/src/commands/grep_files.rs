//! `eyelet grep-files`: lists the files that contain a pattern.

use std::process::ExitCode;

use eyelet::ToolOutput;

use super::tool_runner::{self, ToolArguments};
use crate::failure::{FAILED, Failure};
use crate::flags::{ContextFlags, GrepFilesFlags};
use crate::{context, print};

pub(crate) fn run(flags: &GrepFilesFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let turn = context::build(&before.with(&flags.common.context))?;
    let path = flags
        .path
        .as_deref()
        .map(|path| tool_runner::absolute_path("PATH", path, &turn))
        .transpose()?;
    let arguments = ToolArguments::default()
        .with("pattern", flags.pattern.as_str())
        .with_optional("include", flags.include.as_deref())
        .with_optional("path", path)
        .with_optional("limit", flags.limit)
        .with_optional("offset", flags.offset);
    let outcome = arguments.call("grep_files", &turn);
    let found = outcome.as_ref().is_ok_and(ToolOutput::success);
    if flags.common.json {
        tool_runner::print_envelope(&outcome)?;
    } else {
        let output = outcome?;
        print::lines(&output.function()?.content)?;
        tool_runner::note_next_offset(&output);
    }
    Ok(if found { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}
