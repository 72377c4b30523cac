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
use rustix::process::{
    DumpableBehavior, Pid, Signal, getpid, kill_process_group, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal,
};

use serde::{Deserialize, Serialize};

use super::descendants::{self, Reaped};
use super::network_counters::refused_connections;
use super::protection::{Mounts, Protection};
use super::setup_failure::SetupFailure;
use super::sys::Forked;
use super::{command, covers, detached_mount, forks, memory, namespaces, sys};
use crate::framing::{framed, send_all, take_framed};
use crate::handle_passing;
use crate::message::Message;
use crate::request::{Network, RawPath, SandboxRequest, Tier};
use crate::supervised::TERMINATE;

/// How long processes may take to exit after SIGTERM.
const GRACE_PERIOD: Duration = Duration::from_millis(200);

/// The result of setting up, for the monitor.
pub(super) type Setup = Result<(), SetupFailure>;

pub(super) struct Init<'r> {
    pub(super) request: &'r SandboxRequest,
    pub(super) tier: Option<Tier>,
    /// A copy of the monitor's, for the case that the monitor is killed.
    pub(super) protection: Option<Protection>,
    /// The mounts that protect paths in the first tier.
    pub(super) mounts: Mounts,
    /// The user and group IDs to map, if there is a user namespace.
    pub(super) mapped: Option<(u32, u32)>,
    /// The connection to the caller.
    pub(super) control: UnixStream,
    /// The connection to the monitor.
    pub(super) channel: UnixStream,
    /// The bytes that the monitor has sent.
    pub(super) inbox: Vec<u8>,
    /// Reports forks of the command in the second tier.
    pub(super) forks: Option<OwnedFd>,
}

