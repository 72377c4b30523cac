//! Runs a command and reads its two streams until it ends.
//!
//! One loop polls both pipes and the end of the command. The call ends with the command, even if
//! other processes still hold the pipes; eyelet kills them before it replies.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;

use crate::cancel::{Stop, StopCheck};
use crate::exec::command_spec::CommandSpec;
use crate::exec::job::{JobThread, Request};
use crate::exec::outcome::{CommandEnd, CommandOutcome};
use crate::exec::output_stream::OutputStream;
use crate::exec::output_window::OutputWindow;
use crate::exec::process_group::ProcessGroup;
use crate::exec::refusal::Refusal;
use crate::exec::sandboxed::supervised_process::SupervisedProcess;
use crate::limits::STOP_INTERVAL;
use crate::live_output::OutputKind;
use crate::text::head_tail::Keep;
use crate::text::removed_files::RemovedFiles;
use crate::text::reverted::Reverted;

/// How long background processes may still write after the command has ended.
const DRAIN_TIME: Duration = Duration::from_millis(100);
/// As much as both pipes can hold.
const PIPES_BYTES: usize = 2 * 1024 * 1024;
/// How long a group may take to end after SIGTERM.
const GRACE_TIME: Duration = Duration::from_millis(200);
/// How long to wait for a killed group: a process that hangs in the kernel does not die.
const REAP_TIME: Duration = Duration::from_secs(1);
/// How long a supervisor may take to kill all processes of a command and to restore protected paths.
const SUPERVISOR_TIME: Duration = Duration::from_secs(20);
/// How often to check a group that received SIGTERM.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);
/// How often to offer live output again that was not taken.
const OFFER_INTERVAL: Duration = Duration::from_millis(1);

/// Runs the command until it ends or `stop_check` fails. Answers meanwhile what others ask of the job.
pub(crate) fn run(
    spec: &CommandSpec,
    stop_check: StopCheck,
    job: Option<&JobThread>,
) -> Result<CommandOutcome, Refusal> {
    if let Err(stop) = stop_check.check() {
        let streams = &mut outputs_of([None, None], spec);
        let [stdout, stderr] = OutputStream::finish(streams, spec.window, spec.keep);
        return Ok(CommandOutcome {
            end: CommandEnd::Stopped(stop),
            stdout,
            stderr,
            stopped_with: None,
            sandbox: None,
            blocked: Vec::new(),
            reverted: Vec::new(),
            removed: RemovedFiles::default(),
        });
    }
    let (mut process, outputs) = CommandProcess::start(spec)?;
    let both = outputs_of(outputs, spec);
    let mut streams = Streams { both, window: spec.window, stop_check, job };
    streams.both.iter().try_for_each(OutputStream::prepare)?;
    let stopped = streams.read_until_end(&mut process)?;
    let (exit_code, killed, sandbox, blocked, reverted) = match &mut process {
        CommandProcess::Group(group) => {
            (streams.end_group(group, stopped)?, None, None, Vec::new(), Vec::new())
        }
        CommandProcess::Supervised(process) => (
            streams.end_supervised(process, stopped)?,
            process.take_kill_reason(),
            process.sandbox_facts(),
            process.blocked(),
            process.take_reverted(),
        ),
    };
    let keep = if job.is_some_and(JobThread::is_job) { Keep::Tail } else { spec.keep };
    let [stdout, stderr] = OutputStream::finish(&mut streams.both, spec.window, keep);
    let removed = OutputStream::removed(&streams.both);
    // It had ended before, but not all of its output was taken in time.
    let stopped =
        stopped.or_else(|| streams.stop_check.check().err().filter(|_| streams.is_stalled()));
    let end = match (stopped, killed) {
        (_, Some(reason)) => CommandEnd::Killed(reason),
        (Some(stop), None) => CommandEnd::Stopped(stop),
        (None, None) => CommandEnd::Exited(exit_code.unwrap_or(-1)),
    };
    let stopped_with = stopped.and(exit_code);
    Ok(CommandOutcome { end, stdout, stderr, stopped_with, sandbox, blocked, reverted, removed })
}

