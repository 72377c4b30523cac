//! One connection of a command: to the proxy, or to a forwarded port.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::exec::sandboxed::proxy::allowed_hosts::{AllowedHosts, Denial};
use crate::exec::sandboxed::proxy::refusals::Refusals;
use crate::exec::sandboxed::proxy::relay::{FromClient, relay, wait};
use crate::exec::sandboxed::proxy::request_head::{self, Action, MAX_HEAD_BYTES, RequestHead};
use crate::text::{escape, truncate};

/// How long a client may take to send the head of its request.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long connecting to one address may take, and to all addresses of a host.
const CONNECT_TIME: Duration = Duration::from_secs(10);
const ALL_CONNECTS_TIME: Duration = Duration::from_secs(30);
/// How long to wait for a client that still sends when its request is refused.
const DRAIN_TIME: Duration = Duration::from_secs(1);
/// The most bytes of a host in messages.
const MAX_SHOWN_BYTES: usize = 100;

/// The state that all connections of a session share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) hosts: AllowedHosts,
    pub(super) refusals: Arc<Refusals>,
}

/// Serves a connection to the proxy. `end` becomes readable when the session ends.
pub(super) fn serve(client: &TcpStream, shared: &Shared, end: BorrowedFd<'_>) -> io::Result<()> {
    prepare(client)?;
    let mut bytes = Vec::new();
    let head = match read_head(client, &mut bytes, end)? {
        Ok(head) => head,
        Err(reason) => return answer(client, "400 Bad Request", &reason, end),
    };
    let rest = bytes.get(head.length..).unwrap_or_default();
    let shown = format!("{}:{}", escape::name(head.host.as_ref()), head.port);
    let shown = truncate::middle(shown, MAX_SHOWN_BYTES);
    let addresses = match shared.hosts.addresses(&head.host, head.port) {
        Ok(addresses) => addresses,
        Err(Denial::Unresolved(error)) => {
            let reason = format!("cannot resolve {shown}: {error}");
            return answer(client, "502 Bad Gateway", &reason, end);
        }
        Err(denial) => {
            let reason = match denial {
                Denial::Resolved(address) => {
                    format!(
                        "the sandbox blocked {shown}: the name is allowed, but its address {address} is not"
                    )
                }
                Denial::NotAllowed | Denial::Invalid | Denial::Unresolved(_) => {
                    format!("the sandbox blocked {shown}: the host is not allowed")
                }
            };
            shared.refusals.add(shown);
            return answer(client, "403 Forbidden", &reason, end);
        }
    };
    let host = match connect(&addresses) {
        Ok(host) => host,
        Err(error) => {
            let reason = format!("cannot connect to {shown}: {error}");
            return answer(client, "502 Bad Gateway", &reason, end);
        }
    };
    match head.action {
        Action::Tunnel => {
            (&mut &*client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            relay(client, &host, &FromClient { first: rest, more: u64::MAX }, end)
        }
        Action::Forward { mut head, body_bytes } => {
            let sent = usize::try_from(body_bytes).unwrap_or(usize::MAX).min(rest.len());
            head.extend_from_slice(rest.get(..sent).unwrap_or_default());
            let more = match body_bytes {
                u64::MAX => u64::MAX,
                bytes => bytes.saturating_sub(sent as u64),
            };
            relay(client, &host, &FromClient { first: &head, more }, end)
        }
    }
}

/// Connects a forwarded port to the same address of this machine, or to another one that is forwarded with the
/// same port: `localhost` has two, and a server may listen on either.
pub(super) fn forward(
    client: &TcpStream,
    at: SocketAddr,
    shared: &Shared,
    end: BorrowedFd<'_>,
) -> io::Result<()> {
    prepare(client)?;
    let others = shared.hosts.forwarded().into_iter();
    let others = others.filter(|other| other.port() == at.port() && *other != at);
    let addresses: Vec<_> = [at].into_iter().chain(others).collect();
    let host = connect(&addresses)?;
    relay(client, &host, &FromClient { first: &[], more: u64::MAX }, end)
}

fn prepare(client: &TcpStream) -> io::Result<()> {
    // Some systems pass the mode of the listener on.
    client.set_nonblocking(false)?;
    client.set_nodelay(true)
}

/// Reads until the head is complete. The inner error is for the client.
fn read_head(
    client: &TcpStream,
    bytes: &mut Vec<u8>,
    end: BorrowedFd<'_>,
) -> io::Result<Result<RequestHead, String>> {
    let until = Instant::now() + HEAD_TIME;
    let mut buffer = [0; 4096];
    loop {
        match request_head::parse(bytes) {
            Ok(Some(head)) => return Ok(Ok(head)),
            Err(reason) => return Ok(Err(reason.to_owned())),
            Ok(None) if bytes.len() >= MAX_HEAD_BYTES => {
                return Ok(Err(format!("the request head is longer than {MAX_HEAD_BYTES} bytes")));
            }
            Ok(None) => {}
        }
        match read_before(client, &mut buffer, until, end)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
        }
    }
}

fn read_before(
    client: &TcpStream,
    buffer: &mut [u8],
    until: Instant,
    end: BorrowedFd<'_>,
) -> io::Result<usize> {
    let mut fds = [
        PollFd::from_borrowed_fd(end, PollFlags::IN),
        PollFd::from_borrowed_fd(client.as_fd(), PollFlags::IN),
    ];
    match wait(&mut fds, until) {
        true => (&mut &*client).read(buffer),
        false => Err(io::ErrorKind::TimedOut.into()),
    }
}

fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let until = Instant::now() + ALL_CONNECTS_TIME;
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        let left = until.saturating_duration_since(Instant::now()).min(CONNECT_TIME);
        if left.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(address, left) {
            Ok(host) => {
                host.set_nodelay(true)?;
                host.set_write_timeout(Some(HEAD_TIME))?;
                return Ok(host);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Answers with an error. Reads what the client still sends: closing the socket earlier would discard the answer.
fn answer(client: &TcpStream, status: &str, reason: &str, end: BorrowedFd<'_>) -> io::Result<()> {
    let body = format!("eyelet: {reason}\n");
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    client.set_write_timeout(Some(HEAD_TIME))?;
    (&mut &*client).write_all(text.as_bytes())?;
    client.shutdown(Shutdown::Write)?;
    let until = Instant::now() + DRAIN_TIME;
    let mut buffer = [0; 4096];
    while read_before(client, &mut buffer, until, end)? > 0 {}
    Ok(())
}
