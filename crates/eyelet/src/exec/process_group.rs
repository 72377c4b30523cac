//! A command in a process group of its own, without a supervisor: its start, and who is left of it.
//!
//! Until the leader is reaped the group's number cannot pass to anyone else, so signals cannot go
//! astray; but on Linux the leader itself still counts as a member then, and `kill` does not tell.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};

#[cfg(target_os = "linux")]
use eyelet_sandbox::ProcessStat;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::exec::command_spec::CommandSpec;
use crate::exec::find_program;

/// A command's group. Dropped early, it is killed.
pub(crate) struct ProcessGroup {
    child: Option<Child>,
    leader: Pid,
    /// Becomes readable when the command ends, where the system has such a thing.
    end_handle: Option<OwnedFd>,
}

impl ProcessGroup {
    /// Starts the command. Returns its outputs, too.
    pub(crate) fn start(spec: &CommandSpec<'_>) -> io::Result<(Self, [Option<OwnedFd>; 2])> {
        let mut child = command(spec).spawn()?;
        let outputs =
            [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let leader = leader.ok_or_else(|| io::Error::other("the command has no process id"))?;
        let group = ProcessGroup { child: Some(child), leader, end_handle: end_handle(leader) };
        Ok((group, outputs))
    }

    pub(crate) fn end_handle(&self) -> Option<BorrowedFd<'_>> {
        self.end_handle.as_ref().map(|handle| handle.as_fd())
    }

    /// Once the command has ended its handle stays readable and would keep a wait from waiting.
    pub(crate) fn forget_end_handle(&mut self) {
        self.end_handle = None;
    }

    /// Whether the command has ended; it is not reaped by this.
    pub(crate) fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(self.leader), options) {
            Ok(status) => Ok(status.is_some()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether anyone but the dead leader is left.
    pub(crate) fn has_others(&self) -> bool {
        has_others(self.leader)
    }

    /// Sends a signal to everyone in the group.
    pub(crate) fn signal(&self, signal: Signal) {
        // Nobody left, or someone who has changed their user: nothing that could be done about it.
        let _ = rustix::process::kill_process_group(self.leader, signal);
    }

    /// Reaps the leader, which is dead unless it hangs inside the system. Returns its exit code.
    pub(crate) fn reap(&mut self) -> io::Result<Option<i32>> {
        let Some(mut child) = self.child.take() else { return Ok(None) };
        let status = loop {
            match child.try_wait() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                waited => break waited?,
            }
        };
        if status.is_none() {
            // Whenever the system lets go of it, it is reaped.
            let _ = std::thread::Builder::new().spawn(move || child.wait());
        }
        Ok(status.map(exit_code))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // Where the system has forgotten the leader, its number may be someone else's.
        if self.child.is_some() && self.has_ended().is_ok() {
            self.signal(Signal::KILL);
            let _ = self.reap();
        }
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

fn command(spec: &CommandSpec<'_>) -> Command {
    let mut command = Command::new(find_program::shell(spec.environment));
    command.args(find_program::shell_arguments(spec.command));
    command.env_clear().envs(spec.environment.iter());
    command.env("TERM", "dumb").env("NO_COLOR", "1").env("PWD", spec.directory_shown);
    if cfg!(target_os = "linux") {
        // The handle was checked, and stays with the directory whatever takes its name.
        let handle = spec.directory.handle().as_raw_fd();
        command.current_dir(format!("/proc/self/fd/{handle}"));
    } else {
        command.current_dir(spec.directory_shown);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    command
}

#[cfg(target_os = "linux")]
fn end_handle(leader: Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    // Without it the end is noticed at the next look.
    pidfd_open(leader, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_handle(_leader: Pid) -> Option<OwnedFd> {
    None
}

/// Whether anyone but the dead leader is in the group.
#[cfg(not(target_os = "linux"))]
fn has_others(leader: Pid) -> bool {
    rustix::process::test_kill_process_group(leader).is_ok()
}

/// Whether anyone but the dead leader is in the group; yes where it cannot be told.
#[cfg(target_os = "linux")]
fn has_others(leader: Pid) -> bool {
    // More than this many are found faster by listing `/proc`.
    const FEW: i32 = 256;
    let leader = leader.as_raw_nonzero().get();
    // Numbers are given out in rising supervised: members have one after the leader's.
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

#[cfg(target_os = "linux")]
fn is_member(pid: i32, leader: i32) -> bool {
    ProcessStat::of(pid).is_some_and(|stat| !stat.is_dead && stat.group == leader)
}
