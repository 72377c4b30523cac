//! A command in its own process group, without a supervisor.
//!
//! The group id cannot be reused until the leader is reaped, so signals always hit the right group.
//! Until then the dead leader counts as a member on Linux, so `kill` cannot tell whether others are
//! left.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::exec::command_spec::CommandSpec;
use crate::exec::find_program;

/// The process group of a command. Dropping it early kills the group.
pub(crate) struct ProcessGroup {
    child: Option<Child>,
    leader: Pid,
    /// Becomes readable when the command ends, if the system supports that.
    end_handle: Option<OwnedFd>,
}

impl ProcessGroup {
    /// Starts the command. Returns its stdout and stderr too.
    pub(crate) fn start(spec: &CommandSpec) -> io::Result<(Self, [Option<OwnedFd>; 2])> {
        let mut child = command(spec).spawn()?;
        let outputs =
            [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let leader = leader
            .ok_or_else(|| io::Error::other("internal error: the command has no process ID"))?;
        let group = ProcessGroup { child: Some(child), leader, end_handle: end_handle(leader) };
        Ok((group, outputs))
    }

    pub(crate) fn end_handle(&self) -> Option<BorrowedFd<'_>> {
        self.end_handle.as_ref().map(|handle| handle.as_fd())
    }

    /// Drops the handle: it stays readable after the end and would make every poll return at once.
    pub(crate) fn forget_end_handle(&mut self) {
        self.end_handle = None;
    }

    /// Whether the command has ended. Does not reap it.
    pub(crate) fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(self.leader), options) {
            Ok(status) => Ok(status.is_some()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a process other than the dead leader is left.
    pub(crate) fn has_others(&self) -> bool {
        has_others(self.leader)
    }

    /// Sends a signal to the whole group.
    pub(crate) fn signal(&self, signal: Signal) {
        // Fails if nobody is left, or if a member changed its user; neither can be helped.
        let _ = rustix::process::kill_process_group(self.leader, signal);
    }

    /// Reaps the leader and returns its exit code; none if it hangs in the kernel.
    pub(crate) fn reap(&mut self) -> io::Result<Option<i32>> {
        let Some(mut child) = self.child.take() else { return Ok(None) };
        let status = loop {
            match child.try_wait() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                waited => break waited?,
            }
        };
        if status.is_none() {
            // Reaps it whenever the kernel releases it.
            let _ = std::thread::Builder::new().spawn(move || child.wait());
        }
        Ok(status.map(exit_code))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // If the system no longer knows the leader, its id may belong to another process.
        if self.child.is_some() && self.has_ended().is_ok() {
            self.signal(Signal::KILL);
            let _ = self.reap();
        }
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

fn command(spec: &CommandSpec) -> Command {
    let mut command = Command::new(find_program::shell(&spec.environment));
    command.args(find_program::shell_arguments(&spec.command));
    command.env_clear().envs(spec.environment.iter());
    command.env("TERM", "dumb").env("NO_COLOR", "1").env("PWD", &spec.directory_shown);
    if cfg!(target_os = "linux") {
        // The checked handle refers to this directory even if another one takes its name.
        let handle = spec.directory.handle().as_raw_fd();
        command.current_dir(format!("/proc/self/fd/{handle}"));
    } else {
        command.current_dir(&spec.directory_shown);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    command
}

#[cfg(target_os = "linux")]
fn end_handle(leader: Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    // Without it, eyelet notices the end at the next poll timeout.
    pidfd_open(leader, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_handle(_leader: Pid) -> Option<OwnedFd> {
    None
}

/// Whether a process other than the dead leader is in the group.
#[cfg(not(target_os = "linux"))]
fn has_others(leader: Pid) -> bool {
    rustix::process::test_kill_process_group(leader).is_ok()
}

/// Whether a process other than the dead leader is in the group; true if unknown.
#[cfg(target_os = "linux")]
fn has_others(leader: Pid) -> bool {
    // For more processes, listing `/proc` is faster.
    const FEW: i32 = 256;
    let leader = leader.as_raw_nonzero().get();
    // Process ids rise: members have higher ones than the leader.
    let newest = std::fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| text.split_ascii_whitespace().last()?.parse::<i32>().ok());
    match newest {
        Some(newest) if (0..FEW).contains(&(newest - leader)) => {
            (leader + 1..=newest).any(|pid| is_member(pid, leader))
        }
        Some(_) | None => match std::fs::read_dir("/proc") {
            Ok(entries) => entries
                .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
                .any(|pid| is_member(pid, leader)),
            Err(_) => true,
        },
    }
}

/// Whether the process is in the group and not dead.
#[cfg(target_os = "linux")]
fn is_member(pid: i32, leader: i32) -> bool {
    let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { return false };
    // `pid (name) state parent group …`; the name may contain anything, even brackets.
    let after_name = stat.rsplit(|byte| *byte == b')').next().unwrap_or_default();
    let text = String::from_utf8_lossy(after_name);
    let mut fields = text.split_ascii_whitespace();
    let is_dead = matches!(fields.next(), Some("Z" | "X"));
    let group = fields.nth(1).and_then(|group| group.parse().ok());
    !is_dead && group == Some(leader)
}
