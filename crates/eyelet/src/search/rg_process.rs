//! Searches with the program `rg`.
//!
//! eyelet opens the search path inside the roots, but `rg` opens it again by name: if someone
//! replaces a directory by a symlink in between, `rg` searches the symlink's target. eyelet opens
//! each hit through the roots before it reports it. The embedded engine never reads outside of the
//! roots.

use std::ffi::OsStr;
use std::io::Read;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, CWD};

use crate::cancel::{Stop, StopCheck};
use crate::context::{PathScope, TurnContext};
use crate::error::{ErrorCode, Hint, ToolError};
use crate::limits::STOP_INTERVAL;
use crate::text::newest_page::{Hit, NewestPage};

use crate::exec::find_program::{self, HelperProgram};
use crate::fs::regular_file::modified_nanos;
use crate::paths::confined_path::OpenFailure;
use crate::sandbox_policy::SandboxPolicy;
use crate::search::goal::Goal;
use crate::search::outcome::{SearchCounts, SearchFailure};
use crate::search::query::Query;
use crate::search::target::Target;

/// The most bytes held of the errors that `rg` prints.
const MAX_STDERR_BYTES: usize = 8 * 1024;
/// A longer line is not a path and is dropped.
const MAX_PATH_BYTES: usize = 64 * 1024;
/// How often to check for the exit after `rg` closed its output.
const EXIT_INTERVAL: Duration = Duration::from_millis(2);

/// Searches with `rg` from the turn's `PATH`.
pub(crate) fn search(
    query: &Query,
    goal: Goal,
    target: &Target,
    turn: &TurnContext,
    stop_check: &StopCheck,
    mut newest: NewestPage,
) -> Result<(SearchCounts, NewestPage), SearchFailure> {
    stop_check.check()?;
    let mut files = FileCollector::new(goal);
    let mut lines = LineSplitter::default();
    let mut running = RgProcess::start(query, goal, target, turn)?;
    let mut report = |path: String, lines| {
        if let Some(modified) = modified_at(&path, turn) {
            newest.add(Hit { path, modified, lines });
        }
    };
    let (status, error_text) = running.finish(stop_check, |bytes| {
        lines.feed(bytes, |line| files.add(line, &mut report));
    })?;
    files.finish(&mut report);
    match status.code() {
        Some(0 | 1) => Ok((files.counts, newest)),
        code => Err(SearchFailure::Failed(failed(&why(code, status, &error_text)))),
    }
}

/// Collects the files in the output of `rg`: a path per line, or a path, a NUL and a number or line.
struct FileCollector {
    goal: Goal,
    counts: SearchCounts,
    /// The file whose matching lines are being counted.
    last: Vec<u8>,
    lines: u64,
}

impl FileCollector {
    fn new(goal: Goal) -> Self {
        FileCollector { goal, counts: SearchCounts::default(), last: Vec::new(), lines: 0 }
    }

    fn add(&mut self, line: &[u8], report: &mut impl FnMut(String, u64)) {
        let (path, lines) = match self.goal {
            Goal::Files => (line, Some(1)),
            Goal::Lines { .. } | Goal::Count => {
                // A line without a NUL is a warning, or a part of a name with a line break.
                let Some(end) = memchr::memchr(0, line) else { return };
                let (path, rest) = line.split_at(end);
                let number = rest.get(1..).and_then(|number| std::str::from_utf8(number).ok());
                let number = number.and_then(|number| number.parse().ok());
                (path, if self.goal == Goal::Count { number } else { Some(1) })
            }
        };
        let Some(lines) = lines else { return };
        if self.last != path {
            self.finish(report);
            self.last.extend_from_slice(path);
        }
        self.lines += lines;
    }

    /// Reports the last file.
    fn finish(&mut self, report: &mut impl FnMut(String, u64)) {
        let (path, lines) = (mem::take(&mut self.last), mem::take(&mut self.lines));
        match String::from_utf8(path) {
            Ok(path) if path.is_empty() => {}
            Ok(path) => report(path, lines),
            Err(_) => self.counts.skipped.not_utf8 += 1,
        }
    }
}

