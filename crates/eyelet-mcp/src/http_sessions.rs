//! The sessions over HTTP. Their number is limited: a new session ends the one that was idle the longest. A session with
//! an unfinished request or a running job is not idle.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use eyelet::limits::MAX_SESSIONS;
use eyelet::{Jobs, release_free_memory};
use hyper::HeaderMap;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{EventStore, EventStream};
use tokio::time::{Instant, sleep};
use tokio_stream::{Stream, StreamExt as _};

use crate::event_memory::{EventMemory, is_answer};

/// How long a session may be idle. The saved output of a session is removed with the session.
const MAX_IDLE: Duration = Duration::from_secs(24 * 60 * 60);
/// How often to look for sessions that were idle for too long.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// The ID with which `rmcp` begins a stream of notifications, before its first event.
const NO_EVENT: &str = "0";

/// The sessions over HTTP, when each was used, and their recent events.
pub(crate) struct HttpSessions {
    manager: LocalSessionManager,
    events: Arc<EventMemory>,
    uses: Mutex<HashMap<SessionId, LastUse>>,
    /// Whether a session has ended since memory was released.
    has_ended: AtomicBool,
    /// Held while a session is created.
    pub(crate) creation: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct LastUse {
    at: Instant,
    /// Each unfinished request has a clone of it.
    requests: Arc<()>,
    jobs: SessionJobs,
}

impl LastUse {
    fn new() -> Self {
        LastUse { at: Instant::now(), requests: Arc::default(), jobs: SessionJobs::default() }
    }

    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.requests) == 1 && !self.jobs.are_running()
    }
}

/// The jobs of a session, once it has any. Each message of the session carries a clone of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionJobs(Arc<OnceLock<Weak<Jobs>>>);

impl SessionJobs {
    pub(crate) fn set(&self, jobs: &Arc<Jobs>) {
        let _ = self.0.set(Arc::downgrade(jobs));
    }

    fn are_running(&self) -> bool {
        self.0.get().and_then(Weak::upgrade).is_some_and(|jobs| jobs.running() > 0)
    }
}

impl HttpSessions {
    pub(crate) fn new() -> Self {
        let events = Arc::new(EventMemory::default());
        let store: Arc<dyn EventStore> = events.clone();
        let mut manager = LocalSessionManager::default().with_event_store(store);
        // Its clock does not know jobs; `end_idle` has its own.
        manager.session_config.keep_alive = None;
        HttpSessions {
            manager,
            events,
            uses: Mutex::default(),
            has_ended: AtomicBool::new(false),
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
        let mut uses = self.uses();
        let last = uses.entry(id).or_insert_with(LastUse::new);
        last.at = Instant::now();
        Some(Arc::clone(&last.requests))
    }

    /// Ends the session that was idle the longest if there is no room for another one. False if all
    /// sessions have unfinished requests or running jobs.
    pub(crate) async fn make_room(&self) -> bool {
        let existing = self.existing().await;
        let has_room = existing.len() < MAX_SESSIONS;
        let idle = {
            let uses = self.uses();
            let is_idle = |id: &&SessionId| uses.get(*id).is_none_or(LastUse::is_idle);
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

    /// Ends the sessions that are idle for too long, again and again. Releases the memory of those that have ended.
    pub(crate) async fn end_idle_sessions(&self) {
        loop {
            sleep(IDLE_CHECK_INTERVAL).await;
            self.end_idle(Instant::now()).await;
            if self.has_ended.swap(false, Ordering::AcqRel) {
                release_free_memory();
            }
        }
    }

    /// Ends the sessions that have been idle for too long at this time.
    async fn end_idle(&self, now: Instant) {
        let existing = self.existing().await;
        let ended: Vec<_> = {
            let mut uses = self.uses();
            uses.retain(|id, last| !last.is_idle() || existing.contains(id));
            let is_over = |id: &SessionId| {
                let last = uses.entry(id.clone()).or_insert_with(LastUse::new);
                if !last.is_idle() {
                    last.at = now;
                }
                now.saturating_duration_since(last.at) >= MAX_IDLE
            };
            existing.into_iter().filter(is_over).collect()
        };
        for id in ended {
            // If closing it fails, it has ended already.
            let _ = self.close_session(&id).await;
        }
    }

    async fn existing(&self) -> Vec<SessionId> {
        self.manager.sessions.read().await.keys().cloned().collect()
    }

    /// Marks the message as one of this session.
    fn in_session(&self, id: &SessionId, message: ClientJsonRpcMessage) -> ClientJsonRpcMessage {
        let jobs = self.uses().entry(id.clone()).or_insert_with(LastUse::new).jobs.clone();
        let mut message = message;
        message.insert_extension(jobs);
        message
    }

    fn uses(&self) -> MutexGuard<'_, HashMap<SessionId, LastUse>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Works like `LocalSessionManager`, but only the session to which a stream belongs can continue
/// the stream.
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
        self.has_ended.store(true, Ordering::Release);
        closed
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.manager.create_stream(id, self.in_session(id, message)).await?;
        Ok(owned(stream, &self.events, id))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.manager.accept_message(id, self.in_session(id, message)).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.manager.create_standalone_stream(id).await?;
        Ok(without_answers(owned(stream, &self.events, id)))
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

/// The stream of notifications. If a call is cancelled while its answer is on the way, `rmcp` sends the answer there, but
/// the protocol forbids that, and the client does not want it.
fn without_answers(
    stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    stream.filter(|event| !event.message.as_deref().is_some_and(is_answer))
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

#[cfg(test)]
#[path = "http_sessions_tests.rs"]
mod tests;
