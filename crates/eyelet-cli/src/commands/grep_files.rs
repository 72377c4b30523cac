//! `eyelet grep-files`: prints the lines or files that match a pattern.

use std::path::PathBuf;
use std::process::ExitCode;

use eyelet::Report as _;
use eyelet::tools::{Found, GrepFiles, GrepFilesArgs, Show};

use super::tool_runner;
use crate::failure::{FAILED, Failure};
use crate::flags::{ContextFlags, GrepFilesFlags};
use crate::{context, print, print_matches};

pub(crate) fn run(flags: &GrepFilesFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let turn = context::build(&before.with(&flags.common.context))?;
    let absolute = |path: &PathBuf| tool_runner::absolute_path("PATH", path, &turn);
    let pattern = flags.pattern.trim();
    let ignore_case = flags.ignore_case && !pattern.is_empty();
    let show = show(flags);
    let args = GrepFilesArgs {
        include: flags.include.clone(),
        path: flags.path.as_ref().map(absolute).transpose()?,
        limit: flags.limit,
        offset: flags.offset,
        show: Some(show),
        context: flags.context.filter(|_| show == Show::Lines),
        ..GrepFilesArgs::new(format!("{}{pattern}", if ignore_case { "(?i)" } else { "" }))
    };
    let outcome = tool_runner::run::<GrepFiles>(args, &turn);
    let found = outcome.as_ref().is_ok_and(|report| report.success());
    if flags.common.json {
        tool_runner::print_report(outcome)?;
    } else {
        let report = outcome?;
        match &report.found {
            Found::Lines(page) if found => print_matches::lines(page, turn.cwd())?,
            Found::Count(counts) if found => print_matches::counts(counts, turn.cwd())?,
            Found::Lines(_) | Found::Count(_) => print::lines("No matches found.")?,
            Found::Files | _ => print::lines(&report.content())?,
        }
        tool_runner::note_unreadable(&report.unreadable, report.skipped.unreadable);
        tool_runner::note_next_offset(report.next_offset);
    }
    Ok(if found { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// Shows lines at a terminal and files otherwise, unless a flag selects another form. As in `rg`,
/// flags for lines have no effect if files or counts are shown.
fn show(flags: &GrepFilesFlags) -> Show {
    if flags.count {
        Show::Count
    } else if flags.files {
        Show::Files
    } else if flags.lines || flags.context.is_some() || (print::is_terminal() && !flags.common.json)
    {
        Show::Lines
    } else {
        Show::Files
    }
}
