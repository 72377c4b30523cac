//! What goes to the client, and which requests wait for it.
//!
//! A line is written at once by whoever has it, as far as that cannot wait; the rest goes to a thread
//! that may. So a slow client holds up nobody, and a quick one is not held up by a thread in between.

use std::collections::{HashMap, VecDeque};
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
use crate::wire::WireEnd;

/// What the protocol is told of a request that has its answer already. Never written.
const ANSWERED: ErrorCode = ErrorCode(i32::MIN);

/// So many lines a call's thread writes that come up meanwhile; then it goes on with its own work.
const MAX_FOR_OTHERS: usize = 16;

/// The way to the client.
pub(crate) struct Outbox {
    wire: File,
    /// A terminal may keep a writer waiting even when it says that there is room.
    is_terminal: bool,
    lines: Mutex<Lines>,
    handed_on: Condvar,
    /// Bytes that wait for the client.
    unread: AtomicUsize,
    written: Notify,
    /// Requests, from the moment they are read until the protocol has done with them.
    open: Mutex<HashMap<RequestId, Stage>>,
    end: mpsc::UnboundedSender<WireEnd>,
}

#[derive(Default)]
struct Lines {
    waiting: VecDeque<Vec<u8>>,
    /// Whether someone is at them.
    is_writing: bool,
    /// Whether that is the thread.
    is_handed_on: bool,
    is_broken: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asked,
    /// Its answer is being written.
    Answering,
    /// The client has its answer, and the protocol does not know yet.
    Answered,
}

/// What comes of a message.
pub(crate) enum Noted {
    Take,
    /// Its id is that of a request that the protocol has not done with.
    Later,
    /// It is answered with this.
    Refused(String),
}

/// The result of a call whose answer is out.
pub(crate) fn answered() -> ErrorData {
    ErrorData::new(ANSWERED, "", None)
}

impl Outbox {
    /// Starts the thread that waits for slow clients. `end` is told when nobody listens any more.
    pub(crate) fn start(
        wire: File,
        end: mpsc::UnboundedSender<WireEnd>,
    ) -> io::Result<Arc<Outbox>> {
        let outbox = Arc::new(Outbox {
            is_terminal: wire.is_terminal(),
            wire,
            lines: Mutex::default(),
            handed_on: Condvar::new(),
            unread: AtomicUsize::new(0),
            written: Notify::new(),
            open: Mutex::default(),
            end,
        });
        let writer = Arc::clone(&outbox);
        let name = "eyelet-write".to_owned();
        std::thread::Builder::new().name(name).spawn(move || writer.write_waiting())?;
        Ok(outbox)
    }

    /// Bytes that wait for the client.
    pub(crate) fn unread(&self) -> usize {
        self.unread.load(Ordering::Acquire)
    }

    /// Waits until something holds that what is written or answered can make true.
    pub(crate) async fn wait_until(&self, mut holds: impl FnMut(&Outbox) -> bool) {
        loop {
            let mut written = std::pin::pin!(self.written.notified());
            // From here on nothing is missed.
            written.as_mut().enable();
            if holds(self) {
                return;
            }
            written.await;
        }
    }

    /// Whether every request is answered and everything is written.
    pub(crate) fn is_done(&self) -> bool {
        self.open().values().all(|stage| *stage == Stage::Answered) && self.unread() == 0
    }

