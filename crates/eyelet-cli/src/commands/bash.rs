//! `eyelet bash`: runs a command, prints its output and exits with its exit code.

use std::process::ExitCode;

use eyelet::tools::{Bash, BashArgs, BashReport, Shown, StreamReport};

use super::tool_runner;
use crate::failure::Failure;
use crate::flags::{BashFlags, ContextFlags};
use crate::{context, print};

/// The same exit codes as those of `timeout` and `env`.
const TIMED_OUT: u8 = 124;
const COULD_NOT_RUN: u8 = 125;

pub(crate) fn run(flags: &BashFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let turn = context::build(&before.with(&flags.common.context)).map_err(could_not_run)?;
    let args = BashArgs {
        timeout_secs: flags.timeout_secs,
        keep: flags.keep,
        ..BashArgs::new(&flags.command)
    };
    let outcome = tool_runner::run::<Bash>(args, &turn);
    if flags.common.json {
        let exit = outcome.as_ref().map_or(COULD_NOT_RUN.into(), exit_code);
        tool_runner::print_report(outcome)?;
        return Ok(exit);
    }
    let report = outcome.map_err(|error| could_not_run(error.into()))?;
    print::text(&shown(&report.stdout))?;
    print::stderr_text(&shown(&report.stderr))?;
    remove_unnamed_files(&report);
    let streams = [stream_note("stdout", &report.stdout), stream_note("stderr", &report.stderr)];
    for note in streams.into_iter().flatten() {
        print::note(&note);
    }
    if report.timed_out {
        print::note("timed out; use --timeout-secs to allow more time");
    } else if report.cancelled {
        print::note("cancelled");
    }
    if let Some(reason) = &report.killed {
        print::note(&format!("killed: {reason}"));
    }
    for blocked in report.blocked_in_words() {
        print::note(&blocked);
    }
    for path in report.reverted_in_words() {
        print::note(&format!("protected: {path}"));
    }
    Ok(exit_code(&report))
}

fn could_not_run(failure: Failure) -> Failure {
    Failure { exit: COULD_NOT_RUN, ..failure }
}

fn exit_code(report: &BashReport) -> ExitCode {
    if report.timed_out {
        return TIMED_OUT.into();
    }
    u8::try_from(report.exit_code).unwrap_or(COULD_NOT_RUN).into()
}

/// Removes the files of streams that are printed completely: only the text form for models, which
/// folds redraws, names them.
fn remove_unnamed_files(report: &BashReport) {
    for stream in [&report.stdout, &report.stderr] {
        if let (Shown::Whole(_), Some(file)) = (&stream.shown, stream.file()) {
            // A file that stays is removed later, because of its age.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// The shown part of a stream, with a marker line between head and tail.
fn shown(stream: &StreamReport) -> String {
    let head = stream.text();
    let Some(tail) = stream.tail() else { return head.to_owned() };
    let newline = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{newline}[middle truncated]\n{tail}")
}

/// Which part of a truncated stream is shown, and where all of it was saved.
fn stream_note(name: &str, stream: &StreamReport) -> Option<String> {
    let part = match &stream.shown {
        Shown::Whole(_) => return None,
        Shown::Tail(_) => "only the end is shown",
        Shown::Both { .. } => "only the start and the end are shown",
        Shown::Head(_) | _ => "only the start is shown",
    };
    let file = stream.file().map(|file| file.display());
    let saved = match (file, stream.save_error()) {
        (Some(file), None) => format!("saved to {file}"),
        (Some(file), Some(reason)) => format!("partly saved to {file}: {reason}"),
        (None, Some(reason)) => format!("not saved: {reason}"),
        (None, None) => "not saved".to_owned(),
    };
    Some(format!("{name}: {} bytes in total, {part}; {saved}", stream.total_bytes))
}
