//! `eyelet bash`: runs a command, prints its output and exits with its exit code.
//!
//! By default it prints all output while the command runs. With `--keep` or `--json` it prints the bounded report at
//! the end.

use std::io::ErrorKind;
use std::process::ExitCode;

use eyelet::CancelFlag;
use eyelet::tools::{Bash, BashArgs, BashReport, Shown, StreamReport};

use super::tool_runner;
use crate::failure::Failure;
use crate::flags::{BashFlags, ContextFlags};
use crate::interrupts::Interrupts;
use crate::print_live::{LivePrinter, Printed};
use crate::{context, print};

/// The same exit codes as those of `timeout` and `env`.
const TIMED_OUT: u8 = 124;
const COULD_NOT_RUN: u8 = 125;
/// The exit codes of a shell whose command SIGKILL or SIGPIPE ended.
const KILLED: i32 = 137;
const READER_GONE: u8 = 141;

pub(crate) fn run(flags: &BashFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let context = before.with(&flags.common.context);
    let is_live = !flags.common.json && flags.keep.is_none();
    let turn = match is_live {
        true => context::build_without_store(&context),
        false => context::build(&context),
    };
    let cancel = CancelFlag::default();
    let mut turn = turn.map_err(could_not_run)?.with_cancel(cancel.clone());
    let interrupts = Interrupts::pass_to(cancel.clone());
    let interrupts = interrupts.map_err(|error| {
        could_not_run(Failure::new(format!("cannot handle interrupts: {error}")))
    })?;
    let printer = is_live.then(|| LivePrinter::start(cancel));
    if let Some(printer) = printer.clone() {
        turn = turn.with_live_output(move |kind, bytes| printer.take(kind, bytes));
    }
    let args = BashArgs {
        timeout_secs: flags.timeout_secs,
        keep: flags.keep,
        ..BashArgs::new(&flags.command)
    };
    let outcome = tool_runner::run::<Bash>(args, &turn);
    let printed = printer.as_ref().map_or(Printed::All, LivePrinter::finish);
    drop(interrupts);
    if flags.common.json {
        let exit = outcome.as_ref().map_or(COULD_NOT_RUN.into(), exit_code);
        tool_runner::print_report(outcome)?;
        return Ok(exit);
    }
    let report = outcome.map_err(|error| could_not_run(error.into()))?;
    match printed {
        Printed::Failed(error) if error.kind() == ErrorKind::BrokenPipe => {
            return Ok(READER_GONE.into());
        }
        Printed::Failed(error) => return Err(error.into()),
        Printed::NotAll => print::note(
            "the end of the output is lost, because the program that reads it was too slow",
        ),
        Printed::All => {}
    }
    if !is_live {
        print_streams(&report)?;
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
        print::note(&format!("protected path {path}"));
    }
    Ok(exit_code(&report))
}

/// Prints the shown part of both streams, and where all of it was saved.
fn print_streams(report: &BashReport) -> Result<(), Failure> {
    print::text(&shown(&report.stdout))?;
    print::stderr_text(&shown(&report.stderr))?;
    remove_unnamed_files(report);
    let streams = [stream_note("stdout", &report.stdout), stream_note("stderr", &report.stderr)];
    for note in streams.into_iter().flatten() {
        print::note(&note);
    }
    Ok(())
}

fn could_not_run(failure: Failure) -> Failure {
    Failure { exit: COULD_NOT_RUN, ..failure }
}

fn exit_code(report: &BashReport) -> ExitCode {
    if report.timed_out {
        return TIMED_OUT.into();
    }
    let exit_code = match report.cancelled {
        true => report.stopped_with.unwrap_or(KILLED),
        false => report.exit_code,
    };
    u8::try_from(exit_code).unwrap_or(COULD_NOT_RUN).into()
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
