//! The wire over stdin and stdout, on descriptors that no child can have.
//!
//! A thread reads and one writes: neither waits for the protocol, and the end of the input is seen
//! at once.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rustix::fs::{Mode, OFlags};
use rustix::stdio;
use tokio::sync::{Notify, mpsc};

use crate::message::{self, Incoming};
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

struct Outbox {
    sender: std::sync::mpsc::Sender<Vec<u8>>,
    unread: AtomicUsize,
    written: Notify,
    /// Requests that have no answer yet, from the moment they are read.
    open: Mutex<HashSet<RequestId>>,
}

impl Wire {
    /// Starts the two threads. `end` is told when the wire is of no more use.
    pub(crate) fn start(
        input: File,
        output: File,
        end: mpsc::UnboundedSender<WireEnd>,
    ) -> io::Result<Wire> {
        let (incoming_sender, incoming) = mpsc::channel(MAX_WAITING);
        let (sender, receiver) = std::sync::mpsc::channel();
        let outbox = Arc::new(Outbox {
            sender,
            unread: AtomicUsize::new(0),
            written: Notify::new(),
            open: Mutex::default(),
        });
        let reader_outbox = Arc::clone(&outbox);
        let (thread_outbox, broken) = (Arc::clone(&outbox), end.clone());
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        thread("eyelet-write").spawn(move || write(output, &receiver, &thread_outbox, &broken))?;
        thread("eyelet-read").spawn(move || {
            read(input, &incoming_sender, &reader_outbox);
            let _ = end.send(WireEnd::EndOfInput);
        })?;
        let incoming = Arc::new(tokio::sync::Mutex::new(incoming));
        Ok(Wire { incoming, outbox })
    }

    /// Waits until every request is answered and everything is written.
    pub(crate) async fn all_answered(&self) {
        loop {
            let written = self.outbox.written.notified();
            if self.outbox.open().is_empty() && self.outbox.unread.load(Ordering::Acquire) == 0 {
                return;
            }
            written.await;
        }
    }
}

impl Outbox {
    fn open(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what a message means for the requests that are open. A refusal is its answer.
    fn note(&self, message: &ClientJsonRpcMessage) -> Result<(), String> {
        match message {
            JsonRpcMessage::Request(request) => {
                if self.open().insert(request.id.clone()) {
                    return Ok(());
                }
                Err(message::id_in_use(&request.id.to_string()))
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                {
                    // What was cancelled is not answered.
                    if let Some(id) = &cancelled.params.request_id {
                        self.open().remove(id);
                        self.written.notify_waiters();
                    }
                }
                Ok(())
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Ok(()),
        }
    }

    fn put(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        self.unread.fetch_add(line.len(), Ordering::AcqRel);
        // The thread ends with the process.
        let _ = self.sender.send(line);
    }
}

fn read(mut input: File, incoming: &mpsc::Sender<Box<ClientJsonRpcMessage>>, outbox: &Outbox) {
    let mut splitter = Splitter::default();
    let mut piece = vec![0; PIECE];
    let take = |line: crate::splitter::Line<'_>| match message::read(line) {
        Incoming::Nothing => {}
        Incoming::Refused(answer) => outbox.put(answer.into_bytes()),
        Incoming::Message(message) => match outbox.note(&message) {
            Ok(()) => drop(incoming.blocking_send(message)),
            Err(refusal) => outbox.put(refusal.into_bytes()),
        },
    };
    loop {
        match input.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => splitter.push(piece.get(..count).unwrap_or_default(), take),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Someone else may have made the descriptor one that does not wait.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for(&input),
            Err(_) => break,
        }
    }
    splitter.finish(take);
}

fn wait_for(input: &File) {
    let mut fds = [rustix::event::PollFd::new(input, rustix::event::PollFlags::IN)];
    let _ = rustix::event::poll(&mut fds, None);
}

fn write(
    mut output: File,
    lines: &std::sync::mpsc::Receiver<Vec<u8>>,
    outbox: &Outbox,
    broken: &mpsc::UnboundedSender<WireEnd>,
) {
    let mut is_broken = false;
    for line in lines {
        if !is_broken && write_all(&mut output, &line).is_err() {
            is_broken = true;
            let _ = broken.send(WireEnd::Broken);
        }
        outbox.unread.fetch_sub(line.len(), Ordering::AcqRel);
        outbox.written.notify_waiters();
    }
}

fn write_all(output: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match output.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut fds = [rustix::event::PollFd::new(output, rustix::event::PollFlags::OUT)];
                let _ = rustix::event::poll(&mut fds, None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let wire = self.clone();
        async move {
            let line = serde_json::to_vec(&item)?;
            let answered = match &item {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            if let Some(id) = answered {
                wire.outbox.open().remove(id);
            }
            // Whoever waits for the last answer looks again once this is written.
            wire.outbox.put(line);
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let written = self.outbox.written.notified();
            if self.outbox.unread.load(Ordering::Acquire) > MAX_UNREAD_BYTES {
                written.await;
                continue;
            }
            let received = self.incoming.lock().await.recv().await;
            match received {
                Some(message) => return Some(*message),
                // When the server ends is decided elsewhere: calls may still be answered.
                None => std::future::pending().await,
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        Ok(())
    }
}
