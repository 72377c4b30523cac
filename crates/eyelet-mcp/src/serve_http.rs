//! The server over HTTP, for clients that cannot start a process.
//!
//! Every request must carry the bearer token and a `Host` header that names this machine, and must not
//! come from a web page that is not allowed. Body size, read time and the number of connections are
//! limited.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use eyelet::ToolRouter;
use eyelet::limits::MAX_SESSIONS;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::http_sessions::HttpSessions;
use crate::log;
use crate::message::{self, Incoming, Line};
use crate::metrics::Gauges;
use crate::options::Options;
use crate::server::{SHUTDOWN_TIMEOUT, Server, wait_for_signal};
use crate::session::Session;
use crate::thread_pool::Sharing;
use crate::token::Token;

/// The path of the MCP endpoint.
const ENDPOINT: &str = "/mcp";
/// The maximum size of a request body.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// How long a client may take to send the head of a request, and again to send its body.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
// The messages of refused requests name these numbers.
const _: () = assert!(MAX_BODY_BYTES == 1024 * 1024 && READ_TIMEOUT.as_secs() == 10);
/// The maximum number of connections; one more closes the oldest idle one. Each session may have a stream of
/// notifications and a request.
const MAX_CONNECTIONS: usize = 2 * MAX_SESSIONS;
/// How many files the server wants to open, if the system allows it: a session that has run commands keeps five open.
const WANTED_DESCRIPTORS: u64 = 4096;
/// How long to wait before accepting again after a failure, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The socket of an HTTP server, and the rules for the requests that it accepts.
#[derive(Debug)]
pub struct Http {
    /// The socket on which the server listens.
    pub listener: TcpListener,
    /// The bearer token that every request must carry.
    pub token: Token,
    /// The origins of web pages that may send requests, such as `http://localhost:3000`.
    pub origins: Vec<String>,
    /// Further names of this machine that the `Host` header of a request may contain, such as the
    /// name of a reverse proxy. The server always accepts `localhost` and the addresses at which it
    /// can be reached.
    pub hosts: Vec<String>,
}

type Reply = Response<BoxBody<Bytes, Infallible>>;

/// Checks and answers requests; shared by all connections.
struct Gateway {
    token: Token,
    origins: Vec<String>,
    hosts: Vec<String>,
    is_local: bool,
    server: Arc<Server>,
    sessions: Arc<HttpSessions>,
    service: StreamableHttpService<Session, HttpSessions>,
}

/// Serves the tools of `router` over HTTP until the process receives SIGTERM, SIGHUP or SIGINT.
///
/// # Errors
/// Fails if the process cannot listen on the socket or create the runtime.
pub fn serve_http(options: Options, router: ToolRouter, http: Http) -> io::Result<()> {
    raise_descriptor_limit();
    let server = Server::new(options, router, Sharing::ManySessions).with_metrics();
    server.run(async |server| {
        http.listener.set_nonblocking(true)?;
        let is_local = http.listener.local_addr()?.ip().is_loopback();
        let listener = tokio::net::TcpListener::from_std(http.listener.try_clone()?)?;
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(MAX_BODY_BYTES);
        let sessions = Arc::new(HttpSessions::new());
        let for_sessions = Arc::clone(&server);
        let service = StreamableHttpService::new(
            move || Ok(Session::new(Arc::clone(&for_sessions))),
            Arc::clone(&sessions),
            config,
        );
        let Http { token, origins, hosts, .. } = http;
        let own = Arc::clone(&server);
        let ending = Arc::clone(&sessions);
        let gateway = Gateway { token, origins, hosts, is_local, server: own, sessions, service };
        let signal = tokio::select! {
            () = ending.end_idle_sessions() => return Ok(()),
            () = accept(listener, Arc::new(gateway)) => return Ok(()),
            signal = wait_for_signal() => signal?,
        };
        log::shutdown(signal, server.in_flight.len());
        server.cancel_calls(Instant::now() + SHUTDOWN_TIMEOUT).await;
        Ok(())
    })
}