fn outputs_of([stdout, stderr]: [Option<OwnedFd>; 2], spec: &CommandSpec) -> [OutputStream; 2] {
    [
        OutputStream::new(OutputKind::Stdout, stdout, spec),
        OutputStream::new(OutputKind::Stderr, stderr, spec),
    ]
}

/// The command and what it started. Dropping it early kills both.
enum CommandProcess {
    /// In a process group of this process; processes that leave the group are missed.
    Group(ProcessGroup),
    /// Under a supervisor, which finds every descendant.
    Supervised(Box<SupervisedProcess>),
}

impl CommandProcess {
    /// Starts the command. Returns its stdout and stderr too.
    fn start(spec: &CommandSpec) -> io::Result<(Self, [Option<OwnedFd>; 2])> {
        match &spec.supervised {
            Some(supervised) => {
                let (process, outputs) = SupervisedProcess::start(supervised, &spec.directory)?;
                Ok((CommandProcess::Supervised(Box::new(process)), outputs))
            }
            None => {
                let (group, outputs) = ProcessGroup::start(spec)?;
                Ok((CommandProcess::Group(group), outputs))
            }
        }
    }

    fn has_ended(&mut self) -> Result<bool, Refusal> {
        match self {
            CommandProcess::Group(group) => Ok(group.has_ended()?),
            CommandProcess::Supervised(process) => process.has_ended(),
        }
    }

    /// Sends SIGINT to the process group of the command.
    fn interrupt(&self) {
        match self {
            CommandProcess::Group(group) => group.signal(Signal::INT),
            CommandProcess::Supervised(process) => process.ask_to_interrupt(),
        }
    }

    /// Becomes readable when the command ends.
    fn end_handle(&self) -> Option<BorrowedFd<'_>> {
        match self {
            CommandProcess::Group(group) => group.end_handle(),
            CommandProcess::Supervised(process) => process.handle(),
        }
    }

    /// The changes to protected paths that were reverted since the last time.
    fn newly_reverted(&mut self) -> Vec<Reverted> {
        match self {
            CommandProcess::Group(_) => Vec::new(),
            CommandProcess::Supervised(process) => process.newly_reverted(),
        }
    }
}

/// Stdout and stderr of a running command, and what can be asked of it meanwhile.
struct Streams<'a> {
    both: [OutputStream; 2],
    window: OutputWindow,
    stop_check: StopCheck,
    job: Option<&'a JobThread>,
}

