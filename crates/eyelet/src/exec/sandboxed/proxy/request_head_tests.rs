use super::{Action, parse};

fn target(request: &str) -> (String, u16) {
    let head = parse(request.as_bytes()).unwrap().unwrap();
    (head.host, head.port)
}

fn forwarded(request: &str) -> (String, u64) {
    match parse(request.as_bytes()).unwrap().unwrap().action {
        Action::Forward { head, body_bytes } => (String::from_utf8(head).unwrap(), body_bytes),
        Action::Tunnel => panic!("{request}"),
    }
}

#[test]
fn the_target_is_the_authority_of_the_request() {
    assert_eq!(target("CONNECT a.com:443 HTTP/1.1\r\n\r\n"), ("a.com".to_owned(), 443));
    assert_eq!(
        target("CONNECT [::1]:443 HTTP/1.1\r\nHost: b.com\r\n\r\n"),
        ("[::1]".to_owned(), 443)
    );
    assert_eq!(
        target("GET http://a.com HTTP/1.1\r\nHost: b.com\r\n\r\n"),
        ("a.com".to_owned(), 80)
    );
    assert_eq!(
        target("GET HTTP://a.com:8080?x=http://b.com/ HTTP/1.1\r\n\r\n"),
        ("a.com".to_owned(), 8080)
    );
    for request in [
        "CONNECT a.com HTTP/1.1\r\n\r\n",
        "CONNECT :443 HTTP/1.1\r\n\r\n",
        "CONNECT a.com:0 HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.com\r\n\r\n",
        "GET https://a.com/ HTTP/1.1\r\n\r\n",
        "GET http://user@a.com/ HTTP/1.1\r\n\r\n",
        "GET http:///x HTTP/1.1\r\n\r\n",
        "GET http://a.com:99999/ HTTP/1.1\r\n\r\n",
        "\u{16}\u{3}\u{1}\r\n\r\n",
    ] {
        assert!(parse(request.as_bytes()).is_err(), "{request:?}");
    }
    assert_eq!(parse(b"CONNECT a.com:443 HTTP/1.1\r\nHost: a"), Ok(None));
}

#[test]
fn a_forwarded_head_has_no_headers_for_the_proxy() {
    let (head, body_bytes) = forwarded(
        "POST http://a.com:81/x?y HTTP/1.1\r\nHost: evil.com\r\nAccept: */*\r\nProxy-Connection: keep-alive\r\n\
         Proxy-Authorization: Basic eA==\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nContent-Length: 5\r\n\r\nhello",
    );
    assert_eq!(
        head,
        "POST /x?y HTTP/1.1\r\nHost: a.com:81\r\nAccept: */*\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(body_bytes, 5);
    assert_eq!(
        forwarded("GET http://a.com?q HTTP/1.0\r\n\r\n").0,
        "GET /?q HTTP/1.0\r\nHost: a.com\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(forwarded("GET http://a.com/ HTTP/1.1\r\n\r\n").1, 0);
    let chunked = "POST http://a.com/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(forwarded(chunked).1, u64::MAX);
    for lengths in [
        "Content-Length: x",
        "Content-Length: 1\r\nContent-Length: 2",
        "Content-Length: 1\r\nTransfer-Encoding: chunked",
    ] {
        let request = format!("POST http://a.com/ HTTP/1.1\r\n{lengths}\r\n\r\n");
        assert!(parse(request.as_bytes()).is_err(), "{lengths}");
    }
}
