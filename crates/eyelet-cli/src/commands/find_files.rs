//! `eyelet find-files`: lists the files whose names match a glob.

use std::process::ExitCode;

use eyelet::tools::{FindFiles, FindFilesArgs};
use eyelet::{Report as _, grouped};

use super::tool_runner;
use crate::failure::{FAILED, Failure};
use crate::flags::{ContextFlags, FindFilesFlags};
use crate::{context, print};

pub(crate) fn run(flags: &FindFilesFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let turn = context::build(&before.with(&flags.common.context))?;
    let args = FindFilesArgs {
        path: Some(tool_runner::absolute_path("DIR", &flags.dir, &turn)?),
        limit: flags.limit,
        offset: flags.offset,
        ignored: flags.ignored,
        ..FindFilesArgs::new(&flags.pattern)
    };
    let outcome = tool_runner::run::<FindFiles>(args, &turn);
    let found = outcome.as_ref().is_ok_and(|report| report.success());
    if flags.common.json {
        tool_runner::print_report(outcome)?;
    } else {
        let report = outcome?;
        print::lines(&report.content())?;
        if report.hidden_matches > 0 {
            let count = grouped(report.hidden_matches);
            print::note(&format!(
                "hidden or ignored files that match: {count}; use --ignored show to list them"
            ));
        }
        tool_runner::note_unreadable(&report.unreadable, report.skipped.unreadable);
        tool_runner::note_next_offset(report.next_offset);
    }
    Ok(if found { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}