impl Streams<'_> {
    /// Reads until the command ends or has to stop.
    fn read_until_end(&mut self, process: &mut CommandProcess) -> Result<Option<Stop>, Refusal> {
        let mut is_interrupted = false;
        loop {
            if process.has_ended()? {
                return Ok(None);
            }
            if !is_interrupted && self.stop_check.is_interrupted() {
                is_interrupted = true;
                process.interrupt();
            }
            if let Err(stop) = self.stop_check.check() {
                return Ok(Some(stop));
            }
            let reverted = process.newly_reverted();
            if let Some(job) = self.job {
                job.add_reverted(reverted);
            }
            self.wait(self.stop_check.remaining(), process.end_handle());
            self.read()?;
        }
    }

    /// Does what others have asked of the job.
    fn answer(&mut self) {
        let Some(job) = self.job else { return };
        while let Some(request) = job.next_request() {
            match request {
                Request::BecomeJob(done) => {
                    let files = self.both.iter_mut().filter_map(OutputStream::save_for_job);
                    // The receiver waits for it.
                    let _ = done.send(files.collect());
                }
                Request::Report(report) => {
                    let streams = OutputStream::so_far(&self.both, self.window);
                    let _ = report.send((streams, OutputStream::removed(&self.both)));
                }
                Request::EndAt(until) => self.stop_check.end_at(until),
            }
        }
    }

    /// Asks the supervisor to kill the remaining processes, and reads the remaining output.
    fn end_supervised(
        &mut self,
        process: &mut SupervisedProcess,
        stopped: Option<Stop>,
    ) -> Result<Option<i32>, Refusal> {
        if stopped.is_none() {
            self.drain(DRAIN_TIME)?;
        }
        let until = Instant::now() + SUPERVISOR_TIME;
        let mut is_asked_to_end = false;
        loop {
            self.read()?;
            if process.is_gone()? || Instant::now() >= until {
                break;
            }
            if !is_asked_to_end {
                is_asked_to_end = true;
                process.ask_to_end();
            }
            self.wait(until.saturating_duration_since(Instant::now()), process.handle());
        }
        let exit_code = process.finish();
        let unconfirmed = process.start_unconfirmed();
        self.drain_rest()?;
        match unconfirmed {
            Some(refusal) if stopped.is_none() && self.is_silent() => Err(refusal),
            Some(_) | None => Ok(exit_code),
        }
    }

    /// Kills the remaining processes of the group and reads the remaining output. Returns no exit
    /// code if the command hangs in the kernel.
    fn end_group(
        &mut self,
        group: &mut ProcessGroup,
        stopped: Option<Stop>,
    ) -> io::Result<Option<i32>> {
        if stopped.is_none() {
            group.forget_end_handle();
            self.drain(DRAIN_TIME)?;
        }
        let is_anyone_left = stopped.is_some() || group.has_others();
        if is_anyone_left {
            group.signal(Signal::TERM);
            self.read_until_gone(group, GRACE_TIME)?;
        }
        group.signal(Signal::KILL);
        if is_anyone_left {
            self.read_until_gone(group, REAP_TIME)?;
        }
        let exit_code = group.reap()?;
        self.drain_rest()?;
        Ok(exit_code)
    }

    /// Reads until the pipes are closed or the time is up.
    fn drain(&mut self, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        loop {
            let count = self.read()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_closed() {
                return Ok(());
            }
            if count == 0 {
                self.wait(left, None);
            }
        }
    }

    /// Reads what dead writers left in the pipes, however long it takes to fold it, or to pass it on within the
    /// time limit; does not wait for live ones.
    fn drain_rest(&mut self) -> io::Result<()> {
        let until = Instant::now() + DRAIN_TIME;
        let mut total = 0;
        loop {
            let count = self.read()?;
            total += count;
            if self.is_stalled() && self.stop_check.check().is_ok() {
                self.wait(STOP_INTERVAL, None);
                continue;
            }
            if count == 0 || total > PIPES_BYTES && Instant::now() >= until {
                return Ok(());
            }
        }
    }

    /// Reads until the group is gone or the time is up.
    fn read_until_gone(&mut self, group: &mut ProcessGroup, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        let mut next_look = Instant::now();
        loop {
            self.read()?;
            let now = Instant::now();
            if now >= next_look {
                next_look = now + LOOK_INTERVAL;
                if group.has_ended()? {
                    group.forget_end_handle();
                    if !group.has_others() {
                        return Ok(());
                    }
                }
            }
            if now >= until {
                return Ok(());
            }
            self.wait(LOOK_INTERVAL, group.end_handle());
        }
    }

    /// Waits until there is output, `end` is readable, `time` is up or the stop interval has passed.
    fn wait(&self, time: Duration, end: Option<BorrowedFd<'_>>) {
        let most = if self.is_stalled() { OFFER_INTERVAL } else { STOP_INTERVAL };
        let timeout = Timespec::try_from(time.min(most)).unwrap_or_default();
        let read = self.both.iter().filter(|stream| !stream.is_stalled());
        let handles = read.filter_map(OutputStream::pipe).chain(end);
        let mut fds: Vec<_> =
            handles.map(|handle| PollFd::from_borrowed_fd(handle, PollFlags::IN)).collect();
        // If interrupted, the caller checks everything anyway.
        let _ = rustix::event::poll(&mut fds, Some(&timeout));
    }

    /// Reads from both pipes: a full one must not block the other. Returns how many bytes it read.
    fn read(&mut self) -> io::Result<usize> {
        self.answer();
        let [stdout, stderr] = &mut self.both;
        Ok(stdout.read()? + stderr.read()?)
    }

    /// Whether live output has not yet taken all bytes that were read.
    fn is_stalled(&self) -> bool {
        self.both.iter().any(OutputStream::is_stalled)
    }

    fn is_silent(&self) -> bool {
        self.both.iter().all(|stream| stream.total_bytes() == 0)
    }

    fn is_closed(&self) -> bool {
        self.both.iter().all(|stream| stream.pipe().is_none())
    }
}