fn failed(why: &str) -> ToolError {
    ToolError::new(ErrorCode::SearchFailed, format!("rg failed: {why}"))
}

fn why(code: Option<i32>, status: ExitStatus, error_text: &[u8]) -> String {
    let error_text = String::from_utf8_lossy(error_text);
    let error_text = error_text.trim();
    let error_text = error_text.strip_prefix("rg: ").unwrap_or(error_text);
    match (code, status.signal()) {
        (_, Some(signal)) => format!("killed by signal {signal}"),
        // `--no-messages` suppresses these errors.
        (Some(2), None) if error_text.is_empty() => "some files could not be read".to_owned(),
        (Some(code), None) if error_text.is_empty() => format!("exit code {code}"),
        _ => error_text.to_owned(),
    }
}

/// The modification time of a hit: `Some(None)` if the file is gone, `None` if the turn may not
/// open it.
fn modified_at(path: &str, turn: &TurnContext) -> Option<Option<i128>> {
    if turn.path_scope == PathScope::Everything && turn.deny_list.is_empty() {
        let stat = rustix::fs::statat(CWD, path, AtFlags::empty());
        return Some(stat.ok().map(|stat| modified_nanos(&stat)));
    }
    match turn.confine(path.into())?.open_regular() {
        Ok(file) => Some(rustix::fs::fstat(file).ok().map(|stat| modified_nanos(&stat))),
        Err(OpenFailure::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Some(None),
        Err(_) => None,
    }
}

/// Where commands can create programs. A program there must not run outside the sandbox.
fn writable_directories(turn: &TurnContext) -> Vec<PathBuf> {
    if turn.sandbox() == SandboxPolicy::Full {
        return Vec::new();
    }
    let mut directories = find_program::temp_dirs(&turn.environment);
    for root in turn.roots.iter() {
        directories.extend([root.path().to_owned(), root.real_path().to_owned()]);
    }
    if turn.roots.is_empty() {
        // Commands then use the working directory as their root.
        directories.push(turn.cwd().to_owned());
        directories.extend(std::fs::canonicalize(turn.cwd()));
    }
    directories
}

fn not_launched(why: &str) -> SearchFailure {
    let error = ToolError::new(ErrorCode::SearchFailed, format!("failed to launch rg: {why}"));
    SearchFailure::Failed(error.with_hint(Hint::InstallRipgrep))
}

/// A running `rg`. Dropping it kills it.
struct RgProcess {
    child: Child,
    reaped: bool,
}

impl RgProcess {
    fn start(
        query: &Query,
        goal: Goal,
        target: &Target,
        turn: &TurnContext,
    ) -> Result<Self, SearchFailure> {
        let program = HelperProgram::first_outside(turn.rg(), &writable_directories(turn))
            .map_err(|reason| not_launched(&reason))?;
        let mut command = Command::new(&program.file);
        // Some programs look at the name under which they were started.
        command.arg0(&program.path);
        match goal {
            Goal::Files => command.arg("--files-with-matches"),
            // The matching lines themselves are read later, by eyelet.
            Goal::Lines { most } => command
                .args(["--line-number", "--no-heading", "--with-filename", "--null"])
                .args(["--max-columns=1", &format!("--max-count={most}")]),
            Goal::Count => command.args(["--count", "--with-filename", "--null"]),
        };
        if matches!(goal, Goal::Lines { .. }) && target.is_file() {
            command.arg("--text");
        }
        command.args(["--sortr=modified", "--regexp"]).arg(&query.pattern).arg("--no-messages");
        if let Some(include) = &query.include {
            command.arg("--glob").arg(include);
        }
        command.arg("--").arg(target.path()).current_dir(turn.cwd());
        let kept = |(name, _): &(&OsStr, &OsStr)| *name != "RIPGREP_CONFIG_PATH";
        command.env_clear().envs(turn.environment.iter().filter(kept));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.process_group(0).spawn();
        let child = child.map_err(|error| not_launched(&error.to_string()))?;
        Ok(RgProcess { child, reaped: false })
    }

    /// Passes the output to `feed` until `rg` exits. Returns its error output.
    fn finish(
        &mut self,
        stop_check: &StopCheck,
        mut feed: impl FnMut(&[u8]),
    ) -> Result<(ExitStatus, Vec<u8>), SearchFailure> {
        let (mut output, mut errors) = (self.child.stdout.take(), self.child.stderr.take());
        let mut buffer = vec![0; MAX_PATH_BYTES];
        let mut error_text = Vec::new();
        while output.is_some() || errors.is_some() {
            let ready = wait_for(output.as_ref(), errors.as_ref(), stop_check)?;
            if ready.output {
                read_some(&mut output, &mut buffer, &mut feed);
            }
            if ready.errors {
                read_some(&mut errors, &mut buffer, |bytes| {
                    let room = MAX_STDERR_BYTES.saturating_sub(error_text.len());
                    error_text.extend(bytes.iter().take(room));
                });
            }
        }
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    self.reaped = true;
                    return Ok((status, error_text));
                }
                Ok(None) => {
                    stop_check.check()?;
                    std::thread::sleep(EXIT_INTERVAL);
                }
                Err(error) => return Err(SearchFailure::Failed(failed(&error.to_string()))),
            }
        }
    }
}

