use super::*;

/// The error's code and id, `nothing`, or `message`.
fn parse_text(line: &[u8]) -> String {
    match parse(Line::Whole(line)) {
        Incoming::Message(_) => "message".to_owned(),
        Incoming::Nothing => "nothing".to_owned(),
        Incoming::Refused(answer) => {
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            format!("{} id {}", answer["error"]["code"], answer["id"])
        }
    }
}

#[test]
fn invalid_messages_are_refused_with_a_code() {
    let deep = "[".repeat(100_000);
    let deep_params = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{deep}"#);
    for (line, expected) in [
        ("{", "-32700 id null"),
        ("nonsense", "-32700 id null"),
        (deep.as_str(), "-32700 id null"),
        (deep_params.as_str(), "-32700 id null"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, "-32700 id null"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}"#,
            "-32700 id null",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{]}}"#,
            "-32700 id null",
        ),
        ("[]", "-32600 id null"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "-32600 id null"),
        ("3", "-32600 id null"),
        ("{}", "-32600 id null"),
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, "-32600 id 7"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "-32600 id null"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "-32600 id null"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "-32600 id null"),
        (r#"{"jsonrpc":"2.0","id":"a","method":3}"#, "-32600 id null"),
        ("", "nothing"),
        ("  \r", "nothing"),
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#, "message"),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r", "message"),
        (r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#, "message"),
    ] {
        assert_eq!(parse_text(line.as_bytes()), expected, "{line:.80}");
    }
    assert_eq!(parse_text(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"), "-32700 id null");
    assert!(matches!(parse(Line::TooLong), Incoming::Refused(text) if text.contains("-32700")));
}

#[test]
fn arguments_stay_unparsed_exactly_as_written() {
    let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for arguments in [
        r#"{"path":"a","path":"b","limit":25.0}"#,
        r#"{ "a" : 1e999 }"#,
        r#"{"path":"\ud800"}"#,
        "{}",
        deep.as_str(),
    ] {
        let (parsed, raw) = parse_call(&call_line(&format!(
            r#"{{"name":"read","arguments":{arguments},"_meta":{{}}}}"#
        )));
        assert_eq!(parsed.arguments, None, "{arguments:.80}");
        assert_eq!(raw.as_deref(), Some(arguments), "{arguments:.80}");
    }
    for params in [r#"{"name":"read","arguments":null}"#, r#"{"name":"read"}"#] {
        let (parsed, raw) = parse_call(&call_line(params));
        assert_eq!((parsed.arguments, raw), (None, None), "{params}");
    }
}

fn call_line(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
}

/// The parameters that `rmcp` gets, and the text of the arguments.
fn parse_call(line: &str) -> (CallToolRequestParams, Option<String>) {
    let mut message = parsed(line);
    let raw = take_arguments(&mut message).map(|raw| raw.0);
    let ClientJsonRpcMessage::Request(request) = message else { panic!("{line:.80}") };
    let ClientRequest::CallToolRequest(call) = request.request else { panic!("{line:.80}") };
    (call.params, raw)
}

fn parsed(line: &str) -> ClientJsonRpcMessage {
    match parse(Line::Whole(line.as_bytes())) {
        Incoming::Message(message) => *message,
        Incoming::Refused(answer) => panic!("{line:.80}: {answer}"),
        Incoming::Nothing => panic!("{line:.80}: nothing"),
    }
}

#[test]
fn a_call_equals_the_message_of_rmcp_except_its_arguments() {
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a"}}}"#,
        r#"{"method":"tools/call","params":{"arguments":{},"name":"x"},"id":"a","jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":-3,"method":"tools/call","params":{"name":"read"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":null,"_meta":null}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":7,"a":[1.5]},"name":"read"},"more":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"r","arguments":{"d":{"e":[null,true,18446744073709551615]}},"other":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"r","inputResponses":{"roots":{"roots":[]}},"requestState":"s"}}"#,
    ] {
        let mut general: ClientJsonRpcMessage = serde_json::from_str(line).unwrap();
        if let ClientJsonRpcMessage::Request(request) = &mut general
            && let ClientRequest::CallToolRequest(call) = &mut request.request
        {
            call.params.arguments = None;
        }
        let ours = parsed(line);
        assert_eq!(format!("{ours:?}"), format!("{general:?}"), "{line}");
        assert_eq!(meta(&ours), meta(&general), "{line}");
    }
}

#[test]
fn a_call_with_invalid_params_is_a_custom_request_as_in_rmcp() {
    for params in [
        r#"{"name":3,"_meta":{"progressToken":7}}"#,
        r#"{"name":"read","arguments":[]}"#,
        r#"{"name":"read","arguments":"{}"}"#,
        r#"{"name":"read","name":"read"}"#,
        r#"{"name":"read","arguments":{},"arguments":{}}"#,
        r#"{"arguments":{}}"#,
        "null",
    ] {
        let line = call_line(params);
        let general: ClientJsonRpcMessage = serde_json::from_str(&line).unwrap();
        let ours = parsed(&line);
        for message in [&ours, &general] {
            let ClientJsonRpcMessage::Request(request) = message else { panic!("{params}") };
            let is_custom = matches!(&request.request, ClientRequest::CustomRequest(_));
            assert!(is_custom, "{params}: {message:?}");
        }
        assert_eq!(meta(&ours), meta(&general), "{params}");
    }
    for params in ["[]", "3", r#"{"name":"read","_meta":3}"#] {
        let line = call_line(params);
        assert!(serde_json::from_str::<ClientJsonRpcMessage>(&line).is_err(), "{params}");
        assert_eq!(parse_text(line.as_bytes()), "-32600 id 1", "{params}");
    }
}

#[test]
fn only_requests_are_calls() {
    for line in [
        r#"{"id":1,"method":"tools/call","params":{"name":"read"}}"#,
        r#"{"jsonrpc":"2.1","id":1,"method":"tools/call","params":{"name":"read"}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"},"result":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"},"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"read"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"text"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":-1.5}"#,
    ] {
        let outline: Outline<'_> = serde_json::from_str(line).unwrap();
        assert!(call(&outline).is_none(), "{line}");
    }
}

/// The metadata, which the `Debug` output of `rmcp` does not show.
fn meta(message: &ClientJsonRpcMessage) -> Option<RequestMetaObject> {
    let ClientJsonRpcMessage::Request(request) = message else { panic!("{message:?}") };
    request.request.extensions().get().cloned()
}

fn lines(chunks: &[&[u8]]) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |line: Line<'_>| {
        found.push(match line {
            Line::Whole(line) if line.len() > 100 => format!("{} bytes", line.len()),
            Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
            Line::TooLong => "too long".to_owned(),
        });
    };
    let mut decoder = LineDecoder::default();
    for chunk in chunks {
        decoder.push(chunk, &mut add);
    }
    decoder.finish(&mut add);
    found
}

#[test]
fn lines_are_complete_wherever_the_chunks_end() {
    assert_eq!(lines(&[b"a\nb", b"c\n", b"", b"\nd"]), ["a", "bc", "", "d"]);
    assert_eq!(lines(&[b"a\n"]), ["a"]);
    assert_eq!(lines(&[]), [""; 0]);
}

#[test]
fn a_line_above_the_limit_is_reported_once_and_skipped() {
    let long = vec![b'x'; MAX_LINE_BYTES];
    let whole = format!("{MAX_LINE_BYTES} bytes");
    assert_eq!(lines(&[&long, b"\nnext\n"]), [whole.as_str(), "next"]);
    assert_eq!(lines(&[&long, b"x\nnext\n"]), ["too long", "next"]);
    assert_eq!(lines(&[&long, b"x", &long, &long, b"\nnext"]), ["too long", "next"]);
    assert_eq!(lines(&[&long, b"x", &long]), ["too long"]);
}