/// Raises the soft limit of open files, which is often 1024. Commands inherit it.
fn raise_descriptor_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(WANTED_DESCRIPTORS, |most| most.min(WANTED_DESCRIPTORS));
    if current.is_some_and(|current| current < wanted) {
        // If it fails, the server can have fewer sessions.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

/// A connection. It and each of its unfinished requests own a reference to `in_use`.
struct Connection {
    task: AbortHandle,
    in_use: Weak<()>,
}

async fn accept(listener: tokio::net::TcpListener, gateway: Arc<Gateway>) {
    let mut connections: VecDeque<Connection> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        connections.retain(|connection| !connection.task.is_finished());
        if connections.len() >= MAX_CONNECTIONS {
            let idle = |one: &Connection| one.in_use.strong_count() <= 1;
            match connections.iter().position(idle).and_then(|at| connections.remove(at)) {
                Some(oldest) => oldest.task.abort(),
                // All connections are busy: refuse this one.
                None => continue,
            }
        }
        let (gateway, in_use) = (Arc::clone(&gateway), Arc::new(()));
        let weak = Arc::downgrade(&in_use);
        let task = tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let (gateway, in_use) = (Arc::clone(&gateway), Arc::clone(&in_use));
                async move { Ok::<_, Infallible>(gateway.answer(request, in_use).await) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(READ_TIMEOUT);
            // An error means that the client disconnected.
            let _ = http.serve_connection(TokioIo::new(stream), answer).await;
        });
        connections.push_back(Connection { task: task.abort_handle(), in_use: weak });
    }
}

impl Gateway {
    async fn answer(&self, request: Request<body::Incoming>, in_use: Arc<()>) -> Reply {
        let headers = request.headers();
        if !self.is_own_host(headers.get(HOST)) {
            return refuse(
                StatusCode::FORBIDDEN,
                "forbidden: the Host header does not name this machine; use localhost or the IP address of the \
                 server, or restart with --http-host NAME",
            );
        }
        let is_listed = |origin: &HeaderValue| {
            self.origins.iter().any(|one| one.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
        };
        if !headers.get_all(ORIGIN).iter().all(is_listed) {
            return refuse(
                StatusCode::FORBIDDEN,
                "forbidden: the origin of this web page is not allowed; restart with --http-origin ORIGIN",
            );
        }
        let path = request.uri().path().to_owned();
        if path == "/healthz" {
            return plain(StatusCode::OK, "ok");
        }
        if !self.is_authorised(headers.get(AUTHORIZATION)) {
            let mut reply = refuse(
                StatusCode::UNAUTHORIZED,
                "unauthorized: the request requires the bearer token",
            );
            reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return reply;
        }
        match (path.as_str(), request.method()) {
            ("/metrics", &Method::GET) => {
                let now = Gauges {
                    sessions: self.sessions.len().await,
                    lanes: self.server.pool.state(),
                    running_jobs: self.server.jobs.running_in_all_sessions(),
                };
                let metrics = self.server.metrics.as_ref().map(|metrics| metrics.render(&now));
                plain(StatusCode::OK, metrics.unwrap_or_default())
            }
            (ENDPOINT, _) => {
                let session = self.sessions.record_use(headers).await;
                let reply = self.handle_mcp(request).await;
                // A streamed reply is unfinished until its last frame.
                let in_use = (in_use, session);
                reply.map(|body| {
                    let keep = move |frame| {
                        let _ = &in_use;
                        frame
                    };
                    body.map_frame(keep).boxed()
                })
            }
            _ => refuse(StatusCode::NOT_FOUND, "not found; the MCP endpoint is /mcp"),
        }
    }

    /// Reads the body within its limits, then lets `rmcp` answer.
    async fn handle_mcp(&self, request: Request<body::Incoming>) -> Reply {
        let (mut head, body) = request.into_parts();
        let mut body = match timeout(READ_TIMEOUT, Limited::new(body, MAX_BODY_BYTES).collect())
            .await
        {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return refuse(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "request body too large: the maximum is 1 MiB",
                );
            }
            Ok(Err(_)) => return refuse(StatusCode::BAD_REQUEST, "cannot read the request body"),
            Err(_) => {
                return refuse(
                    StatusCode::REQUEST_TIMEOUT,
                    "timeout: the request body did not arrive within 10 seconds",
                );
            }
        };
        let mut is_new_session = false;
        if head.method == Method::POST {
            // The same checks as over stdio: `rmcp` alone would accept duplicate keys.
            match message::parse(Line::Whole(&body)) {
                Incoming::Message(mut message) => {
                    is_new_session = message::is_initialize(&message);
                    if let Some(arguments) = message::take_arguments(&mut message)
                        && let Ok(without) = serde_json::to_vec(&message)
                    {
                        // `rmcp` parses the message again, but not its arguments.
                        body = without.into();
                        head.extensions.insert(arguments);
                    }
                }
                Incoming::Refused(answer) => {
                    log::refused(StatusCode::BAD_REQUEST.as_u16(), "invalid message");
                    return reply(StatusCode::BAD_REQUEST, "application/json", answer.into());
                }
                Incoming::Nothing => {}
            }
        }
        let is_end = head.method == Method::DELETE;
        let request = Request::from_parts(head, Full::new(body));
        if !is_new_session {
            let mut reply = self.let_rmcp_answer(request).await;
            if is_end && reply.status() == StatusCode::ACCEPTED {
                // The session has ended already; clients take 202 for a failure.
                *reply.status_mut() = StatusCode::NO_CONTENT;
            }
            return reply;
        }
        let _creation = self.sessions.creation.lock().await;
        if !self.sessions.make_room().await {
            return refuse(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many sessions: all of them have unfinished requests or running jobs; try again later",
            );
        }
        let reply = self.let_rmcp_answer(request).await;
        self.sessions.record_use(reply.headers()).await;
        reply
    }

