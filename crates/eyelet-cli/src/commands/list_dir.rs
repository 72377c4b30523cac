//! `eyelet list-dir`: lists a directory for a person.

use std::process::ExitCode;

use serde_json::json;

use super::tool_runner;
use crate::failure::Failure;
use crate::flags::{ContextFlags, ListDirFlags};
use crate::{context, print};

pub(crate) fn run(flags: &ListDirFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let turn = context::build(&before.with(&flags.common.context))?;
    let arguments = json!({
        "dir_path": tool_runner::absolute_path("DIR", &flags.dir, &turn)?,
        "offset": flags.offset,
        "limit": flags.limit,
        "depth": flags.depth,
    });
    let outcome = tool_runner::call("list_dir", &arguments, &turn);
    if flags.common.json {
        return tool_runner::print_envelope(&outcome);
    }
    let output = outcome?;
    print::directory_listing(&output.function()?.content)?;
    tool_runner::note_next_offset(&output);
    Ok(ExitCode::SUCCESS)
}
