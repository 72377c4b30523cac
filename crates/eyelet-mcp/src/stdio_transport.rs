//! The `rmcp` transport over stdin and stdout.
//!
//! One task reads and one task writes, both on the runtime's thread and without blocking it. A slow
//! client blocks no call: its lines wait in memory, up to a limit.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::PIPE_BUF;
use rustix::stdio;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{Notify, mpsc};

use crate::message::{self, Incoming, LineDecoder};

/// How many bytes to read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// How many messages may wait for `rmcp`.
const MAX_QUEUED_MESSAGES: usize = 16;
/// The server accepts no message while more than this many bytes wait for the client to read them.
const MAX_UNWRITTEN_BYTES: usize = 64 * 1024 * 1024;

/// The duplicated descriptors start here, above the numbers that programs commonly assume.
const MIN_DESCRIPTOR: i32 = 100;

/// Moves stdin and stdout to private descriptors that no child inherits. Afterwards stdin is empty, and
/// everything printed to stdout goes to stderr.
pub(crate) fn take_over_stdio() -> io::Result<(File, File)> {
    let input = duplicate(stdio::stdin())?;
    let output = duplicate(stdio::stdout())?;
    let null: OwnedFd =
        rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    stdio::dup2_stdin(&null)?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok((File::from(input), File::from(output)))
}

/// Falls back to a low number if the process may not open descriptors above [`MIN_DESCRIPTOR`].
fn duplicate(file: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let high = rustix::io::fcntl_dupfd_cloexec(file, MIN_DESCRIPTOR);
    Ok(high.or_else(|_| rustix::io::fcntl_dupfd_cloexec(file, 3))?)
}

/// Why the connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionEnd {
    /// The client closed our input.
    EndOfInput,
    /// The client closed our output.
    OutputClosed,
}

/// The connection to the client. Clones share it.
#[derive(Clone)]
pub(crate) struct StdioTransport {
    incoming: Arc<tokio::sync::Mutex<mpsc::Receiver<Box<ClientJsonRpcMessage>>>>,
    outgoing: Arc<Outgoing>,
}

impl StdioTransport {
    /// Starts to read and write. Sends to `end` when the input ends or the output is closed.
    pub(crate) fn start(
        input: File,
        output: File,
        end: mpsc::UnboundedSender<ConnectionEnd>,
    ) -> StdioTransport {
        let (incoming_sender, incoming) = mpsc::channel(MAX_QUEUED_MESSAGES);
        let (line_sender, lines) = mpsc::unbounded_channel();
        let outgoing = Arc::new(Outgoing {
            lines: line_sender,
            unwritten: AtomicUsize::new(0),
            open_requests: Mutex::default(),
            changed: Notify::new(),
        });
        let (for_writer, end_of_output) = (Arc::clone(&outgoing), end.clone());
        tokio::spawn(async move {
            write_lines(&Stream::output(output), lines, &for_writer, &end_of_output).await;
        });
        let for_reader = Arc::clone(&outgoing);
        tokio::spawn(async move {
            read_messages(&Stream::input(input), &incoming_sender, &for_reader).await;
            let _ = end.send(ConnectionEnd::EndOfInput);
        });
        StdioTransport { incoming: Arc::new(tokio::sync::Mutex::new(incoming)), outgoing }
    }

