//! Writes lines to the client, and records which requests they answer.
//!
//! The runtime's thread writes a line at once, as far as that does not block; the writer thread writes
//! the rest. So a slow client blocks no call, and a fast one does not wait for a thread switch.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, JsonRpcMessage};
use rmcp::service::TxJsonRpcMessage;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::pipe::PIPE_BUF;
use tokio::sync::{Notify, mpsc};

use crate::message;
use crate::open_requests::OpenRequests;

/// Why the connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionEnd {
    /// The client closed our input.
    EndOfInput,
    /// The client closed our output.
    OutputClosed,
}

/// Writes lines to the client.
pub(crate) struct StdoutWriter {
    output: File,
    /// A terminal may block even if `poll` reports it as writable.
    is_terminal: bool,
    queue: Mutex<Queue>,
    handed_over: Condvar,
    /// Bytes that the client has not read yet.
    unread: AtomicUsize,
    /// Notified when a line was written or a request was answered.
    changed: Notify,
    open_requests: OpenRequests,
    end: mpsc::UnboundedSender<ConnectionEnd>,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<Vec<u8>>,
    /// Whether the writer thread has lines to write; all later lines must follow them.
    is_handed_over: bool,
    is_closed: bool,
}

/// What to do with a message.
pub(crate) enum Admission {
    Accepted,
    /// Write this answer instead.
    Refused(String),
}

impl StdoutWriter {
    /// Starts the thread that may block. Sends to `end` when the client closes the output.
    pub(crate) fn start(
        output: File,
        end: mpsc::UnboundedSender<ConnectionEnd>,
    ) -> io::Result<Arc<StdoutWriter>> {
        let writer = Arc::new(StdoutWriter {
            is_terminal: output.is_terminal(),
            output,
            queue: Mutex::default(),
            handed_over: Condvar::new(),
            unread: AtomicUsize::new(0),
            changed: Notify::new(),
            open_requests: OpenRequests::default(),
            end,
        });
        let for_thread = Arc::clone(&writer);
        let name = "eyelet-write".to_owned();
        std::thread::Builder::new().name(name).spawn(move || for_thread.run_writer_thread())?;
        Ok(writer)
    }

    /// Bytes that the client has not read yet.
    pub(crate) fn unread(&self) -> usize {
        self.unread.load(Ordering::Acquire)
    }

    /// Waits until `condition` holds; checks it after every write and answer.
    pub(crate) async fn wait_until(&self, mut condition: impl FnMut(&StdoutWriter) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Registered before the check, so that no notification is missed.
            changed.as_mut().enable();
            if condition(self) {
                return;
            }
            changed.await;
        }
    }

    /// Whether every request is answered and every line is written.
    pub(crate) fn is_done(&self) -> bool {
        self.open_requests.is_empty() && self.unread() == 0
    }

    /// Opens a request, or closes one that is cancelled. Other messages are accepted as they are.
    pub(crate) fn admit(&self, message: &ClientJsonRpcMessage) -> Admission {
        match message {
            JsonRpcMessage::Request(request) => {
                if !self.open_requests.open(&request.id) {
                    return Admission::Refused(message::id_in_use(&request.id.to_string()));
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                {
                    // A cancelled request gets no answer.
                    if let Some(id) = &cancelled.params.request_id {
                        self.open_requests.close(id);
                        self.changed.notify_waiters();
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Admission::Accepted
    }

    /// Sends a message of `rmcp`.
    pub(crate) fn send(&self, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        let answered = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        self.write_line(serde_json::to_vec(message)?);
        if let Some(id) = answered {
            self.open_requests.close(id);
            self.changed.notify_waiters();
        }
        Ok(())
    }

    /// Writes a line now, or hands it to the writer thread if that would block. Only the runtime's thread
    /// calls this. Holds no lock while it writes: the system may suspend this thread for long.
    pub(crate) fn write_line(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        let mut queue = self.queue();
        if queue.is_closed {
            return;
        }
        self.unread.fetch_add(line.len(), Ordering::AcqRel);
        if !queue.is_handed_over {
            drop(queue);
            let written = self.write_without_blocking(&line);
            let count = *written.as_ref().unwrap_or(&line.len());
            self.unread.fetch_sub(count, Ordering::AcqRel);
            line.drain(..count);
            queue = self.queue();
            if written.is_err() {
                self.close(&mut queue);
            }
        }
        if !line.is_empty() {
            queue.lines.push_back(line);
            queue.is_handed_over = true;
            self.handed_over.notify_one();
        }
        drop(queue);
        self.changed.notify_waiters();
    }

    /// Returns how many bytes could be written without blocking.
    fn write_without_blocking(&self, line: &[u8]) -> io::Result<usize> {
        let mut count = 0;
        // A writable pipe accepts at least PIPE_BUF bytes.
        for part in line.chunks(PIPE_BUF) {
            if self.is_terminal || !self.is_writable(Some(&Timespec::default())) {
                break;
            }
            match (&self.output).write(part) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    count += written;
                    if written < part.len() {
                        break;
                    }
                }
                Err(error) if is_retryable(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    /// Writes the lines that were handed over; may block.
    fn run_writer_thread(&self) {
        let mut queue = self.queue();
        loop {
            if !queue.is_handed_over {
                queue = self.handed_over.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let Some(line) = queue.lines.pop_front() else {
                queue.is_handed_over = false;
                continue;
            };
            drop(queue);
            let written = self.write_all(&line);
            self.unread.fetch_sub(line.len(), Ordering::AcqRel);
            queue = self.queue();
            if written.is_err() {
                self.close(&mut queue);
            }
            self.changed.notify_waiters();
        }
    }

    fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match (&self.output).write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if is_retryable(&error) => drop(self.is_writable(None)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the output becomes writable within `timeout`; `None` waits forever.
    fn is_writable(&self, timeout: Option<&Timespec>) -> bool {
        let mut fds = [PollFd::new(&self.output, PollFlags::OUT)];
        rustix::event::poll(&mut fds, timeout).is_ok_and(|ready| ready > 0)
    }

    /// The client closed the output: drops queued lines and all later ones.
    fn close(&self, queue: &mut Queue) {
        queue.is_closed = true;
        let dropped = queue.lines.drain(..).map(|line| line.len()).sum();
        self.unread.fetch_sub(dropped, Ordering::AcqRel);
        let _ = self.end.send(ConnectionEnd::OutputClosed);
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `WouldBlock` happens if another process set the shared descriptor to non-blocking mode.
fn is_retryable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}
