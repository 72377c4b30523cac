//! The server over HTTP, for clients that cannot start a program.
//!
//! Whoever may connect could call every tool, so each request bears a token, comes by a name of
//! this machine and from no web page. What a peer can hold up is bounded in bytes, time and number.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use eyelet::ToolRouter;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::life::{END_TIME, live, stop_calls, told_to_end};
use crate::message::{self, Incoming};
use crate::session::Session;
use crate::splitter::Line;
use crate::{Options, Shared, Token};

/// The path that speaks the protocol.
const ENDPOINT: &str = "/mcp";
/// The most bytes of a request.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// How long a peer may take for the head of a request, and for its body.
const READ_TIME: Duration = Duration::from_secs(10);
/// How many connections there are at once; one more ends the oldest that asks for nothing.
const MAX_CONNECTIONS: usize = 256;
/// How long accepting rests where the system has no more descriptors.
const REST: Duration = Duration::from_millis(50);

/// Where the server listens, and who may speak to it.
#[derive(Debug)]
pub struct Http {
    /// The socket that it listens on.
    pub listener: TcpListener,
    /// What every request has to bear.
    pub token: Token,
    /// The origins of web pages that may speak to it, such as `http://localhost:3000`.
    pub origins: Vec<String>,
}

type Reply = Response<BoxBody<Bytes, Infallible>>;

/// What every connection shares.
struct Door {
    token: Token,
    origins: Vec<String>,
    is_local: bool,
    shared: Arc<Shared>,
    service: StreamableHttpService<Session, LocalSessionManager>,
}

/// Serves the tools of `router` over HTTP until a signal comes.
///
/// # Errors
/// Where the socket or the process's threads cannot be had.
pub fn serve_http(options: Options, router: ToolRouter, http: Http) -> io::Result<()> {
    live(options, router, async |shared| {
        http.listener.set_nonblocking(true)?;
        let is_local = http.listener.local_addr()?.ip().is_loopback();
        let listener = tokio::net::TcpListener::from_std(http.listener.try_clone()?)?;
        let sessions = Arc::clone(&shared);
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(MAX_BODY_BYTES);
        let service = StreamableHttpService::new(
            move || Ok(Session::new(Arc::clone(&sessions))),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let Http { token, origins, .. } = http;
        let door = Door { token, origins, is_local, shared: Arc::clone(&shared), service };
        tokio::select! {
            () = accept(listener, Arc::new(door)) => {}
            told = told_to_end() => told?,
        }
        stop_calls(&shared, Instant::now() + END_TIME).await;
        Ok(())
    })
}

/// A connection, and how many requests it has under way.
struct Connection {
    task: AbortHandle,
    requests: Arc<AtomicUsize>,
}

async fn accept(listener: tokio::net::TcpListener, door: Arc<Door>) {
    let mut connections: VecDeque<Connection> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(REST).await;
            continue;
        };
        connections.retain(|connection| !connection.task.is_finished());
        if connections.len() >= MAX_CONNECTIONS {
            let idle = |one: &Connection| one.requests.load(Ordering::Acquire) == 0;
            match connections.iter().position(idle).and_then(|at| connections.remove(at)) {
                Some(oldest) => oldest.task.abort(),
                // Everyone waits for an answer.
                None => continue,
            }
        }
        let requests = Arc::new(AtomicUsize::new(0));
        let (door, counted) = (Arc::clone(&door), Arc::clone(&requests));
        let task = tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let (door, under_way) = (Arc::clone(&door), UnderWay::new(&counted));
                async move { Ok::<_, Infallible>(door.answer(request, under_way).await) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(READ_TIME);
            // A peer that breaks off has nobody to be told.
            let _ = server.serve_connection(TokioIo::new(stream), answer).await;
        });
        connections.push_back(Connection { task: task.abort_handle(), requests });
    }
}

/// One request under way.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        UnderWay(Arc::clone(count))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Door {
    async fn answer(&self, request: Request<body::Incoming>, under_way: UnderWay) -> Reply {
        let headers = request.headers();
        if !self.is_our_name(headers.get(HOST)) {
            return plain(StatusCode::FORBIDDEN, "the Host header is not a name of this server");
        }
        let is_listed = |origin: &HeaderValue| {
            self.origins.iter().any(|one| one.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
        };
        if !headers.get_all(ORIGIN).iter().all(is_listed) {
            return plain(StatusCode::FORBIDDEN, "this web page may not speak to this server");
        }
        let path = request.uri().path().to_owned();
        if path == "/healthz" {
            return plain(StatusCode::OK, "ok");
        }
        if !self.is_authorised(headers.get(AUTHORIZATION)) {
            let mut reply = plain(StatusCode::UNAUTHORIZED, "a bearer token is needed");
            reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return reply;
        }
        match (path.as_str(), request.method()) {
            ("/metrics", &Method::GET) => plain(StatusCode::OK, self.shared.metrics.render()),
            (ENDPOINT, _) => {
                let reply = self.converse(request).await;
                // A stream is under way until its last piece.
                reply.map(|body| {
                    let keep = move |frame| {
                        let _ = &under_way;
                        frame
                    };
                    body.map_frame(keep).boxed()
                })
            }
            _ => plain(StatusCode::NOT_FOUND, "the endpoint is /mcp"),
        }
    }

    /// Takes the body within its bounds, then lets the protocol answer.
    async fn converse(&self, request: Request<body::Incoming>) -> Reply {
        let (mut head, body) = request.into_parts();
        let body = match timeout(READ_TIME, Limited::new(body, MAX_BODY_BYTES).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return plain(StatusCode::PAYLOAD_TOO_LARGE, "a request has at most 1 MiB");
            }
            Ok(Err(_)) => return plain(StatusCode::BAD_REQUEST, "the body could not be read"),
            Err(_) => return plain(StatusCode::REQUEST_TIMEOUT, "the body came too slowly"),
        };
        if head.method == Method::POST {
            // The same eyes as over stdio: rmcp would not see a doubled key.
            match message::read(Line::Whole(&body)) {
                Incoming::Message(message) => {
                    if let Some(arguments) = message::arguments(&message) {
                        head.extensions.insert(arguments.clone());
                    }
                }
                Incoming::Refused(answer) => return json(StatusCode::BAD_REQUEST, answer),
                Incoming::Nothing => {}
            }
        }
        self.service.handle(Request::from_parts(head, Full::new(body))).await
    }

    /// A web page reaches us by a name of its own that points here; never by an address.
    fn is_our_name(&self, host: Option<&HeaderValue>) -> bool {
        let Some(host) = host.and_then(|host| host.to_str().ok()) else { return false };
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            Some(_) | None => host,
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        match name.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || !self.is_local,
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }

    fn is_authorised(&self, authorization: Option<&HeaderValue>) -> bool {
        let Some(value) = authorization.map(HeaderValue::as_bytes) else { return false };
        let Some((scheme, claim)) = value.split_at_checked(b"Bearer ".len()) else { return false };
        scheme.eq_ignore_ascii_case(b"Bearer ") && self.token.is(claim)
    }
}

impl Http {
    /// The address of the endpoint.
    ///
    /// # Errors
    /// The system's.
    pub fn url(&self) -> io::Result<String> {
        let address: SocketAddr = self.listener.local_addr()?;
        Ok(format!("http://{address}{ENDPOINT}"))
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    reply(status, "text/plain; charset=utf-8", text.into())
}

fn json(status: StatusCode, text: String) -> Reply {
    reply(status, "application/json", text.into())
}

fn reply(status: StatusCode, kind: &'static str, body: Bytes) -> Reply {
    let mut reply = Response::new(Full::new(body).boxed());
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}
