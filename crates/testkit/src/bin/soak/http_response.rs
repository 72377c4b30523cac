//! Reads responses over HTTP.

use std::io::Read as _;
use std::net::TcpStream;

use serde_json::Value;

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    pub(crate) body: String,
}

/// Reads a response to the end of its connection.
pub(crate) fn response(mut stream: TcpStream) -> Result<Response, String> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map_err(|error| format!("read a response: {error}"))?;
    parse(&bytes)
        .ok_or_else(|| format!("not a whole response: {:?}", String::from_utf8_lossy(&bytes)))
}

fn parse(bytes: &[u8]) -> Option<Response> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(start) = head.parse(bytes).ok()? else { return None };
    let header = |name: &str| {
        let found = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.and_then(|header| std::str::from_utf8(header.value).ok())
    };
    let rest = bytes.get(start..)?;
    let body = match header("transfer-encoding") {
        Some("chunked") => dechunk(rest)?,
        _ => rest.to_vec(),
    };
    Some(Response {
        status: head.code?,
        session: header("mcp-session-id").map(str::to_owned),
        body: String::from_utf8(body).ok()?,
    })
}

/// The content of a chunked body; `None` unless it is complete.
fn dechunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let httparse::Status::Complete((start, size)) = httparse::parse_chunk_size(rest).ok()?
        else {
            return None;
        };
        if size == 0 {
            return Some(body);
        }
        let end = start + usize::try_from(size).ok()?;
        body.extend_from_slice(rest.get(start..end)?);
        // A line break follows.
        rest = rest.get(end + 2..)?;
    }
}

/// The messages of a response: one as JSON, or some as events.
pub(crate) fn messages(response: &Response) -> Result<Vec<Value>, String> {
    let Response { status, body, .. } = response;
    if *status != 200 {
        return Err(format!("status {status}: {body}"));
    }
    let parse =
        |text: &str| serde_json::from_str(text).map_err(|error| format!("{error}: {text:.300}"));
    if body.starts_with('{') {
        return Ok(vec![parse(body)?]);
    }
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(str::trim).filter(|data| !data.is_empty()).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_of_a_chunked_response_are_read() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nMcp-Session-Id: s\r\n\r\n\
                    8\r\nid: 0/0\n\r\nb\r\ndata: {\"a\":\r\n7\r\n[1,2]}\n\r\n0\r\n\r\n";
        let response = parse(text.as_bytes()).unwrap();
        assert_eq!((response.status, response.session.as_deref()), (200, Some("s")));
        assert_eq!(messages(&response).unwrap(), [json!({"a": [1, 2]})]);
        let cut = &text.as_bytes()[..text.len() - 10];
        assert!(parse(cut).is_none());
    }
}
