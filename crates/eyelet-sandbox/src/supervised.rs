//! A running supervisor, and its messages.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitStatus};
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::framing::{send_all, take_framed};
#[cfg(target_os = "linux")]
use crate::handle_passing;
use crate::message::Message;
#[cfg(target_os = "linux")]
use crate::watch_handle::WatchHandles;

/// How long the supervisor of a session's first command may take to create the session's network.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(30);

/// The byte with which a caller asks the supervisor to terminate the command.
pub(crate) const TERMINATE: u8 = 0;
pub(crate) const INTERRUPT: u8 = 1;

/// The result of one call of [`Supervised::receive`].
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// The supervisor sent this message.
    Message(Message),
    /// No message has arrived yet.
    Nothing,
    /// The supervisor has exited.
    End,
}

/// A running supervisor. Dropping this value kills all processes of the command.
#[derive(Debug)]
pub struct Supervised {
    child: Option<Child>,
    pub(crate) control: Option<UnixStream>,
    inbox: Vec<u8>,
    /// The handles that came with messages.
    handles: Vec<OwnedFd>,
    /// The first message, if it was received early.
    first: Option<Message>,
    outputs: [Option<OwnedFd>; 2],
    /// The inotify instance that the supervisor uses, and where it came from.
    #[cfg(target_os = "linux")]
    pub(crate) lent: Option<(OwnedFd, Arc<WatchHandles>)>,
}

impl Supervised {
    pub(crate) fn new(child: Child, control: UnixStream, outputs: [Option<OwnedFd>; 2]) -> Self {
        Supervised {
            child: Some(child),
            control: Some(control),
            inbox: Vec::new(),
            handles: Vec::new(),
            first: None,
            outputs,
            #[cfg(target_os = "linux")]
            lent: None,
        }
    }

    /// Takes the pipes of the command's stdout and stderr.
    pub fn take_outputs(&mut self) -> [Option<OwnedFd>; 2] {
        std::mem::take(&mut self.outputs)
    }

    /// Returns a handle that becomes readable when the supervisor sends a message or exits.
    pub fn handle(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().map(|control| control.as_fd())
    }

    /// Asks the supervisor to terminate the command, and to kill it if it does not exit.
    pub fn ask_to_end(&self) {
        // If the supervisor is gone, so is the command.
        let _ = self.send(&[TERMINATE]);
    }

    /// Asks the supervisor to send SIGINT to the process group of the command.
    pub fn ask_to_interrupt(&self) {
        let _ = self.send(&[INTERRUPT]);
    }

    /// Closes the connection. The supervisor then kills the command.
    pub fn let_go(&mut self) {
        self.control = None;
    }

    /// Takes the next message without blocking.
    ///
    /// # Errors
    /// Fails if the message cannot be read or parsed.
    pub fn receive(&mut self) -> io::Result<Received> {
        if let Some(message) = self.first.take() {
            return Ok(Received::Message(message));
        }
        loop {
            if let Some(message) = take_framed(&mut self.inbox)? {
                #[cfg(target_os = "linux")]
                if matches!(message, Message::Gone(_)) {
                    if let Some((handle, unused)) = self.lent.take() {
                        unused.give_back(handle);
                    }
                }
                return Ok(Received::Message(message));
            }
            let Some(control) = &self.control else { return Ok(Received::End) };
            let mut buffer = [0; 4096];
            match receive_bytes(control, &mut buffer, &mut self.handles) {
                Ok(0) | Err(Errno::CONNRESET) => return Ok(Received::End),
                Ok(count) => {
                    self.inbox.extend_from_slice(buffer.get(..count).unwrap_or_default());
                }
                Err(Errno::AGAIN) => return Ok(Received::Nothing),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for the first message. Returns the handles of the session's network if the supervisor has created
    /// it, and whether one of them is a user namespace.
    pub(crate) fn network_created(&mut self) -> io::Result<Option<(bool, Vec<OwnedFd>)>> {
        let until = Instant::now() + NETWORK_TIMEOUT;
        loop {
            match self.receive()? {
                Received::Message(Message::NetworkCreated { has_user }) => {
                    return Ok(Some((has_user, std::mem::take(&mut self.handles))));
                }
                Received::Message(other) => {
                    self.first = Some(other);
                    return Ok(None);
                }
                Received::End => return Ok(None),
                Received::Nothing => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::other("the supervisor process did not respond; try again"));
            }
            self.wait(left);
        }
    }

    /// Returns the exit status of the supervisor if the supervisor has exited. Reaps the process.
    fn try_wait(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.try_wait().ok().flatten()?;
        self.child = None;
        Some(status)
    }

    /// Waits until the supervisor has exited, but not longer than `until`. Returns the exit status
    /// if the supervisor has exited.
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

    pub(crate) fn wait(&self, time: Duration) {
        if let Some(control) = &self.control {
            poll(control.as_fd(), time);
        }
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<()> {
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

/// Receives without blocking. Handles come only on Linux.
fn receive_bytes(
    control: &UnixStream,
    buffer: &mut [u8],
    handles: &mut Vec<OwnedFd>,
) -> rustix::io::Result<usize> {
    #[cfg(target_os = "linux")]
    return handle_passing::receive(control, buffer, RecvFlags::DONTWAIT, handles);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = handles;
        rustix::net::recv(control, buffer, RecvFlags::DONTWAIT).map(|(_, count)| count)
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
