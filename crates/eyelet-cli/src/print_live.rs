//! Prints the output of a command while it runs, each stream to its own, and how long a silent command has run.
//!
//! A pipe gets the bytes of the command. On a terminal, control characters are escaped.

use std::io::{self, ErrorKind, IsTerminal as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::str;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use eyelet::{CancelFlag, OutputKind};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::print;

/// The most bytes of one write: a pipe that is ready takes as many at once.
const WRITE_BYTES: usize = 4096;
/// How long to wait for a slow reader before the library checks the time limit.
const READER_WAIT_MS: u8 = 20;
/// How often to look whether the command is silent, and whether the readers are still there.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// How long a command is silent before its seconds are shown.
const SILENT_TIME: Duration = Duration::from_secs(2);

/// Prints the output of one command.
#[derive(Clone)]
pub(crate) struct LivePrinter(Arc<Mutex<State>>);

struct State {
    start: Instant,
    last_output: Instant,
    stdout: Destination,
    stderr: Destination,
    /// How many characters the line with the seconds has; 0 if it is not shown.
    seconds_width: usize,
    /// The last of our terminals that ended in the middle of a line.
    unfinished_line: Option<OutputKind>,
    /// Why nothing more can be printed.
    failure: Option<io::Error>,
    is_finished: bool,
    cancel: CancelFlag,
}

/// Where a stream goes.
struct Destination {
    is_terminal: bool,
    /// On a terminal, the start of a character whose end is yet to come.
    started: Vec<u8>,
    /// Whether its reader has yet to take some of the output.
    is_behind: bool,
}

/// Whether all output was printed.
pub(crate) enum Printed {
    All,
    /// All but what its reader did not take in time.
    NotAll,
    Failed(io::Error),
}

impl LivePrinter {
    /// Starts to show the seconds. `cancel` ends the command when its output cannot be printed.
    pub(crate) fn start(cancel: CancelFlag) -> Self {
        let destination =
            |is_terminal| Destination { is_terminal, started: Vec::new(), is_behind: false };
        let start = Instant::now();
        let printer = LivePrinter(Arc::new(Mutex::new(State {
            start,
            last_output: start,
            stdout: destination(io::stdout().is_terminal()),
            stderr: destination(io::stderr().is_terminal()),
            seconds_width: 0,
            unfinished_line: None,
            failure: None,
            is_finished: false,
            cancel,
        })));
        let looking = printer.clone();
        // Without the thread, only the seconds are missing.
        let _ = thread::Builder::new().spawn(move || {
            while looking.state().look() {
                thread::sleep(LOOK_INTERVAL);
            }
        });
        printer
    }

    /// Prints bytes. Returns how many, and all of them if nobody reads them.
    pub(crate) fn take(&self, kind: OutputKind, bytes: &[u8]) -> usize {
        self.state().take(kind, bytes)
    }

    /// Ends the last line.
    pub(crate) fn finish(&self) -> Printed {
        self.state().finish()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, kind: OutputKind, bytes: &[u8]) -> usize {
        self.last_output = Instant::now();
        let mut taken = 0;
        let mut wait = PollTimeout::from(READER_WAIT_MS);
        for piece in bytes.chunks(WRITE_BYTES) {
            if self.failure.is_some() || !is_ready(kind, wait) {
                break;
            }
            wait = PollTimeout::ZERO;
            match self.print(kind, piece) {
                Ok(count) => {
                    taken += count;
                    if count < piece.len() {
                        break;
                    }
                }
                Err(error) => self.fail(error),
            }
        }
        if self.failure.is_some() {
            taken = bytes.len();
        }
        self.destination(kind).is_behind = taken < bytes.len();
        taken
    }

    fn destination(&mut self, kind: OutputKind) -> &mut Destination {
        match kind {
            OutputKind::Stdout => &mut self.stdout,
            OutputKind::Stderr => &mut self.stderr,
        }
    }

    fn print(&mut self, kind: OutputKind, bytes: &[u8]) -> io::Result<usize> {
        self.erase_seconds()?;
        let destination = self.destination(kind);
        if !destination.is_terminal {
            return write(kind, bytes);
        }
        let text = print::escaped(&decoded(&mut destination.started, bytes));
        if !text.is_empty() {
            self.unfinished_line = (!text.ends_with('\n')).then_some(kind);
        }
        write_all(kind, text.as_bytes())?;
        Ok(bytes.len())
    }

    /// Shows the seconds of a silent command, and ends a command without readers. Returns false at the end.
    fn look(&mut self) -> bool {
        if self.is_finished || self.failure.is_some() {
            return false;
        }
        if is_gone(OutputKind::Stdout) || is_gone(OutputKind::Stderr) {
            self.fail(ErrorKind::BrokenPipe.into());
            return false;
        }
        let can_show = self.stderr.is_terminal
            && self.unfinished_line.is_none()
            && is_ready(OutputKind::Stderr, PollTimeout::ZERO);
        if can_show && self.last_output.elapsed() >= SILENT_TIME {
            let seconds = format!("{} s", self.start.elapsed().as_secs());
            self.seconds_width = seconds.len();
            // Without them, the command is only more silent.
            let _ = write_all(OutputKind::Stderr, format!("\r{seconds}").as_bytes());
        }
        true
    }

    fn erase_seconds(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.seconds_width) {
            0 => Ok(()),
            width => write_all(OutputKind::Stderr, format!("\r{:width$}\r", "").as_bytes()),
        }
    }

    fn finish(&mut self) -> Printed {
        self.is_finished = true;
        if let Err(error) = self.finish_lines() {
            self.failure.get_or_insert(error);
        }
        match self.failure.take() {
            Some(error) => Printed::Failed(error),
            None if self.stdout.is_behind || self.stderr.is_behind => Printed::NotAll,
            None => Printed::All,
        }
    }

    fn finish_lines(&mut self) -> io::Result<()> {
        if self.failure.is_some() {
            return Ok(());
        }
        self.erase_seconds()?;
        for kind in [OutputKind::Stdout, OutputKind::Stderr] {
            if !std::mem::take(&mut self.destination(kind).started).is_empty() {
                self.unfinished_line = Some(kind);
                write_all(kind, char::REPLACEMENT_CHARACTER.to_string().as_bytes())?;
            }
        }
        // The next text must start on a new line.
        self.unfinished_line.take().map_or(Ok(()), |kind| write_all(kind, b"\n"))
    }

    fn fail(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
        self.cancel.cancel();
    }
}

