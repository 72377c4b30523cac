//! The init process: enters the sandbox, starts the command, and is the ancestor of all its processes.
//!
//! In the first tier it is process 1 of the namespace, so its death kills all others there. In the
//! second tier it is a subreaper, so orphans become its children.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    DumpableBehavior, Pid, Signal, getpid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal,
};

use super::descendants::{self, Reaped};
use super::guard::Guard;
use super::setup_failure::SetupFailure;
use super::sys::Forked;
use super::{command, namespaces, sys};
use crate::framing::{framed, send_all, take_framed};
use crate::message::Message;
use crate::request::{SandboxRequest, Tier};

/// How long processes may take to exit after SIGTERM.
const GRACE_PERIOD: Duration = Duration::from_millis(200);
/// How long to wait for killed processes to exit.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

/// The result of setting up, for the monitor.
pub(super) type Setup = Result<(), SetupFailure>;

pub(super) struct Init<'r> {
    pub(super) request: &'r SandboxRequest,
    pub(super) tier: Option<Tier>,
    /// A copy of the monitor's, for the case that the monitor is killed.
    pub(super) guard: Option<Guard>,
    /// The user and group IDs to map, if there is a user namespace.
    pub(super) mapped: Option<(u32, u32)>,
    /// The connection to the caller.
    pub(super) control: UnixStream,
    /// The connection to the monitor.
    pub(super) channel: UnixStream,
}

impl Init<'_> {
    pub(super) fn run(mut self) -> ! {
        let code = match self.set_up() {
            Ok(()) => i32::from(self.supervise().is_err()),
            Err(failure) => {
                let setup: Setup = Err(failure);
                let _ = framed(&setup).and_then(|setup| self.channel.write_all(&setup));
                1
            }
        };
        if self.tier != Some(Tier::Namespaces) {
            descendants::kill_all(KILL_TIMEOUT);
            self.restore_if_orphaned();
        }
        std::process::exit(code)
    }

    /// Restores protected paths if the monitor is dead. Not in the first tier: there this process sees
    /// other mounts, and dies with the monitor.
    fn restore_if_orphaned(&mut self) {
        let is_alone = loop {
            match stop_request(&self.channel) {
                StopRequest::None => break false,
                StopRequest::Terminate => {}
                StopRequest::Disconnected => break true,
            }
        };
        if let (true, Some(guard), Some(tier)) = (is_alone, self.guard.take(), self.tier) {
            let reverted = guard.restore(self.request, tier);
            report(&self.control, &Message::Gone(reverted));
        }
    }

    fn set_up(&mut self) -> Setup {
        let is_first = self.tier == Some(Tier::Namespaces);
        let death = if is_first { Signal::KILL } else { Signal::TERM };
        set_parent_process_death_signal(Some(death))
            .map_err(|error| SetupFailure::new("cannot set the parent death signal", error))?;
        if is_first {
            if let Some((user, group)) = self.mapped {
                namespaces::map_user(user, group)?;
            }
            namespaces::enter(self.request)?;
        } else {
            set_child_subreaper(Some(getpid()))
                .map_err(|error| SetupFailure::new("cannot become a subreaper", error))?;
        }
        let ready: Setup = Ok(());
        framed(&ready)
            .and_then(|ready| self.channel.write_all(&ready))
            .map_err(|error| SetupFailure::new("cannot report to the monitor", error))
    }

    fn supervise(&mut self) -> io::Result<()> {
        // The command has the same user and must not inspect this process.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let signals = sys::signal_fd(&[Signal::CHILD, Signal::TERM])?;
        let Some(command) = self.start()? else { return Ok(()) };
        let mut kill_at: Option<Instant> = None;
        loop {
            loop {
                match descendants::reap() {
                    Reaped::One(pid, status) if pid == command => {
                        report(&self.control, &Message::Exited(descendants::exit_code(status)));
                    }
                    Reaped::One(..) => {}
                    Reaped::NoneYet => break,
                    Reaped::NoChildren => return Ok(()),
                }
            }
            let left = kill_at.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
            self.wait(&signals, left);
            while let Some(signal) = sys::next_signal(signals.as_fd()) {
                if signal == Signal::TERM.as_raw().unsigned_abs() {
                    return Ok(());
                }
            }
            match stop_request(&self.channel) {
                StopRequest::None => {}
                StopRequest::Terminate if kill_at.is_none() => {
                    descendants::signal(Signal::TERM);
                    kill_at = Some(Instant::now() + GRACE_PERIOD);
                }
                StopRequest::Terminate => {}
                StopRequest::Disconnected => return Ok(()),
            }
        }
    }

    /// Starts the command. Reports a failure and returns `None` if it does not start.
    fn start(&mut self) -> io::Result<Option<Pid>> {
        let Some(program) = &self.request.program else { return Ok(None) };
        let (failures, write_failures) = pipe_with(PipeFlags::CLOEXEC)?;
        let command = match sys::fork_into(0)? {
            Forked::Child => {
                drop(failures);
                let failures = std::fs::File::from(write_failures);
                command::execute(self.request, self.tier, program, failures)
            }
            Forked::Parent(pid) => pid,
        };
        drop(write_failures);
        release_outputs()?;
        let mut failure = Vec::new();
        std::fs::File::from(failures).read_to_end(&mut failure)?;
        match take_framed::<Message>(&mut failure)? {
            Some(failure) => {
                report(&self.control, &failure);
                Ok(None)
            }
            None => {
                report(&self.control, &Message::Started(self.tier));
                Ok(Some(command))
            }
        }
    }

    fn wait(&self, signals: &OwnedFd, time: Option<Duration>) {
        let mut fds =
            [PollFd::new(&self.channel, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        let timeout = time.and_then(|time| Timespec::try_from(time).ok());
        let _ = rustix::event::poll(&mut fds, timeout.as_ref());
    }
}

/// What the other side of a connection requests.
pub(super) enum StopRequest {
    None,
    /// Terminate the command, then kill it.
    Terminate,
    /// The other side is gone.
    Disconnected,
}

pub(super) fn stop_request(connection: &UnixStream) -> StopRequest {
    match rustix::net::recv(connection, &mut [0; 16][..], RecvFlags::DONTWAIT) {
        Ok((0, _)) => StopRequest::Disconnected,
        Ok(_) => StopRequest::Terminate,
        Err(Errno::AGAIN | Errno::INTR) => StopRequest::None,
        Err(_) => StopRequest::Disconnected,
    }
}

/// Sends a message to the caller. Errors are ignored: the caller's exit is noticed elsewhere.
pub(super) fn report(control: &UnixStream, message: &Message) {
    let _ = framed(message).map(|bytes| send_all(control, &bytes));
}

/// Closes this process's copies of the command's outputs: the pipes must close with the command.
pub(super) fn release_outputs() -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
