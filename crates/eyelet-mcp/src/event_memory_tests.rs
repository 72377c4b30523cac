//! Tests of the event memory's bounds.

use rmcp::model::{ErrorData, JsonRpcError, NumberOrString, ServerJsonRpcMessage};
use tokio_stream::StreamExt as _;

use super::*;

fn answer(text: String) -> ServerSseMessage {
    let error = ErrorData::internal_error(text, None);
    let error = JsonRpcError::new(Some(NumberOrString::Number(1)), error);
    ServerSseMessage::from_message(ServerJsonRpcMessage::Error(error))
}

fn priming() -> ServerSseMessage {
    ServerSseMessage::retry(Duration::from_secs(3))
}

fn session() -> SessionId {
    "session".into()
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test)
}

fn store(memory: &EventMemory, stream: &str, event: &ServerSseMessage) -> EventId {
    let id = memory.store(stream, event);
    let mut sent = event.clone();
    sent.event_id = Some(id.clone());
    memory.set_owner(&sent, &session());
    id
}

#[test]
fn a_stream_continues_after_the_last_event_until_its_answer() {
    run(async {
        let memory = EventMemory::default();
        let first = store(&memory, "a", &priming());
        store(&memory, "b", &answer("other".to_owned()));
        let replayed = memory.replay(&first, &session()).unwrap();
        store(&memory, "a", &answer("late".to_owned()));
        let events: Vec<_> = replayed.collect().await;
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].event_id.as_deref(), Some("a/1"));
    });
}

#[test]
fn large_answers_are_dropped_oldest_first() {
    run(async {
        let memory = EventMemory::default();
        for number in 0..20 {
            store(&memory, &number.to_string(), &answer("x".repeat(8 << 20)));
        }
        let bytes = memory.streams().bytes;
        assert!(bytes <= MAX_BYTES + (9 << 20), "{bytes}");
        assert!(memory.replay("0/0", &session()).is_none());
        assert!(memory.replay("19/0", &session()).is_some());
    });
}

#[test]
fn the_number_of_streams_and_events_is_limited() {
    run(async {
        let memory = EventMemory::default();
        for number in 0..MAX_STREAMS + 100 {
            store(&memory, &number.to_string(), &priming());
        }
        for _ in 0..MAX_EVENTS + 10 {
            store(&memory, "long", &priming());
        }
        let streams = memory.streams();
        assert!(streams.by_id.len() <= MAX_STREAMS && streams.order.len() <= MAX_STREAMS);
        assert_eq!(streams.by_id["long"].events.len(), MAX_EVENTS);
    });
}

#[test]
fn finished_streams_are_dropped_after_five_minutes() {
    run(async {
        let memory = EventMemory::default();
        store(&memory, "waiting", &priming());
        store(&memory, "finished", &answer("a".to_owned()));
        memory.streams().drop_old(Instant::now() + KEEP);
        assert!(memory.replay("waiting/0", &session()).is_some());
        assert!(memory.replay("finished/0", &session()).is_none());
        assert_eq!(memory.streams().bytes, 0);
    });
}
