//! `eyelet grep-files`: lists the files that contain a pattern.

use std::path::PathBuf;
use std::process::ExitCode;

use eyelet::ToolOutput;
use serde_json::json;

use super::tool_runner;
use crate::failure::{FAILED, Failure};
use crate::flags::{ContextFlags, GrepFilesFlags};
use crate::{context, print};

pub(crate) fn run(flags: &GrepFilesFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let turn = context::build(&before.with(&flags.common.context))?;
    let absolute = |path: &PathBuf| tool_runner::absolute_path("PATH", path, &turn);
    let arguments = json!({
        "pattern": flags.pattern,
        "include": flags.include,
        "path": flags.path.as_ref().map(absolute).transpose()?,
        "limit": flags.limit,
        "offset": flags.offset,
    });
    let outcome = tool_runner::call("grep_files", &arguments, &turn);
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
