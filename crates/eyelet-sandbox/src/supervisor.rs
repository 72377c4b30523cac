//! The caller's side: starts a supervisor, sends it a request, receives its reports.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::framing::{framed, send_all, take_framed};
use crate::machine::Machine;
use crate::message::Message;
use crate::request::{SandboxRequest, Tier, TierChoice};

/// The first argument of a program that is started as a supervisor.
pub(crate) const SUPERVISE: &str = "__supervise";

/// How long a supervisor may take to find out what the machine can enforce.
const EXAMINE_TIMEOUT: Duration = Duration::from_secs(5);

/// The program that supervises commands. Clones share the cached results about the machine.
#[derive(Clone, Debug)]
pub struct Supervisor {
    program: PathBuf,
    known: Arc<Known>,
}

#[derive(Debug, Default)]
struct Known {
    tier: OnceLock<Tier>,
    machine: OnceLock<Machine>,
}

impl Supervisor {
    /// This program, whose `main` must begin with [`crate::run_if_supervisor`]. Located through
    /// `/proc/self/exe`, which works even if the file has been replaced.
    pub fn this_program() -> Self {
        Supervisor::at("/proc/self/exe")
    }

    /// Another program whose `main` begins with [`crate::run_if_supervisor`].
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Supervisor { program: program.into(), known: Arc::default() }
    }

    /// Starts a supervisor in `directory` and sends it the request.
    ///
    /// Runs no code of this process between fork and exec.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn start(&self, request: &SandboxRequest, directory: &Path) -> io::Result<Supervised> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut child = Command::new(&self.program)
            .arg(SUPERVISE)
            .env_clear()
            .current_dir(directory)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        let started = Supervised {
            child: Some(child),
            control: Some(ours),
            inbox: Vec::new(),
            stdout,
            stderr,
        };
        let mut request = request.clone();
        if let (TierChoice::Best, Some(tier)) = (request.tier, self.known.tier.get()) {
            // Once the machine allowed a tier, later commands must not silently fall back to another.
            request.tier = TierChoice::Only(*tier);
        }
        started.send(&framed(&request)?)?;
        Ok(started)
    }

    /// Records the tier that the machine allowed.
    pub fn learn(&self, tier: Tier) {
        let _ = self.known.tier.set(tier);
    }

    /// The tier in which commands run, or `None` if the machine allows none. Examines the machine if
    /// necessary.
    pub fn tier(&self) -> Option<Tier> {
        let known = self.known.tier.get().copied();
        known.or_else(|| self.machine().ok()?.tier())
    }

    /// What this machine can enforce. The result is cached.
    ///
    /// # Errors
    /// The reason why the examination failed.
    pub fn machine(&self) -> Result<Machine, String> {
        if !cfg!(target_os = "linux") {
            let reason =
                "sandboxing requires Linux; on other systems only the policy `full` runs commands";
            return Err(reason.to_owned());
        }
        if let Some(machine) = self.known.machine.get() {
            return Ok(machine.clone());
        }
        let machine = self.examine().map_err(|error| error.to_string())?;
        Ok(self.known.machine.get_or_init(|| machine).clone())
    }

    fn examine(&self) -> io::Result<Machine> {
        let mut supervised = self.start(&SandboxRequest::examination(), Path::new("/"))?;
        let until = Instant::now() + EXAMINE_TIMEOUT;
        while Instant::now() < until {
            supervised.wait(until.saturating_duration_since(Instant::now()));
            match supervised.receive()? {
                Received::Message(Message::Examined(machine)) => {
                    supervised.wait_for_exit(until);
                    return Ok(machine);
                }
                Received::Message(Message::Unavailable(reason)) => {
                    return Err(io::Error::other(reason));
                }
                Received::Message(
                    Message::Started(_)
                    | Message::NotStarted(_)
                    | Message::Exited(_)
                    | Message::Gone(_),
                )
                | Received::Nothing => {}
                Received::End => break,
            }
        }
        Err(io::Error::other("the supervisor did not respond"))
    }
}