    async fn let_rmcp_answer(&self, request: Request<Full<Bytes>>) -> Reply {
        let reply = self.service.handle(request).await;
        let status = reply.status();
        if status.is_client_error() || status.is_server_error() {
            log::refused(status.as_u16(), status.canonical_reason().unwrap_or_default());
        }
        reply
    }

    /// Rejects DNS rebinding: a web page can point its own host name at this machine, but it cannot make
    /// the browser send one of ours.
    fn is_own_host(&self, host: Option<&HeaderValue>) -> bool {
        let Some(host) = host.and_then(|host| host.to_str().ok()) else { return false };
        let name = without_port(host);
        let is_name = |own: &str| name.eq_ignore_ascii_case(without_port(own));
        match name.parse::<IpAddr>() {
            Ok(address) if address.is_loopback() || !self.is_local => true,
            Ok(_) | Err(_) => is_name("localhost") || self.hosts.iter().any(|own| is_name(own)),
        }
    }

    fn is_authorised(&self, authorization: Option<&HeaderValue>) -> bool {
        let Some(value) = authorization.map(HeaderValue::as_bytes) else { return false };
        let Some((scheme, claim)) = value.split_at_checked(b"Bearer ".len()) else { return false };
        scheme.eq_ignore_ascii_case(b"Bearer ") && self.token.matches(claim)
    }
}

impl Http {
    /// Returns the URL of the MCP endpoint.
    ///
    /// # Errors
    /// Fails if the system cannot report the socket's address.
    pub fn url(&self) -> io::Result<String> {
        let address: SocketAddr = self.listener.local_addr()?;
        Ok(format!("http://{address}{ENDPOINT}"))
    }
}

/// The name or address in a `Host` header.
fn without_port(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    name.trim_start_matches('[').trim_end_matches(']')
}

/// Refuses a request, and logs why.
fn refuse(status: StatusCode, reason: &'static str) -> Reply {
    log::refused(status.as_u16(), reason);
    plain(status, reason)
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    reply(status, "text/plain; charset=utf-8", text.into())
}

fn reply(status: StatusCode, kind: &'static str, body: Bytes) -> Reply {
    let mut reply = Response::new(Full::new(body).boxed());
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}
