//! The `rmcp` transport over stdin and stdout, on descriptors that no child inherits.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::stdio;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use crate::line_codec::LineDecoder;
use crate::message::{self, Incoming};
use crate::stdout_writer::{Admission, ConnectionEnd, StdoutWriter};

/// The duplicated descriptors start here, above the numbers that programs commonly assume.
const MIN_DESCRIPTOR: i32 = 100;
/// How many bytes to read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// How many messages may wait for `rmcp`.
const MAX_QUEUED_MESSAGES: usize = 16;
/// Stop accepting messages while the client has left this many bytes unread.
const MAX_UNREAD_BYTES: usize = 64 * 1024 * 1024;

/// Moves stdin and stdout to private descriptors. Afterwards stdin is empty, and whatever is printed
/// to stdout goes to stderr.
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

/// The connection to the client. Clones share it.
#[derive(Clone)]
pub(crate) struct StdioTransport {
    incoming: Arc<tokio::sync::Mutex<mpsc::Receiver<Box<ClientJsonRpcMessage>>>>,
    writer: Arc<StdoutWriter>,
}

impl StdioTransport {
    /// Starts to read. Sends to `end` when the input ends or the output is closed.
    pub(crate) fn start(
        input: File,
        output: File,
        end: mpsc::UnboundedSender<ConnectionEnd>,
    ) -> io::Result<StdioTransport> {
        let (incoming_sender, incoming) = mpsc::channel(MAX_QUEUED_MESSAGES);
        let writer = StdoutWriter::start(output, end.clone())?;
        let for_reader = Arc::clone(&writer);
        tokio::spawn(async move {
            read_messages(Input::new(input), &incoming_sender, &for_reader).await;
            let _ = end.send(ConnectionEnd::EndOfInput);
        });
        let incoming = Arc::new(tokio::sync::Mutex::new(incoming));
        Ok(StdioTransport { incoming, writer })
    }

    /// Waits until every request is answered and all output is written.
    pub(crate) async fn all_answered(&self) {
        self.writer.wait_until(StdoutWriter::is_done).await;
    }
}

/// The source of messages.
enum Input {
    /// A pipe, socket or terminal: the runtime reports when it is readable.
    Polled(AsyncFd<File>),
    /// A regular file, which is always readable and cannot be polled.
    File(File),
}

impl Input {
    #[expect(deprecated, reason = "unsound for what does not own its descriptor; a file does")]
    fn new(file: File) -> Input {
        match AsyncFd::try_with_interest(file, Interest::READABLE) {
            Ok(polled) => Input::Polled(polled),
            Err(refused) => Input::File(refused.into_parts().0),
        }
    }

    async fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::File(file) => file.read(chunk),
            Input::Polled(polled) => loop {
                let mut ready = polled.readable().await?;
                if let Ok(read) = ready.try_io(|polled| read_available(polled.get_ref(), chunk)) {
                    return read;
                }
            },
        }
    }
}

/// Reads without blocking. The parent shares the open file, so it may be in blocking mode; `poll` works
/// in both modes.
fn read_available(mut input: &File, chunk: &mut [u8]) -> io::Result<usize> {
    let mut fds = [PollFd::new(input, PollFlags::IN)];
    match rustix::event::poll(&mut fds, Some(&Timespec::default()))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => input.read(chunk),
    }
}

async fn read_messages(
    mut input: Input,
    incoming: &mpsc::Sender<Box<ClientJsonRpcMessage>>,
    writer: &StdoutWriter,
) {
    let mut decoder = LineDecoder::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut messages = Vec::new();
    loop {
        match input.read(&mut chunk).await {
            Ok(0) => break,
            Ok(count) => decoder.push(chunk.get(..count).unwrap_or_default(), |line| {
                messages.push(message::parse(line));
            }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        for message in messages.drain(..) {
            accept(message, incoming, writer).await;
        }
    }
    decoder.finish(|line| messages.push(message::parse(line)));
    for message in messages {
        accept(message, incoming, writer).await;
    }
}

/// Queues a message for `rmcp`, or answers it at once if it is not acceptable.
async fn accept(
    message: Incoming,
    incoming: &mpsc::Sender<Box<ClientJsonRpcMessage>>,
    writer: &StdoutWriter,
) {
    let message = match message {
        Incoming::Nothing => return,
        Incoming::Refused(answer) => return writer.write_line(answer.into_bytes()),
        Incoming::Message(message) => message,
    };
    match writer.admit(&message) {
        Admission::Refused(answer) => writer.write_line(answer.into_bytes()),
        Admission::Accepted => drop(incoming.send(message).await),
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        std::future::ready(self.writer.send(&item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.writer.unread() > MAX_UNREAD_BYTES {
            self.writer.wait_until(|writer| writer.unread() <= MAX_UNREAD_BYTES).await;
        }
        let received = self.incoming.lock().await.recv().await;
        match received {
            Some(message) => Some(*message),
            // `None` would end the session, but calls may still have to be answered: `stdio` decides
            // when the server ends.
            None => std::future::pending().await,
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        Ok(())
    }
}