/// The result of [`Supervised::receive`].
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// A message.
    Message(Message),
    /// Nothing yet.
    Nothing,
    /// The supervisor has exited.
    End,
}

/// A running supervisor. Dropping it kills everything that it supervises.
#[derive(Debug)]
pub struct Supervised {
    child: Option<Child>,
    control: Option<UnixStream>,
    inbox: Vec<u8>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

impl Supervised {
    /// The command's stdout and stderr.
    pub fn take_outputs(&mut self) -> [Option<OwnedFd>; 2] {
        [self.stdout.take(), self.stderr.take()]
    }

    /// Becomes readable when the supervisor sends a message or exits.
    pub fn handle(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().map(|control| control.as_fd())
    }

    /// The supervisor's process ID.
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Asks the supervisor to terminate the command, and to kill it if it does not exit.
    pub fn ask_to_end(&self) {
        // If the supervisor is gone, so is the command.
        let _ = self.send(&[0]);
    }

    /// Closes the connection. The supervisor then kills the command.
    pub fn let_go(&mut self) {
        self.control = None;
    }

    /// Takes the next message without blocking.
    ///
    /// # Errors
    /// If the message cannot be read or parsed.
    pub fn receive(&mut self) -> io::Result<Received> {
        loop {
            if let Some(message) = take_framed(&mut self.inbox)? {
                return Ok(Received::Message(message));
            }
            let Some(control) = &self.control else { return Ok(Received::End) };
            let mut buffer = [0; 4096];
            match rustix::net::recv(control, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(Received::End),
                Ok((count, _)) => {
                    self.inbox.extend_from_slice(buffer.get(..count).unwrap_or_default());
                }
                Err(Errno::AGAIN) => return Ok(Received::Nothing),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The supervisor's exit status, once it has exited. Reaps it.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.try_wait().ok().flatten()?;
        self.child = None;
        Some(status)
    }

    /// Waits until the supervisor has exited, at most until `until`.
    pub fn wait_for_exit(&mut self, until: Instant) -> Option<ExitStatus> {
        loop {
            let status = self.try_wait();
            let left = until.saturating_duration_since(Instant::now());
            if status.is_some() || self.child.is_none() || left.is_zero() {
                return status;
            }
            wait_for_process(self.child.as_ref(), left);
        }
    }

    fn wait(&self, time: Duration) {
        if let Some(control) = &self.control {
            poll(control.as_fd(), time);
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(control) = &self.control else { return Ok(()) };
        match send_all(control, bytes) {
            // Its last message or its exit status says why it is gone.
            Err(Errno::PIPE | Errno::CONNRESET) => Ok(()),
            sent => Ok(sent?),
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.control = None;
        let Some(mut child) = self.child.take() else { return };
        let until = Instant::now() + Duration::from_millis(500);
        while Instant::now() < until {
            match child.try_wait() {
                Ok(None) => {
                    wait_for_process(Some(&child), until.saturating_duration_since(Instant::now()));
                }
                Ok(Some(_)) | Err(_) => return,
            }
        }
        // It is still killing processes; a thread reaps it when it is done.
        let _ = std::thread::Builder::new().spawn(move || child.wait());
    }
}

/// Waits until the process may have exited, at most for `time`.
fn wait_for_process(child: Option<&Child>, time: Duration) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let pid = child.and_then(|child| Pid::from_raw(i32::try_from(child.id()).ok()?));
        if let Some(handle) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) {
            return poll(handle.as_fd(), time);
        }
    }
    let _ = child;
    std::thread::sleep(time.min(Duration::from_micros(200)));
}

fn poll(handle: BorrowedFd<'_>, time: Duration) {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let timeout = Timespec::try_from(time).unwrap_or(at_once);
    let mut fds = [PollFd::from_borrowed_fd(handle, PollFlags::IN)];
    let _ = rustix::event::poll(&mut fds, Some(&timeout));
}