/// Decodes `started` and `bytes` as text. An incomplete character at the end stays in `started`.
fn decoded(started: &mut Vec<u8>, bytes: &[u8]) -> String {
    started.extend_from_slice(bytes);
    let all = std::mem::take(started);
    let mut rest = all.as_slice();
    let mut text = String::new();
    while let Err(error) = str::from_utf8(rest) {
        let (valid, other) = rest.split_at(error.valid_up_to());
        text.push_str(&String::from_utf8_lossy(valid));
        let Some(count) = error.error_len() else {
            started.extend_from_slice(other);
            return text;
        };
        text.push(char::REPLACEMENT_CHARACTER);
        rest = other.get(count..).unwrap_or_default();
    }
    text.push_str(&String::from_utf8_lossy(rest));
    text
}

/// Whether a write would not wait, or would fail.
fn is_ready(kind: OutputKind, wait: PollTimeout) -> bool {
    !state_of(kind, PollFlags::POLLOUT, wait).is_empty()
}

/// Whether no process can read the output any more.
fn is_gone(kind: OutputKind) -> bool {
    let state = state_of(kind, PollFlags::empty(), PollTimeout::ZERO);
    state.intersects(PollFlags::POLLERR | PollFlags::POLLHUP)
}

fn state_of(kind: OutputKind, events: PollFlags, wait: PollTimeout) -> PollFlags {
    with_handle(kind, |handle| {
        let mut handles = [PollFd::new(handle, events)];
        let found = poll(&mut handles, wait).is_ok_and(|count| count > 0);
        let [handle] = handles;
        handle.revents().filter(|_| found).unwrap_or(PollFlags::empty())
    })
}

/// Writes without the buffers of the standard library: output appears at once. Returns how many bytes it wrote.
fn write(kind: OutputKind, bytes: &[u8]) -> io::Result<usize> {
    match with_handle(kind, |handle| nix::unistd::write(handle, bytes)) {
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
        written => Ok(written?),
    }
}

fn write_all(kind: OutputKind, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = write(kind, bytes)?;
        bytes = bytes.get(count..).unwrap_or_default();
        if count == 0 {
            is_ready(kind, PollTimeout::from(READER_WAIT_MS));
        }
    }
    Ok(())
}

fn with_handle<T>(kind: OutputKind, act: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
    match kind {
        OutputKind::Stdout => act(io::stdout().as_fd()),
        OutputKind::Stderr => act(io::stderr().as_fd()),
    }
}
