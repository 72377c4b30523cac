//! The wire over stdin and stdout, on descriptors that no child can have.

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

use crate::message::{self, Incoming};
use crate::outbox::{Noted, Outbox};
use crate::splitter::Splitter;

/// The wire's descriptors are above those that anyone counts on.
const HIGH: i32 = 100;
/// How much is read at once.
const PIECE: usize = 64 * 1024;
/// How many messages wait for the protocol.
const MAX_WAITING: usize = 16;
/// With so much unread by the client, nothing more is taken from it.
const MAX_UNREAD_BYTES: usize = 64 * 1024 * 1024;

/// Why the wire is of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireEnd {
    /// The client has said everything.
    EndOfInput,
    /// The client does not listen any more.
    Broken,
}

/// Moves stdin and stdout out of everyone's reach: what is then read from stdin is empty, and what
/// is printed to stdout goes to stderr.
pub(crate) fn take_over() -> io::Result<(File, File)> {
    let input = duplicate(stdio::stdin())?;
    let output = duplicate(stdio::stdout())?;
    let nothing: OwnedFd =
        rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    stdio::dup2_stdin(&nothing)?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok((File::from(input), File::from(output)))
}

/// A process that may have few files has none so high.
fn duplicate(file: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let high = rustix::io::fcntl_dupfd_cloexec(file, HIGH);
    Ok(high.or_else(|_| rustix::io::fcntl_dupfd_cloexec(file, 3))?)
}

/// One end of the conversation. Clones are the same wire.
#[derive(Clone)]
pub(crate) struct Wire {
    incoming: Arc<tokio::sync::Mutex<mpsc::Receiver<Box<ClientJsonRpcMessage>>>>,
    outbox: Arc<Outbox>,
}

impl Wire {
    /// Starts to read. `end` is told when the wire is of no more use.
    pub(crate) fn start(
        input: File,
        output: File,
        end: mpsc::UnboundedSender<WireEnd>,
    ) -> io::Result<Wire> {
        let (incoming_sender, incoming) = mpsc::channel(MAX_WAITING);
        let outbox = Outbox::start(output, end.clone())?;
        let answers = Arc::clone(&outbox);
        tokio::spawn(async move {
            read(Input::of(input), &incoming_sender, &answers).await;
            let _ = end.send(WireEnd::EndOfInput);
        });
        let incoming = Arc::new(tokio::sync::Mutex::new(incoming));
        Ok(Wire { incoming, outbox })
    }

    /// The way to the client, for those who have an answer at first hand.
    pub(crate) fn outbox(&self) -> Arc<Outbox> {
        Arc::clone(&self.outbox)
    }

    /// Waits until every request is answered and everything is written.
    pub(crate) async fn all_answered(&self) {
        self.outbox.wait_until(Outbox::is_done).await;
    }
}

/// Where messages come from.
enum Input {
    /// It tells when there is something to read.
    Told(AsyncFd<File>),
    /// A file: reading it never waits.
    File(File),
}

impl Input {
    #[expect(deprecated, reason = "unsound for what does not own its descriptor; a file does")]
    fn of(file: File) -> Input {
        match AsyncFd::try_with_interest(file, Interest::READABLE) {
            Ok(told) => Input::Told(told),
            Err(refused) => Input::File(refused.into_parts().0),
        }
    }

    async fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::File(file) => file.read(piece),
            Input::Told(told) => loop {
                let mut ready = told.readable().await?;
                if let Ok(read) = ready.try_io(|told| read_now(told.get_ref(), piece)) {
                    return read;
                }
            },
        }
    }
}

/// Reads what is there. The descriptor is shared with whoever gave it, so that it may well be one that
/// waits.
fn read_now(mut input: &File, piece: &mut [u8]) -> io::Result<usize> {
    let mut fds = [PollFd::new(input, PollFlags::IN)];
    match rustix::event::poll(&mut fds, Some(&Timespec::default()))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => input.read(piece),
    }
}

async fn read(
    mut input: Input,
    incoming: &mpsc::Sender<Box<ClientJsonRpcMessage>>,
    outbox: &Outbox,
) {
    let mut splitter = Splitter::default();
    let mut piece = vec![0; PIECE];
    let mut messages = Vec::new();
    loop {
        match input.read(&mut piece).await {
            Ok(0) => break,
            Ok(count) => splitter.push(piece.get(..count).unwrap_or_default(), |line| {
                messages.push(message::read(line));
            }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        for message in messages.drain(..) {
            take(message, incoming, outbox).await;
        }
    }
    splitter.finish(|line| messages.push(message::read(line)));
    for message in messages {
        take(message, incoming, outbox).await;
    }
}

async fn take(
    message: Incoming,
    incoming: &mpsc::Sender<Box<ClientJsonRpcMessage>>,
    outbox: &Outbox,
) {
    let message = match message {
        Incoming::Nothing => return,
        Incoming::Refused(answer) => return outbox.put(answer.into_bytes()),
        Incoming::Message(message) => message,
    };
    let mut noted = outbox.note(&message);
    if matches!(noted, Noted::Later) {
        let again = |outbox: &Outbox| {
            noted = outbox.note(&message);
            !matches!(noted, Noted::Later)
        };
        outbox.wait_until(again).await;
    }
    match noted {
        Noted::Refused(refusal) => outbox.put(refusal.into_bytes()),
        Noted::Take | Noted::Later => drop(incoming.send(message).await),
    }
}

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        std::future::ready(self.outbox.send(&item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.outbox.unread() > MAX_UNREAD_BYTES {
            self.outbox.wait_until(|outbox| outbox.unread() <= MAX_UNREAD_BYTES).await;
        }
        let received = self.incoming.lock().await.recv().await;
        match received {
            Some(message) => Some(*message),
            // When the server ends is decided elsewhere: calls may still be answered.
            None => std::future::pending().await,
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        Ok(())
    }
}
