//! The head of a request to the proxy: `CONNECT host:port`, or a request with the whole URL.

use httparse::{EMPTY_HEADER, Header, Request, Status};

/// The maximum length of a head.
pub(super) const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The maximum number of headers.
const MAX_HEADERS: usize = 100;

/// Headers between a client and its proxy. A `Connection` header names more.
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "upgrade",
];

/// A request to connect to a host.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestHead {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) action: Action,
    /// How many bytes the head has.
    pub(super) length: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Pass bytes in both directions.
    Tunnel,
    /// Send this head to the host, then at most this many bytes of the client.
    Forward { head: Vec<u8>, body_bytes: u64 },
}

/// Parses the head; `None` if it is not complete.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<RequestHead>, &'static str> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut request = Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err("the request has too many headers"),
        Err(_) => return Err("the request is not valid HTTP/1"),
    };
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Err("the request is not valid HTTP/1");
    };
    if method == "CONNECT" {
        let (host, port) = authority(target).ok_or("expected CONNECT host:port")?;
        let port = port.ok_or("expected CONNECT host:port")?;
        return Ok(Some(RequestHead { host, port, action: Action::Tunnel, length }));
    }
    let (scheme, rest) = target.split_once("://").ok_or("this is a proxy, not a web server")?;
    if !scheme.eq_ignore_ascii_case("http") {
        return Err("the proxy forwards http:// only; use CONNECT for other protocols");
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (named, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let (host, port) = authority(named).ok_or("expected http://host[:port]/path")?;
    let body_bytes = body_bytes(request.headers)?;
    let version = request.version.unwrap_or(1);
    let slash = if path.starts_with('/') { "" } else { "/" };
    let line = format!("{method} {slash}{path} HTTP/1.{version}\r\nHost: {named}\r\n");
    let head = forwarded(line, request.headers);
    let action = Action::Forward { head, body_bytes };
    Ok(Some(RequestHead { host, port: port.unwrap_or(80), action, length }))
}

/// Splits `host[:port]`. The host keeps its brackets.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        Some(_) | None => (text, ""),
    };
    let port = match port {
        "" => None,
        port => Some(port.parse().ok().filter(|port| *port > 0)?),
    };
    (!host.is_empty() && !host.contains('@')).then(|| (host.to_owned(), port))
}

/// How many bytes of the client belong to the request.
fn body_bytes(headers: &[Header<'_>]) -> Result<u64, &'static str> {
    let values = |name: &'static str| {
        headers.iter().filter(move |one| one.name.eq_ignore_ascii_case(name)).map(|one| one.value)
    };
    let mut lengths = values("content-length");
    let length = lengths.next();
    let is_chunked = values("transfer-encoding").next().is_some();
    match (length, lengths.next(), is_chunked) {
        (None, None, false) => Ok(0),
        // The host finds the end.
        (None, None, true) => Ok(u64::MAX),
        (Some(length), None, false) => {
            let length = std::str::from_utf8(length).ok().and_then(|text| text.parse().ok());
            length.ok_or("invalid Content-Length")
        }
        (..) => Err("the request has more than one Content-Length or Transfer-Encoding header"),
    }
}

/// The head for the host: one request per connection, without the headers for the proxy.
fn forwarded(line: String, headers: &[Header<'_>]) -> Vec<u8> {
    let connection = headers.iter().filter(|one| one.name.eq_ignore_ascii_case("connection"));
    let named: Vec<&[u8]> = connection
        .flat_map(|one| one.value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .collect();
    let mut head = line.into_bytes();
    for one in headers {
        let is_for_proxy = HOP_BY_HOP.iter().any(|name| one.name.eq_ignore_ascii_case(name))
            || named.iter().any(|name| one.name.as_bytes().eq_ignore_ascii_case(name));
        if !is_for_proxy {
            head.extend_from_slice(one.name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(one.value);
            head.extend_from_slice(b"\r\n");
        }
    }
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    head
}

#[cfg(test)]
#[path = "request_head_tests.rs"]
mod tests;
