//! `eyelet list-dir`: lists a directory for a person.

use std::process::ExitCode;

use super::tool_runner::{self, ToolArguments};
use crate::failure::Failure;
use crate::flags::{ContextFlags, ListDirFlags};
use crate::{context, print};

pub(crate) fn run(flags: &ListDirFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let turn = context::build(&before.with(&flags.common.context))?;
    let arguments = ToolArguments::default()
        .with("dir_path", tool_runner::absolute_path("DIR", &flags.dir, &turn)?)
        .with_optional("offset", flags.offset)
        .with_optional("limit", flags.limit)
        .with_optional("depth", flags.depth);
    let outcome = arguments.call("list_dir", &turn);
    if flags.common.json {
        return tool_runner::print_envelope(&outcome);
    }
    let output = outcome?;
    print::directory_listing(&output.function()?.content)?;
    tool_runner::note_next_offset(&output);
    Ok(ExitCode::SUCCESS)
}
