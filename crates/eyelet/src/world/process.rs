//! Runs a command in a process group of its own and reads its two outputs until it ends.
//!
//! One loop waits for both pipes and for the command's end. The call is over when the command is,
//! whoever still holds the pipes; what is left of the group is ended before the leader is reaped.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::dir::Directory;
use super::group;
use super::program;
use super::spill::Spill;
use super::stream::{Progress, Stream, Window};
use crate::bound::capture::Keep;
use crate::bound::stream_text::StreamReport;
use crate::call::{Environment, Progress as Count, Stop, Watch};
use crate::limits::STOP_INTERVAL;

/// How much is read at once.
const BUFFER_BYTES: usize = 256 * 1024;
/// How long what the command left in the background may still write after the command's end.
const DRAIN_TIME: Duration = Duration::from_millis(100);
/// How long a group that was asked to end may take.
const GRACE_TIME: Duration = Duration::from_millis(200);
/// How long a killed group is waited for: one that hangs inside the system does not die.
const REAP_TIME: Duration = Duration::from_secs(1);
/// How often a group that was asked to end is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// A command to run.
pub(crate) struct Job<'a> {
    pub(crate) command: &'a str,
    pub(crate) directory: &'a Directory,
    /// The directory's path, for the command's `PWD`.
    pub(crate) directory_shown: &'a Path,
    pub(crate) environment: &'a Environment,
    pub(crate) keep: Keep,
    pub(crate) window: Window,
    pub(crate) spill: Option<Arc<Spill>>,
    /// Counts what the command prints.
    pub(crate) count: Count,
}

/// How it went.
pub(crate) struct Outcome {
    pub(crate) end: End,
    pub(crate) stdout: StreamReport,
    pub(crate) stderr: StreamReport,
}

/// How a command ended.
pub(crate) enum End {
    /// By itself; 128 + N by signal N.
    Exited(i32),
    /// By us.
    Stopped(Stop),
}

