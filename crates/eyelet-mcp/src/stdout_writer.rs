//! Writes lines to the client, and records which requests they answer.
//!
//! Whoever has a line writes it at once, as far as that does not block; a thread writes the rest. So a
//! slow client blocks no call, and a fast one does not wait for a thread switch.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CallToolResult, ClientJsonRpcMessage, ClientNotification, ErrorCode, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::TxJsonRpcMessage;
use rmcp::{ErrorData, RoleServer};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::pipe::PIPE_BUF;
use tokio::sync::{Notify, mpsc};

use crate::message;
use crate::open_requests::{OpenRequests, Stage};

/// Marks the result of a request that was answered directly. It is never written.
const ALREADY_ANSWERED: ErrorCode = ErrorCode(i32::MIN);

/// A call's thread writes at most this many lines, its own and those queued meanwhile.
const MAX_LINES_PER_TURN: usize = 16;

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
    /// Whether a thread is writing lines.
    is_writing: bool,
    /// Whether it is the writer thread, which may block.
    is_handed_over: bool,
    is_closed: bool,
}

/// What to do with a message.
pub(crate) enum Admission {
    Accepted,
    /// `rmcp` is not done with an answered request of the same id; try again.
    Later,
    /// Write this answer instead.
    Refused(String),
}

/// The result that `rmcp` gets for a call whose answer is already written.
pub(crate) fn already_answered() -> ErrorData {
    ErrorData::new(ALREADY_ANSWERED, "", None)
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
        self.open_requests.are_all_answered() && self.unread() == 0
    }

    /// Opens a request, or closes one that is cancelled. Other messages are accepted as they are.
    pub(crate) fn admit(&self, message: &ClientJsonRpcMessage) -> Admission {
        match message {
            JsonRpcMessage::Request(request) => match self.open_requests.open(&request.id) {
                Ok(()) => {}
                Err(Stage::Waiting) => {
                    return Admission::Refused(message::id_in_use(&request.id.to_string()));
                }
                Err(Stage::Answering | Stage::Answered) => return Admission::Later,
            },
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

    /// Answers a call from the thread that ran it, unless it was cancelled. `rmcp` then has to get
    /// [`already_answered`].
    pub(crate) fn answer(&self, id: RequestId, result: CallToolResult) -> io::Result<()> {
        let mut result = ServerResult::CallToolResult(result);
        result.strip_result_type_for_legacy_peer();
        let message = ServerJsonRpcMessage::response(result, id.clone());
        let line = serde_json::to_vec(&message)?;
        if self.open_requests.set_stage(&id, Stage::Answering) {
            self.write_line(line);
            self.open_requests.set_stage(&id, Stage::Answered);
            self.changed.notify_waiters();
        }
        Ok(())
    }

    /// Sends a message of `rmcp`.
    pub(crate) fn send(&self, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        let (id, is_written) = match message {
            JsonRpcMessage::Response(response) => (Some(&response.id), false),
            JsonRpcMessage::Error(error) => {
                (error.id.as_ref(), error.error.code == ALREADY_ANSWERED)
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => (None, false),
        };
        if !is_written {
            self.write_line(serde_json::to_vec(message)?);
        }
        if let Some(id) = id {
            self.open_requests.close(id);
            self.changed.notify_waiters();
        }
        Ok(())
    }

    /// Writes a line now, or queues what would block. Holds no lock while it writes: on a busy machine
    /// the system may suspend this thread for long.
    pub(crate) fn write_line(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        let mut queue = self.queue();
        if queue.is_closed {
            return;
        }
        self.unread.fetch_add(line.len(), Ordering::AcqRel);
        queue.lines.push_back(line);
        if queue.is_writing {
            // The thread that is writing also writes this line.
            return;
        }
        queue.is_writing = true;
        for _ in 0..MAX_LINES_PER_TURN {
            let Some(mut line) = queue.lines.pop_front() else { break };
            drop(queue);
            let written = self.write_without_blocking(&line);
            let count = *written.as_ref().unwrap_or(&line.len());
            self.unread.fetch_sub(count, Ordering::AcqRel);
            queue = self.queue();
            if written.is_err() {
                self.close(&mut queue);
            } else if count < line.len() {
                line.drain(..count);
                queue.lines.push_front(line);
                break;
            }
        }
        if queue.lines.is_empty() {
            queue.is_writing = false;
        } else {
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
                queue.is_writing = false;
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
