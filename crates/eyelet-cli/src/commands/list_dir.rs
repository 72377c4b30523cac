//! `eyelet list-dir`: lists a directory for a person.

use std::process::ExitCode;

use eyelet::tools::{ListDir, ListDirArgs};

use super::tool_runner;
use crate::failure::Failure;
use crate::flags::{ContextFlags, ListDirFlags};
use crate::{context, print};

pub(crate) fn run(flags: &ListDirFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let turn = context::build(&before.with(&flags.common.context))?;
    let args = ListDirArgs {
        offset: flags.offset,
        limit: flags.limit,
        depth: flags.depth,
        ignored: flags.ignored,
        ..ListDirArgs::new(tool_runner::absolute_path("DIR", &flags.dir, &turn)?)
    };
    let outcome = tool_runner::run::<ListDir>(args, &turn);
    if flags.common.json {
        return tool_runner::print_report(outcome);
    }
    let report = outcome?;
    print::directory_listing(&report)?;
    tool_runner::note_next_offset(report.next_offset);
    Ok(ExitCode::SUCCESS)
}
