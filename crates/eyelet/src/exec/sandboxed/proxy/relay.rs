//! Passes bytes between two sockets in both directions.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

/// How long a connection may be silent: longer than any command runs.
const IDLE_TIME: Duration = Duration::from_secs(15 * 60);
/// The memory for each direction of a connection.
const BUFFER_BYTES: usize = 32 * 1024;

/// The bytes that the client sends to the host.
pub(super) struct FromClient<'b> {
    /// The bytes that the client has already sent.
    pub(super) first: &'b [u8],
    /// How many more bytes are passed.
    pub(super) more: u64,
}

/// Passes bytes until both sides have ended, nothing moves for a long time, or `end` becomes readable.
pub(super) fn relay(
    client: &TcpStream,
    host: &TcpStream,
    sent: &FromClient<'_>,
    end: BorrowedFd<'_>,
) -> io::Result<()> {
    (&mut &*host).write_all(sent.first)?;
    client.set_nonblocking(true)?;
    host.set_nonblocking(true)?;
    let mut directions =
        [Direction::new(client, host, sent.more), Direction::new(host, client, u64::MAX)];
    while directions.iter().any(Direction::is_open) {
        let [to_host, to_client] = &directions;
        let client_events = to_host.read_events() | to_client.write_events();
        let host_events = to_host.write_events() | to_client.read_events();
        if client_events.is_empty() && host_events.is_empty() {
            break;
        }
        let mut fds = vec![PollFd::from_borrowed_fd(end, PollFlags::IN)];
        // A socket that nobody waits for could report its end again and again.
        for (socket, events) in [(client, client_events), (host, host_events)] {
            if !events.is_empty() {
                fds.push(PollFd::from_borrowed_fd(socket.as_fd(), events));
            }
        }
        if !wait(&mut fds, Instant::now() + IDLE_TIME) {
            break;
        }
        for direction in &mut directions {
            direction.pass();
        }
    }
    Ok(())
}

/// Waits until a socket is ready. False if the time is up, or if the first handle, which ends the wait, is.
pub(super) fn wait(fds: &mut [PollFd<'_>], until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).unwrap_or_default();
    match rustix::event::poll(fds, Some(&timeout)) {
        Ok(0) => false,
        Ok(_) => fds.first().is_some_and(|end| end.revents().is_empty()),
        Err(error) => error == rustix::io::Errno::INTR,
    }
}

/// The bytes from one socket to the other.
struct Direction<'s> {
    from: &'s TcpStream,
    to: &'s TcpStream,
    buffer: Vec<u8>,
    /// The part of the buffer that is not written yet.
    start: usize,
    end: usize,
    /// How many bytes may still be read.
    left: u64,
    state: State,
}

#[derive(PartialEq, Eq)]
enum State {
    Open,
    /// Everything was read.
    Ended,
    /// Everything was written, too.
    Closed,
}

impl<'s> Direction<'s> {
    fn new(from: &'s TcpStream, to: &'s TcpStream, left: u64) -> Self {
        let state = if left == 0 { State::Closed } else { State::Open };
        Direction { from, to, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0, left, state }
    }

    fn is_open(&self) -> bool {
        self.state != State::Closed
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    fn read_events(&self) -> PollFlags {
        match self.state == State::Open && self.is_empty() {
            true => PollFlags::IN,
            false => PollFlags::empty(),
        }
    }

    fn write_events(&self) -> PollFlags {
        if self.is_empty() { PollFlags::empty() } else { PollFlags::OUT }
    }

    /// Reads and writes what is possible without waiting. A failure ends this direction alone: a host that accepts
    /// no more may still answer.
    fn pass(&mut self) {
        if self.state == State::Open && self.is_empty() {
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(BUFFER_BYTES);
            let buffer = self.buffer.get_mut(..most).unwrap_or_default();
            match self.from.read(buffer) {
                Ok(0) => self.state = State::Ended,
                Ok(count) => {
                    (self.start, self.end) = (0, count);
                    self.left = self.left.saturating_sub(count as u64);
                }
                Err(error) if is_temporary(&error) => {}
                Err(_) => self.state = State::Ended,
            }
        }
        if !self.is_empty() {
            match self.to.write(self.buffer.get(self.start..self.end).unwrap_or_default()) {
                Ok(count) => self.start += count,
                Err(error) if is_temporary(&error) => {}
                Err(_) => (self.start, self.left) = (self.end, 0),
            }
        }
        if self.is_empty() && self.state == State::Ended {
            // The other direction may still have something to pass.
            let _ = self.to.shutdown(Shutdown::Write);
            self.state = State::Closed;
        }
        if self.is_empty() && self.left == 0 {
            self.state = State::Closed;
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind())
}