impl Drop for RgProcess {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        let id = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Default)]
struct Ready {
    output: bool,
    errors: bool,
}

/// Waits until a pipe has data or is closed; checks for a stop meanwhile.
fn wait_for(
    output: Option<&impl AsFd>,
    errors: Option<&impl AsFd>,
    stop_check: &StopCheck,
) -> Result<Ready, Stop> {
    let output = output.map(AsFd::as_fd);
    let errors = errors.map(AsFd::as_fd);
    loop {
        stop_check.check()?;
        let interval =
            Timespec::try_from(STOP_INTERVAL.min(stop_check.remaining())).unwrap_or_default();
        let mut pipes: Vec<_> = [output, errors].into_iter().flatten().map(poll_fd).collect();
        if !matches!(rustix::event::poll(&mut pipes, Some(&interval)), Ok(1..)) {
            continue;
        }
        let mut ready = pipes.iter().map(|pipe| !pipe.revents().is_empty());
        let mut next = |pipe: Option<BorrowedFd<'_>>| pipe.is_some() && ready.next() == Some(true);
        return Ok(Ready { output: next(output), errors: next(errors) });
    }
}

fn poll_fd(pipe: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(pipe, PollFlags::IN)
}

/// Reads once from a pipe that is ready. Sets it to none at its end.
fn read_some(pipe: &mut Option<impl Read>, buffer: &mut [u8], mut feed: impl FnMut(&[u8])) {
    let Some(open) = pipe else { return };
    match open.read(buffer) {
        Ok(count) if count > 0 => feed(buffer.get(..count).unwrap_or_default()),
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
        Ok(_) | Err(_) => *pipe = None,
    }
}

/// Splits a stream into lines. Drops lines that are too long for a path.
#[derive(Default)]
struct LineSplitter {
    rest: Vec<u8>,
    dropping: bool,
}

impl LineSplitter {
    fn feed(&mut self, bytes: &[u8], mut line: impl FnMut(&[u8])) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ended) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            if self.rest.len() + text.len() > MAX_PATH_BYTES {
                self.dropping = true;
                self.rest.clear();
            }
            if !self.dropping {
                self.rest.extend_from_slice(text);
            }
            if ended {
                if !self.dropping {
                    line(&self.rest);
                }
                self.rest.clear();
                self.dropping = false;
            }
        }
    }
}

#[cfg(test)]
#[path = "rg_process_tests.rs"]
mod tests;