    /// Notes what a message means for the requests that are open.
    pub(crate) fn note(&self, message: &ClientJsonRpcMessage) -> Noted {
        match message {
            JsonRpcMessage::Request(request) => {
                let mut open = self.open();
                match open.get(&request.id) {
                    Some(Stage::Asked) => {
                        return Noted::Refused(message::id_in_use(&request.id.to_string()));
                    }
                    Some(Stage::Answering | Stage::Answered) => return Noted::Later,
                    None => drop(open.insert(request.id.clone(), Stage::Asked)),
                }
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
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Noted::Take
    }

    /// Answers a call from the thread that ran it, unless it was cancelled. The protocol is then told
    /// that it is [`answered`].
    pub(crate) fn answer(&self, id: RequestId, result: CallToolResult) -> io::Result<()> {
        let mut result = ServerResult::CallToolResult(result);
        result.strip_result_type_for_legacy_peer();
        let message = ServerJsonRpcMessage::response(result, id.clone());
        let line = serde_json::to_vec(&message)?;
        if self.set_stage(&id, Stage::Answering) {
            self.put(line);
            self.set_stage(&id, Stage::Answered);
            self.written.notify_waiters();
        }
        Ok(())
    }

    /// Whether the request is still open.
    fn set_stage(&self, id: &RequestId, stage: Stage) -> bool {
        self.open().get_mut(id).map(|of_request| *of_request = stage).is_some()
    }

    /// Sends what the protocol has to say.
    pub(crate) fn send(&self, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        let (id, is_out) = match message {
            JsonRpcMessage::Response(response) => (Some(&response.id), false),
            JsonRpcMessage::Error(error) => (error.id.as_ref(), error.error.code == ANSWERED),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => (None, false),
        };
        if !is_out {
            self.put(serde_json::to_vec(message)?);
        }
        // What counts as answered is on its way.
        if let Some(id) = id {
            self.open().remove(id);
            self.written.notify_waiters();
        }
        Ok(())
    }

    /// Writes a line now, or as soon as the client has read what is before it. No lock is held while
    /// something is written: on a busy machine its holder may be set aside for long.
    pub(crate) fn put(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        let mut lines = self.lines();
        if lines.is_broken {
            return;
        }
        self.unread.fetch_add(line.len(), Ordering::AcqRel);
        lines.waiting.push_back(line);
        if lines.is_writing {
            // Whoever writes comes to it.
            return;
        }
        lines.is_writing = true;
        for _ in 0..MAX_FOR_OTHERS {
            let Some(mut line) = lines.waiting.pop_front() else { break };
            drop(lines);
            let written = self.write_now(&line);
            let count = *written.as_ref().unwrap_or(&line.len());
            self.unread.fetch_sub(count, Ordering::AcqRel);
            lines = self.lines();
            if written.is_err() {
                self.break_off(&mut lines);
            } else if count < line.len() {
                line.drain(..count);
                lines.waiting.push_front(line);
                break;
            }
        }
        if lines.waiting.is_empty() {
            lines.is_writing = false;
        } else {
            lines.is_handed_on = true;
            self.handed_on.notify_one();
        }
        drop(lines);
        self.written.notify_waiters();
    }

    /// Writes what can be written without waiting. Returns how much that was.
    fn write_now(&self, line: &[u8]) -> io::Result<usize> {
        let mut count = 0;
        // Where there is any room, there is room for so much.
        for piece in line.chunks(PIPE_BUF) {
            if self.is_terminal || !self.has_room(Some(&Timespec::default())) {
                break;
            }
            match (&self.wire).write(piece) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    count += written;
                    if written < piece.len() {
                        break;
                    }
                }
                Err(error) if is_for_later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    /// The thread that may wait.
    fn write_waiting(&self) {
        let mut lines = self.lines();
        loop {
            if !lines.is_handed_on {
                lines = self.handed_on.wait(lines).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let Some(line) = lines.waiting.pop_front() else {
                lines.is_writing = false;
                lines.is_handed_on = false;
                continue;
            };
            drop(lines);
            let written = self.write_all(&line);
            self.unread.fetch_sub(line.len(), Ordering::AcqRel);
            lines = self.lines();
            if written.is_err() {
                self.break_off(&mut lines);
            }
            self.written.notify_waiters();
        }
    }

    fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match (&self.wire).write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if is_for_later(&error) => drop(self.has_room(None)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether something can be written within a time; `None` waits.
    fn has_room(&self, time: Option<&Timespec>) -> bool {
        let mut fds = [PollFd::new(&self.wire, PollFlags::OUT)];
        rustix::event::poll(&mut fds, time).is_ok_and(|ready| ready > 0)
    }

    /// Nobody listens any more: what waits is dropped, and what comes.
    fn break_off(&self, lines: &mut Lines) {
        lines.is_broken = true;
        let dropped = lines.waiting.drain(..).map(|line| line.len()).sum();
        self.unread.fetch_sub(dropped, Ordering::AcqRel);
        let _ = self.end.send(WireEnd::Broken);
    }

    fn open(&self) -> MutexGuard<'_, HashMap<RequestId, Stage>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Someone else may have made the descriptor one that does not wait.
fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}
