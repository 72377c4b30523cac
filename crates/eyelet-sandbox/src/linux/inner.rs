//! The inner process: sets up the sandbox, starts the command, and is the ancestor of everything
//! that the command starts.
//!
//! In the first tier it is the first process of its namespace, and its death is that of all others
//! there. In the second, whatever loses its parent comes to it.

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

use super::guard::Guard;
use super::sys::Forked;
use super::tree::{self, Reaped};
use super::{command, namespaces, sys};
use crate::request::{Message, SandboxRequest, Tier, framed, take_framed};

/// How long those that were asked to end may take.
const GRACE_TIME: Duration = Duration::from_millis(200);
/// How long those that were killed are waited for.
const KILL_TIME: Duration = Duration::from_secs(1);

/// How setting up went, for the outer process.
pub(super) type Setup = Result<(), SetupFailure>;

/// Why it failed.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct SetupFailure {
    pub(super) reason: String,
    pub(super) is_refusal: bool,
}

pub(super) struct Inner<'r> {
    pub(super) request: &'r SandboxRequest,
    pub(super) tier: Option<Tier>,
    /// What the outer process looks after; a copy for the case that it is killed.
    pub(super) guard: Option<Guard>,
    /// User and group outside, where there is a user namespace to map them into.
    pub(super) mapped: Option<(u32, u32)>,
    /// To the caller.
    pub(super) control: UnixStream,
    /// To the outer process.
    pub(super) channel: UnixStream,
}

impl Inner<'_> {
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
            tree::end_all(KILL_TIME);
            self.stand_in();
        }
        std::process::exit(code)
    }

    /// Undoes what the outer process cannot undo any more. Behind namespaces nobody can: there this
    /// process sees other mounts, and dies with the outer one.
    fn stand_in(&mut self) {
        let is_alone = loop {
            match self.asked() {
                Asked::Nothing => break false,
                Asked::End => {}
                Asked::EndNow => break true,
            }
        };
        if let (true, Some(guard), Some(tier)) = (is_alone, self.guard.take(), self.tier) {
            let reverted = guard.restore(self.request, tier);
            self.tell(&Message::Gone(reverted));
        }
    }

    fn set_up(&mut self) -> Setup {
        let failed = |what: &str, error: io::Error| SetupFailure {
            reason: format!("{what}: {error}"),
            is_refusal: false,
        };
        let is_first = self.tier == Some(Tier::Namespaces);
        let death = if is_first { Signal::KILL } else { Signal::TERM };
        set_parent_process_death_signal(Some(death))
            .map_err(|error| failed("the death signal", error.into()))?;
        if is_first {
            let entered = self
                .mapped
                .map_or(Ok(()), |(user, group)| namespaces::map_user(user, group))
                .and_then(|()| namespaces::enter(self.request));
            entered.map_err(|failure| SetupFailure {
                reason: format!("{}: {}", failure.what, failure.error),
                is_refusal: failure.is_refusal(),
            })?;
        } else {
            set_child_subreaper(Some(getpid()))
                .map_err(|error| failed("taking in orphans", error.into()))?;
        }
        let ready: Setup = Ok(());
        framed(&ready)
            .and_then(|ready| self.channel.write_all(&ready))
            .map_err(|error| failed("the outer process", error))
    }

    fn supervise(&mut self) -> io::Result<()> {
        // Not to be looked into by the command, which has the same user.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let signals = sys::signals_as_handle(&[Signal::CHILD, Signal::TERM])?;
        let Some(command) = self.start()? else { return Ok(()) };
        let mut kill_at: Option<Instant> = None;
        loop {
            loop {
                match tree::reap() {
                    Reaped::One(pid, status) if pid == command => {
                        self.tell(&Message::Exited(tree::exit_code(status)));
                    }
                    Reaped::One(..) => {}
                    Reaped::NoneYet => break,
                    Reaped::NobodyLeft => return Ok(()),
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
            match self.asked() {
                Asked::Nothing => {}
                Asked::End if kill_at.is_none() => {
                    tree::signal(Signal::TERM);
                    kill_at = Some(Instant::now() + GRACE_TIME);
                }
                Asked::End => {}
                Asked::EndNow => return Ok(()),
            }
        }
    }

    /// Starts the command; none where it did not start, which was told.
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
        silence()?;
        let mut failure = Vec::new();
        std::fs::File::from(failures).read_to_end(&mut failure)?;
        match take_framed::<Message>(&mut failure)? {
            Some(failure) => {
                self.tell(&failure);
                Ok(None)
            }
            None => {
                self.tell(&Message::Started(self.tier));
                Ok(Some(command))
            }
        }
    }

    fn tell(&mut self, message: &Message) {
        tell(&self.control, message);
    }

    fn wait(&self, signals: &OwnedFd, time: Option<Duration>) {
        let mut fds =
            [PollFd::new(&self.channel, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        let timeout = time.and_then(|time| Timespec::try_from(time).ok());
        let _ = rustix::event::poll(&mut fds, timeout.as_ref());
    }

    fn asked(&self) -> Asked {
        asked(&self.channel)
    }
}

/// What came over a line.
pub(super) enum Asked {
    Nothing,
    /// The command is to be asked to end, then killed.
    End,
    /// The other side is gone.
    EndNow,
}

pub(super) fn asked(line: &UnixStream) -> Asked {
    match rustix::net::recv(line, &mut [0; 16][..], RecvFlags::DONTWAIT) {
        Ok((0, _)) => Asked::EndNow,
        Ok(_) => Asked::End,
        Err(Errno::AGAIN | Errno::INTR) => Asked::Nothing,
        Err(_) => Asked::EndNow,
    }
}

/// Tells the caller something. One that is gone does not hear it, and that is noticed elsewhere.
pub(super) fn tell(control: &UnixStream, message: &Message) {
    use rustix::net::SendFlags;
    let Ok(bytes) = framed(message) else { return };
    let mut left = bytes.as_slice();
    while !left.is_empty() {
        match rustix::net::send(control, left, SendFlags::NOSIGNAL) {
            Ok(count) => left = left.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Lets go of the command's outputs, so that they end when the command's own do.
pub(super) fn silence() -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
