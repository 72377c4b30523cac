//! Stores the recent events of HTTP streams. A client that lost its connection can get the events
//! that it missed.
//!
//! A client that reconnects sends the ID of the last event that it received, and gets the later events of the same
//! stream. `rmcp` alone forgets an answer once it is sent, even if the connection is gone.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::JsonRpcMessage;
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::session::{
    EventId, EventStore, EventStoreError, EventStream,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;

/// How long the events of a finished stream are kept.
const KEEP: Duration = Duration::from_secs(5 * 60);
/// The maximum size of all events together.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// The maximum number of streams.
const MAX_STREAMS: usize = 4096;
/// The maximum number of events of a stream; older ones, which report progress, are dropped.
const MAX_EVENTS: usize = 64;

/// The recent events of all streams.
#[derive(Default)]
pub(crate) struct EventMemory(Mutex<Streams>);

#[derive(Default)]
struct Streams {
    by_id: HashMap<String, Log>,
    /// Their IDs, the oldest first.
    order: VecDeque<String>,
    bytes: usize,
}

/// The events of one stream.
struct Log {
    /// The session to which the stream belongs, once its client has received an event.
    owner: Option<SessionId>,
    events: VecDeque<Event>,
    /// The number of the next event.
    next: u64,
    is_finished: bool,
    changed: Instant,
    /// Clients that have reconnected and wait for later events.
    waiting: Vec<mpsc::Sender<ServerSseMessage>>,
}

struct Event {
    number: u64,
    message: ServerSseMessage,
    bytes: usize,
}

impl EventMemory {
    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a session's client receives this event: only this session may continue the stream.
    pub(crate) fn set_owner(&self, event: &ServerSseMessage, session: &SessionId) {
        let Some((stream, _)) = event.event_id.as_deref().and_then(parse) else { return };
        if let Some(log) = self.streams().by_id.get_mut(stream) {
            log.owner = Some(session.clone());
        }
    }

    /// Drops the events of a session that has ended.
    pub(crate) fn forget(&self, session: &SessionId) {
        let mut streams = self.streams();
        let own = streams.by_id.iter().filter(|(_, log)| log.owner.as_ref() == Some(session));
        let own: Vec<String> = own.map(|(id, _)| id.clone()).collect();
        own.iter().for_each(|id| streams.remove(id));
        streams.order.retain(|id| !own.contains(id));
    }

    /// The events after `last`, and those that follow until the stream is finished. None if the stream is not
    /// known or not of this session.
    pub(crate) fn replay(&self, last: &str, session: &SessionId) -> Option<EventStream> {
        let (stream, last) = parse(last)?;
        let mut streams = self.streams();
        let log =
            streams.by_id.get_mut(stream).filter(|log| log.owner.as_ref() == Some(session))?;
        let (sender, receiver) = mpsc::channel(MAX_EVENTS);
        for event in log.events.iter().filter(|event| event.number > last) {
            // The channel has room for all of them.
            let _ = sender.try_send(event.message.clone());
        }
        if !log.is_finished {
            log.waiting.retain(|waiting| !waiting.is_closed());
            log.waiting.push(sender);
        }
        Some(Box::pin(ReceiverStream::new(receiver)))
    }

    fn store(&self, stream: &str, event: &ServerSseMessage) -> EventId {
        let bytes = size(event);
        let mut streams = self.streams();
        let now = Instant::now();
        streams.drop_old(now);
        if !streams.by_id.contains_key(stream) {
            streams.order.push_back(stream.to_owned());
        }
        let log = streams.by_id.entry(stream.to_owned()).or_insert_with(|| Log {
            owner: None,
            events: VecDeque::new(),
            next: 0,
            is_finished: false,
            changed: now,
            waiting: Vec::new(),
        });
        let number = log.next;
        let id = format!("{stream}/{number}");
        let mut message = event.clone();
        message.event_id = Some(id.clone());
        log.next += 1;
        log.changed = now;
        log.is_finished = event.message.as_deref().is_some_and(is_answer);
        // A client that does not read reconnects.
        log.waiting.retain(|waiting| waiting.try_send(message.clone()).is_ok());
        if log.is_finished {
            log.waiting.clear();
        }
        log.events.push_back(Event { number, message, bytes });
        let dropped = if log.events.len() > MAX_EVENTS { log.events.pop_front() } else { None };
        streams.bytes += bytes;
        streams.bytes -= dropped.map_or(0, |event| event.bytes);
        id
    }
}

impl Streams {
    fn remove(&mut self, id: &str) {
        let removed = self.by_id.remove(id);
        let events = removed.iter().flat_map(|log| &log.events);
        self.bytes -= events.map(|event| event.bytes).sum::<usize>();
    }

    /// Drops finished streams that are too old, and the oldest ones if there are too many.
    fn drop_old(&mut self, now: Instant) {
        for _ in 0..self.order.len() {
            let is_over = self.bytes > MAX_BYTES || self.by_id.len() >= MAX_STREAMS;
            let Some(id) = self.order.pop_front() else { return };
            let Some(log) = self.by_id.get(&id) else { continue };
            let is_expired = now.duration_since(log.changed) >= KEEP;
            match (log.is_finished, is_expired || is_over) {
                (true, true) => self.remove(&id),
                (true, false) => return self.order.push_front(id),
                // Its answer is not there yet.
                (false, _) => self.order.push_back(id),
            }
        }
        // All streams are unfinished: nobody waits for the oldest ones.
        while self.by_id.len() >= MAX_STREAMS {
            let Some(id) = self.order.pop_front() else { return };
            self.remove(&id);
        }
    }
}

#[async_trait]
impl EventStore for EventMemory {
    async fn store_event(
        &self,
        stream_id: &str,
        event: &ServerSseMessage,
    ) -> Result<EventId, EventStoreError> {
        Ok(self.store(stream_id, event))
    }

    /// Always fails: the session that asks is not known here. [`EventMemory::replay`] knows it.
    async fn replay_events_after(&self, _: &str) -> Result<EventStream, EventStoreError> {
        Err("a stream can be continued only in the session that it belongs to".into())
    }
}

/// The stream and the number of an event.
fn parse(id: &str) -> Option<(&str, u64)> {
    let (stream, number) = id.rsplit_once('/')?;
    Some((stream, number.parse().ok()?))
}

/// Whether the message ends the stream of a request.
pub(crate) fn is_answer<Req, Resp, Not>(message: &JsonRpcMessage<Req, Resp, Not>) -> bool {
    matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
}

/// The size of an event as JSON.
fn size(event: &ServerSseMessage) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    if let Some(message) = &event.message {
        // A message that cannot be written is not sent either.
        let _ = serde_json::to_writer(&mut counter, message);
    }
    counter.0
}

#[cfg(test)]
#[path = "event_memory_tests.rs"]
mod tests;
