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
fn arguments_of_a_call_stay_exactly_as_written() {
    let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a","path":"b","limit":25.0}}}"#;
    let Incoming::Message(message) = parse(Line::Whole(line)) else { panic!("a message") };
    let ClientJsonRpcMessage::Request(request) = *message else { panic!("a request") };
    let kept = request.request.extensions().get::<RawArguments>().unwrap();
    assert_eq!(kept.0, r#"{"path":"a","path":"b","limit":25.0}"#);
}

#[test]
fn a_call_parses_to_the_same_message_as_in_rmcp() {
    let calls = [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a"}}}"#,
        r#"{"method":"tools/call","params":{"arguments":{},"name":"x"},"id":"a","jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":-3,"method":"tools/call","params":{"name":"read"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":null}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":7,"a":[1.5]},"name":"read"},"more":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"r","arguments":{"d":{"e":[null,true,18446744073709551615]}},"other":{}}}"#,
    ];
    for line in calls {
        let outline: Outline<'_> = serde_json::from_str(line).unwrap();
        let general: ClientJsonRpcMessage = serde_json::from_str(line).unwrap();
        let ours = call(line, &outline).unwrap();
        assert_eq!(format!("{ours:?}"), format!("{general:?}"), "{line}");
        assert_eq!(meta(ours), meta(general), "{line}");
    }
    for line in [
        r#"{"id":1,"method":"tools/call","params":{"name":"read"}}"#,
        r#"{"jsonrpc":"2.1","id":1,"method":"tools/call","params":{"name":"read"}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":3}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"},"result":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"},"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"read"}}"#,
    ] {
        let outline: Outline<'_> = serde_json::from_str(line).unwrap();
        assert!(call(line, &outline).is_none(), "{line}");
    }
}

/// The metadata, which the `Debug` output of `rmcp` does not show.
fn meta(message: ClientJsonRpcMessage) -> Option<rmcp::model::RequestMetaObject> {
    let ClientJsonRpcMessage::Request(request) = message else { panic!("a request") };
    request.request.extensions().get().cloned()
}