    /// Waits until every request is answered and all output is written.
    pub(crate) async fn all_answered(&self) {
        let is_done = |outgoing: &Outgoing| {
            outgoing.open_requests().is_empty() && outgoing.unwritten_bytes() == 0
        };
        self.outgoing.wait_until(is_done).await;
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        std::future::ready(self.outgoing.send(&item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.outgoing.wait_for_room().await;
        let received = self.incoming.lock().await.recv().await;
        match received {
            Some(message) => Some(*message),
            // `None` would end the session, but calls may still have to be answered: `serve_stdio`
            // decides when the server ends.
            None => std::future::pending().await,
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        Ok(())
    }
}

/// The lines for the client, and the requests that they have to answer.
struct Outgoing {
    lines: mpsc::UnboundedSender<Vec<u8>>,
    /// Bytes of lines that are not written yet.
    unwritten: AtomicUsize,
    /// The ids of the requests that have no answer yet.
    open_requests: Mutex<HashSet<RequestId>>,
    /// Notified when a line was written or a request was closed.
    changed: Notify,
}

impl Outgoing {
    fn unwritten_bytes(&self) -> usize {
        self.unwritten.load(Ordering::Acquire)
    }

    fn open_requests(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.open_requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `condition` holds; checks it after every change.
    async fn wait_until(&self, condition: impl Fn(&Outgoing) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Register before the check to miss no notification.
            changed.as_mut().enable();
            if condition(self) {
                return;
            }
            changed.await;
        }
    }

    /// Waits while the client leaves too many bytes unread.
    async fn wait_for_room(&self) {
        self.wait_until(|outgoing| outgoing.unwritten_bytes() <= MAX_UNWRITTEN_BYTES).await;
    }

    /// Opens a request, or closes one that the client cancels. Fails with an answer if the id is in use.
    fn admit(&self, message: &ClientJsonRpcMessage) -> Result<(), String> {
        match message {
            JsonRpcMessage::Request(request) => {
                if !self.open_requests().insert(request.id.clone()) {
                    return Err(message::id_in_use(&request.id.to_string()));
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                {
                    // A cancelled request gets no answer.
                    cancelled.params.request_id.as_ref().inspect(|id| self.close_request(id));
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(())
    }

    fn close_request(&self, id: &RequestId) {
        self.open_requests().remove(id);
        self.changed.notify_waiters();
    }

    /// Queues a message of `rmcp`.
    fn send(&self, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        let answered = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        self.queue_line(serde_json::to_vec(message)?);
        answered.inspect(|id| self.close_request(id));
        Ok(())
    }

    fn queue_line(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        self.unwritten.fetch_add(line.len(), Ordering::AcqRel);
        // Fails only if the runtime has shut down.
        let _ = self.lines.send(line);
    }
}

/// Writes queued lines. If the client closes the output, discards all later lines.
async fn write_lines(
    output: &Stream,
    mut lines: mpsc::UnboundedReceiver<Vec<u8>>,
    outgoing: &Outgoing,
    end: &mpsc::UnboundedSender<ConnectionEnd>,
) {
    let mut is_closed = false;
    while let Some(line) = lines.recv().await {
        let bytes = line.len();
        if !is_closed && output.write_all(line).await.is_err() {
            is_closed = true;
            let _ = end.send(ConnectionEnd::OutputClosed);
        }
        outgoing.unwritten.fetch_sub(bytes, Ordering::AcqRel);
        outgoing.changed.notify_waiters();
    }
}

async fn read_messages(
    input: &Stream,
    incoming: &mpsc::Sender<Box<ClientJsonRpcMessage>>,
    outgoing: &Outgoing,
) {
    let mut decoder = LineDecoder::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut messages = Vec::new();
    loop {
        // Invalid lines are answered here, past `receive`. Without the yield, a client that never pauses would
        // keep the writer and the signals waiting.
        outgoing.wait_for_room().await;
        tokio::task::yield_now().await;
        match input.read(&mut chunk).await {
            Ok(0) => break,
            Ok(count) => decoder.push(chunk.get(..count).unwrap_or_default(), |line| {
                messages.push(message::parse(line));
            }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        for message in messages.drain(..) {
            accept(message, incoming, outgoing).await;
        }
    }
    decoder.finish(|line| messages.push(message::parse(line)));
    for message in messages {
        accept(message, incoming, outgoing).await;
    }
}

/// Queues a message for `rmcp`, or answers it at once if it is invalid.
async fn accept(
    message: Incoming,
    incoming: &mpsc::Sender<Box<ClientJsonRpcMessage>>,
    outgoing: &Outgoing,
) {
    match message {
        Incoming::Nothing => {}
        Incoming::Refused(answer) => outgoing.queue_line(answer.into_bytes()),
        Incoming::Message(message) => match outgoing.admit(&message) {
            Err(answer) => outgoing.queue_line(answer.into_bytes()),
            Ok(()) => drop(incoming.send(message).await),
        },
    }
}

/// The input or the output.
enum Stream {
    /// A pipe, socket or terminal: the runtime reports when it is ready.
    Polled(AsyncFd<File>),
    /// A regular file, which cannot be polled, or a terminal to write to, which may block even if it is
    /// reported as writable.
    Unpolled(Arc<File>),
}

impl Stream {
    fn input(file: File) -> Stream {
        Stream::polled(file, Interest::READABLE)
    }

    fn output(file: File) -> Stream {
        if file.is_terminal() {
            return Stream::Unpolled(Arc::new(file));
        }
        Stream::polled(file, Interest::WRITABLE)
    }

    #[expect(deprecated, reason = "unsound only for types that do not own their descriptor")]
    fn polled(file: File, interest: Interest) -> Stream {
        match AsyncFd::try_with_interest(file, interest) {
            Ok(polled) => Stream::Polled(polled),
            Err(refused) => Stream::Unpolled(Arc::new(refused.into_parts().0)),
        }
    }

    async fn read(&self, chunk: &mut [u8]) -> io::Result<usize> {
        let polled = match self {
            Stream::Polled(polled) => polled,
            Stream::Unpolled(file) => return file.as_ref().read(chunk),
        };
        loop {
            let mut ready = polled.readable().await?;
            let read = ready.try_io(|polled| {
                check_ready(polled.get_ref(), PollFlags::IN)?;
                polled.get_ref().read(chunk)
            });
            if let Ok(read) = read {
                return read;
            }
        }
    }

    async fn write_all(&self, line: Vec<u8>) -> io::Result<()> {
        let polled = match self {
            Stream::Polled(polled) => polled,
            Stream::Unpolled(file) => {
                let file = Arc::clone(file);
                let written = tokio::task::spawn_blocking(move || file.as_ref().write_all(&line));
                return written.await.map_err(io::Error::other)?;
            }
        };
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            let mut ready = polled.writable().await?;
            let written = ready.try_io(|polled| {
                check_ready(polled.get_ref(), PollFlags::OUT)?;
                // A writable pipe accepts at least PIPE_BUF bytes.
                polled.get_ref().write(rest.get(..PIPE_BUF).unwrap_or(rest))
            });
            match written {
                Ok(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(Ok(count)) => rest = rest.get(count..).unwrap_or_default(),
                Ok(Err(error)) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                Ok(Err(_)) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Fails with `WouldBlock` if the file is not ready. The parent process shares the open file and may have
/// set it to blocking mode; `poll` works in both modes.
fn check_ready(file: &File, events: PollFlags) -> io::Result<()> {
    let mut fds = [PollFd::new(file, events)];
    match rustix::event::poll(&mut fds, Some(&Timespec::default()))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}
