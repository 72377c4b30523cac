//! The sessions over HTTP. Their number is limited: a new session ends the one that was idle the longest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::HeaderMap;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{EventStore, EventStream};
use tokio::time::Instant;
use tokio_stream::{Stream, StreamExt as _};

use crate::event_memory::EventMemory;

/// The maximum number of sessions.
const MAX_SESSIONS: usize = 100;
/// How long a session may be idle. Its saved output ends with it.
const MAX_IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// The ID with which `rmcp` begins a stream of notifications, before its first event.
const NO_EVENT: &str = "0";

/// The sessions over HTTP, when each was used, and their recent events.
pub(crate) struct HttpSessions {
    manager: LocalSessionManager,
    events: Arc<EventMemory>,
    uses: Mutex<HashMap<SessionId, LastUse>>,
    /// Held while a session is created.
    pub(crate) creation: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct LastUse {
    at: Instant,
    /// Each unfinished request has a clone of it.
    requests: Arc<()>,
}

impl HttpSessions {
    pub(crate) fn new() -> Self {
        let events = Arc::new(EventMemory::default());
        let store: Arc<dyn EventStore> = events.clone();
        let mut manager = LocalSessionManager::default().with_event_store(store);
        manager.session_config.keep_alive = Some(MAX_IDLE);
        HttpSessions {
            manager,
            events,
            uses: Mutex::default(),
            creation: tokio::sync::Mutex::default(),
        }
    }

    /// The number of sessions.
    pub(crate) async fn len(&self) -> usize {
        self.manager.sessions.read().await.len()
    }

    /// Records a request of the session that these headers name. The request keeps the result until it is
    /// finished.
    pub(crate) async fn record_use(&self, headers: &HeaderMap) -> Option<Arc<()>> {
        let id: SessionId = headers.get(HEADER_SESSION_ID)?.to_str().ok()?.into();
        if !self.manager.sessions.read().await.contains_key(&id) {
            return None;
        }
        let at = Instant::now();
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let last = uses.entry(id).or_insert_with(|| LastUse { at, requests: Arc::default() });
        last.at = at;
        Some(Arc::clone(&last.requests))
    }

    /// Ends the session that was idle the longest if there is no room for another one. False if all
    /// sessions have unfinished requests.
    pub(crate) async fn make_room(&self) -> bool {
        let existing: Vec<SessionId> = self.manager.sessions.read().await.keys().cloned().collect();
        let has_room = existing.len() < MAX_SESSIONS;
        let idle = {
            let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
            uses.retain(|id, last| Arc::strong_count(&last.requests) > 1 || existing.contains(id));
            let is_idle = |id: &&SessionId| {
                uses.get(*id).is_none_or(|last| Arc::strong_count(&last.requests) == 1)
            };
            let idle = existing.iter().filter(is_idle);
            idle.min_by_key(|id| uses.get(*id).map(|last| last.at)).cloned()
        };
        match idle {
            _ if has_room => true,
            // If closing it fails, it has ended already.
            Some(id) => {
                let _ = self.close_session(&id).await;
                true
            }
            None => false,
        }
    }
}

/// As `LocalSessionManager`, but a stream can only be continued by the session to which it belongs.
impl SessionManager for HttpSessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.manager.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.manager.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.manager.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let closed = self.manager.close_session(id).await;
        self.events.forget(id);
        closed
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.manager.create_stream(id, message).await?;
        Ok(owned(stream, &self.events, id))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.manager.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.manager.create_standalone_stream(id).await?;
        Ok(owned(stream, &self.events, id))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        if last_event_id == NO_EVENT {
            let stream = self.create_standalone_stream(id).await?;
            return Ok(Box::pin(stream) as EventStream);
        }
        let replayed = self.events.replay(&last_event_id, id);
        replayed.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))
    }

    // `event_store` stays `None`: requests without a session end with their connection, which cancels their calls.
}

/// Assigns the stream to the session with the first event that its client receives.
fn owned(
    stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    events: &Arc<EventMemory>,
    session: &SessionId,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    let (events, session) = (Arc::clone(events), session.clone());
    stream.map(move |event| {
        events.set_owner(&event, &session);
        event
    })
}