/// An order from the monitor to the init process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Send SIGINT to the process group of the command.
    Interrupt,
    /// Terminate the command, then kill it.
    Terminate,
    /// Mount this path read-only, and answer which file it is.
    MountReadOnly(RawPath),
    /// Cover this denied path, and answer when it is done.
    Cover(RawPath),
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
        // Nobody answers forks any more, so the processes that are left wait for it until they are killed.
        if self.tier != Some(Tier::Namespaces) {
            descendants::kill_all();
            self.restore_if_orphaned();
        }
        std::process::exit(code)
    }

    /// Restores protected paths if the monitor is dead. Not in the first tier: there this process sees
    /// other mounts, and dies with the monitor.
    fn restore_if_orphaned(&mut self) {
        let is_alone = loop {
            match self.next_order() {
                Ok(None) => break false,
                Ok(Some(_)) => {}
                Err(_) => break true,
            }
        };
        if let (true, Some(protection)) = (is_alone, self.protection.take()) {
            report(&self.control, &Message::Gone(protection.finish()));
        }
    }

    fn set_up(&mut self) -> Setup {
        // The first tier's `/proc` is read-only.
        memory::offer_to_oom_killer();
        let is_first = self.tier == Some(Tier::Namespaces);
        let death = if is_first { Signal::KILL } else { Signal::TERM };
        set_parent_process_death_signal(Some(death))
            .map_err(|error| SetupFailure::new("cannot set the parent death signal", error))?;
        if is_first {
            if let Some((user, group)) = self.mapped {
                namespaces::map_user(user, group)?;
            }
            namespaces::enter(self.request, &self.mounts)?;
        } else {
            set_child_subreaper(Some(getpid()))
                .map_err(|error| SetupFailure::new("cannot become a subreaper", error))?;
        }
        let ready: Setup = Ok(());
        framed(&ready)
            .and_then(|ready| self.channel.write_all(&ready))
            .map_err(|error| SetupFailure::new("cannot report to the supervisor", error))
    }

    /// Runs the command to its end, and reports what its network refused.
    fn supervise(&mut self) -> io::Result<()> {
        let has_own_network =
            self.tier == Some(Tier::Namespaces) && self.request.network == Network::Off;
        if !has_own_network {
            return self.run_command();
        }
        let before = refused_connections();
        let ended = self.run_command();
        let refused = refused_connections().saturating_sub(before);
        if refused > 0 {
            report(&self.control, &Message::ConnectionsRefused(refused));
        }
        ended
    }

    fn run_command(&mut self) -> io::Result<()> {
        // The command has the same user and must not inspect this process.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let signals = sys::signal_fd(&[Signal::CHILD, Signal::TERM])?;
        let Some(command) = self.start()? else { return Ok(()) };
        let mut kill_at: Option<Instant> = None;
        let mut has_exited = false;
        loop {
            loop {
                match descendants::reap() {
                    Reaped::One(pid, status) if pid == command => {
                        has_exited = true;
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
            match self.next_order() {
                Ok(None) => {}
                Ok(Some(Order::Interrupt)) => {
                    // Once it is reaped, another group may have its number.
                    if !has_exited {
                        let _ = kill_process_group(command, Signal::INT);
                    }
                }
                Ok(Some(Order::Terminate)) => {
                    if kill_at.is_none() {
                        descendants::signal(Signal::TERM);
                        kill_at = Some(Instant::now() + GRACE_PERIOD);
                    }
                }
                Ok(Some(Order::MountReadOnly(path))) => {
                    let mounted = detached_mount::make_read_only(&path.0);
                    let mounted = mounted.map_err(|failure| failure.reason);
                    self.channel.write_all(&framed(&mounted)?)?;
                }
                Ok(Some(Order::Cover(path))) => {
                    let covered = covers::cover(&path.0).map_err(|failure| failure.reason);
                    self.channel.write_all(&framed(&covered)?)?;
                }
                Err(_) => return Ok(()),
            }
        }
    }

    /// Starts the command. Reports a failure and returns `None` if it does not start.
    fn start(&mut self) -> io::Result<Option<Pid>> {
        let Some(program) = &self.request.program else { return Ok(None) };
        let (mut channel, theirs) = UnixStream::pair()?;
        let command = match sys::fork_into(0)? {
            Forked::Child => {
                drop(channel);
                command::execute(self.request, self.tier, program, theirs)
            }
            Forked::Parent(pid) => pid,
        };
        drop(theirs);
        release_outputs()?;
        self.forks = handle_passing::receive_one(&channel)?;
        let mut failure = Vec::new();
        channel.read_to_end(&mut failure)?;
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

    /// The next order of the monitor, if any. Fails if the monitor is dead.
    fn next_order(&mut self) -> io::Result<Option<Order>> {
        loop {
            if let Some(order) = take_framed(&mut self.inbox)? {
                return Ok(Some(order));
            }
            let mut buffer = [0; 4096];
            match rustix::net::recv(&self.channel, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((count, _)) => {
                    self.inbox.extend_from_slice(buffer.get(..count).unwrap_or_default());
                }
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn wait(&mut self, signals: &OwnedFd, time: Option<Duration>) {
        let mut fds =
            vec![PollFd::new(&self.channel, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        fds.extend(self.forks.as_ref().map(|forks| PollFd::new(forks, PollFlags::IN)));
        let timeout = time.and_then(|time| Timespec::try_from(time).ok());
        let _ = rustix::event::poll(&mut fds, timeout.as_ref());
        let reported = fds.get(2).map_or(PollFlags::empty(), PollFd::revents);
        forks::allow_next(&mut self.forks, reported);
    }
}

/// A request from the other side of a connection.
pub(super) enum StopRequest {
    None,
    /// Interrupt the command.
    Interrupt,
    /// Terminate the command, then kill it.
    Terminate,
    /// The other side is gone.
    Disconnected,
}

pub(super) fn stop_request(connection: &UnixStream) -> StopRequest {
    let mut requests = [0; 16];
    match rustix::net::recv(connection, &mut requests[..], RecvFlags::DONTWAIT) {
        Ok((0, _)) => StopRequest::Disconnected,
        Ok((count, _)) => match requests.iter().take(count).any(|request| *request == TERMINATE) {
            true => StopRequest::Terminate,
            false => StopRequest::Interrupt,
        },
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