/// Runs the command to its end, or until `watch` says stop.
pub(crate) fn run(job: &Job<'_>, watch: &Watch) -> io::Result<Outcome> {
    if let Err(stop) = watch.check() {
        let nothing = || Stream::new(None, job.keep, job.window, None, job.count.clone());
        let [stdout, stderr] = Stream::finish(&mut [nothing(), nothing()], job.window);
        return Ok(Outcome { end: End::Stopped(stop), stdout, stderr });
    }
    let mut running = Running::start(job)?;
    let stopped = running.until_end(watch)?;
    let status = running.end(stopped)?;
    let [stdout, stderr] = Stream::finish(&mut running.streams, job.window);
    let end = match stopped {
        Some(stop) => End::Stopped(stop),
        None => End::Exited(status.map_or(-1, exit_code)),
    };
    Ok(Outcome { end, stdout, stderr })
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// A command that was started. Dropped early, it takes its group with it.
struct Running {
    child: Option<Child>,
    leader: Pid,
    /// Becomes readable when the command ends, where the system has such a thing.
    end_handle: Option<OwnedFd>,
    streams: [Stream; 2],
    buffer: Vec<u8>,
}

impl Running {
    fn start(job: &Job<'_>) -> io::Result<Self> {
        let mut child = command(job).spawn()?;
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let leader = leader.ok_or_else(|| io::Error::other("the command has no process id"))?;
        let stream =
            |pipe| Stream::new(pipe, job.keep, job.window, job.spill.clone(), job.count.clone());
        let running = Running {
            child: Some(child),
            leader,
            end_handle: end_handle(leader),
            streams: [stream(stdout), stream(stderr)],
            buffer: vec![0; BUFFER_BYTES],
        };
        running.streams.iter().try_for_each(Stream::prepare)?;
        Ok(running)
    }

    /// Reads until the command ends or has to stop.
    fn until_end(&mut self, watch: &Watch) -> io::Result<Option<Stop>> {
        loop {
            if self.has_ended()? {
                return Ok(None);
            }
            if let Err(stop) = watch.check() {
                return Ok(Some(stop));
            }
            self.wait(watch.left());
            self.read()?;
        }
    }

    /// Ends what is left, and takes what it still has to say. The status is missing where the
    /// system does not let go of the command.
    fn end(&mut self, stopped: Option<Stop>) -> io::Result<Option<ExitStatus>> {
        if stopped.is_none() {
            // It stays readable from now on.
            self.end_handle = None;
            self.drain(DRAIN_TIME)?;
        }
        let is_anyone_left = stopped.is_some() || group::has_others(self.leader);
        if is_anyone_left {
            group::signal(self.leader, Signal::TERM);
            self.read_until_gone(GRACE_TIME)?;
        }
        group::signal(self.leader, Signal::KILL);
        if is_anyone_left {
            self.read_until_gone(REAP_TIME)?;
        }
        let status = self.reap()?;
        self.drain_rest()?;
        Ok(status)
    }

    /// Reads until the pipes are closed or the time is over.
    fn drain(&mut self, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        loop {
            let progress = self.read()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_closed() {
                return Ok(());
            }
            if progress == Progress::None {
                self.wait(left);
            }
        }
    }

    /// Takes what dead writers left in the pipes; a live one does not hold the call up.
    fn drain_rest(&mut self) -> io::Result<()> {
        let until = Instant::now() + DRAIN_TIME;
        while self.read()? == Progress::Some && Instant::now() < until {}
        Ok(())
    }

    /// Reads until nobody is left in the group or the time is over.
    fn read_until_gone(&mut self, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        let mut next_look = Instant::now();
        loop {
            self.read()?;
            let now = Instant::now();
            if now >= next_look {
                next_look = now + LOOK_INTERVAL;
                if self.has_ended()? {
                    self.end_handle = None;
                    if !group::has_others(self.leader) {
                        return Ok(());
                    }
                }
            }
            if now >= until {
                return Ok(());
            }
            self.wait(LOOK_INTERVAL);
        }
    }

    /// Reaps the leader, which is dead unless it hangs inside the system.
    fn reap(&mut self) -> io::Result<Option<ExitStatus>> {
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
        Ok(status)
    }

    /// Whether the command has ended; it is not reaped by this.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(self.leader), options) {
            Ok(status) => Ok(status.is_some()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until there is something to read, the command ends, or `time` or the interval of
    /// looking for a stop is over.
    fn wait(&self, time: Duration) {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = Timespec::try_from(time.min(STOP_INTERVAL)).unwrap_or(at_once);
        let pipes = self.streams.iter().filter_map(Stream::pipe);
        let mut fds: Vec<_> =
            pipes.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)).collect();
        fds.extend(self.end_handle.as_ref().map(|handle| PollFd::new(handle, PollFlags::IN)));
        // Interrupted or not, everything is looked at afterwards.
        let _ = rustix::event::poll(&mut fds, Some(&timeout));
    }

    /// Reads once from each pipe, so that neither waits for the other.
    fn read(&mut self) -> io::Result<Progress> {
        let mut progress = Progress::None;
        for stream in &mut self.streams {
            if stream.read(&mut self.buffer)? == Progress::Some {
                progress = Progress::Some;
            }
        }
        Ok(progress)
    }

    fn is_closed(&self) -> bool {
        self.streams.iter().all(|stream| stream.pipe().is_none())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Where the system has forgotten the leader, its number may be someone else's.
        if self.child.is_some() && self.has_ended().is_ok() {
            group::signal(self.leader, Signal::KILL);
            let _ = self.reap();
        }
    }
}

fn command(job: &Job<'_>) -> Command {
    let mut command = Command::new(program::shell(job.environment));
    // Without the dashes a command that begins with one would be taken for an option.
    command.args(["-c", "--", job.command]);
    command.env_clear().envs(job.environment.iter());
    command.env("TERM", "dumb").env("NO_COLOR", "1").env("PWD", job.directory_shown);
    if cfg!(target_os = "linux") {
        // The handle was checked, and stays with the directory whatever takes its name.
        let handle = job.directory.handle().as_raw_fd();
        command.current_dir(format!("/proc/self/fd/{handle}"));
    } else {
        command.current_dir(job.directory_shown);
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
