//! Any stream is split into the lines of a naive splitter, and each line is a message or gets an answer.

use eyelet::limits::MAX_ARGUMENT_BYTES;
use eyelet_mcp::internals::{Parsed, lines, parse};
use serde_json::Value;
use testkit::Choices;

use crate::target::{Check, Target, chunks};

/// The target.
pub const TARGET: Target = Target { name: "frames", start };

/// The maximum length of a line.
const MAX_LINE_BYTES: usize = MAX_ARGUMENT_BYTES;

const IDS: [&str; 12] = [
    "1",
    "2",
    "3",
    "\"a\"",
    "\"\"",
    "-7",
    "null",
    "1.5",
    "{}",
    "9223372036854775807",
    "18446744073709551616",
    "\"\\ud800\"",
];

const METHODS: [&str; 16] = [
    "tools/call",
    "tools/call",
    "tools/call",
    "tools/list",
    "ping",
    "initialize",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
    "logging/setLevel",
    "resources/list",
    "prompts/list",
    "completion/complete",
    "no/such",
    "",
];

const PARAMS: [&str; 20] = [
    r#"{"name":"read","arguments":{"path":"notes.txt"}}"#,
    r#"{"name":"read","arguments":{"path":"notes.txt","limit":"1"}}"#,
    r#"{"name":"read","arguments":{"path":"missing","path":"a"}}"#,
    r#"{"name":"list_dir","arguments":{"dir_path":"/"}}"#,
    r#"{"name":"grep_files","arguments":{"pattern":"one"},"_meta":{"progressToken":1}}"#,
    r#"{"name":"find_files","arguments":{"pattern":"*"}}"#,
    r#"{"name":"bash","arguments":{"command":"true"}}"#,
    r#"{"name":"jobs"}"#,
    r#"{"name":"jobs","arguments":null}"#,
    r#"{"name":"nothing","arguments":{}}"#,
    r#"{"name":7,"arguments":[]}"#,
    r#"{"arguments":{"a":1e999}}"#,
    r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#,
    r#"{"protocolVersion":"2024-11-05","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"t","version":"1"}}"#,
    r#"{"requestId":1}"#,
    r#"{"requestId":"a","reason":"x"}"#,
    r#"{"progressToken":1,"progress":0.5}"#,
    r#"{"level":"debug"}"#,
    "{}",
    "[1,{\"a\":[]}]",
];

fn start() -> Check {
    Box::new(|choices| {
        let sizes = choices.bytes(16);
        // Seldom, because megabytes take long.
        let is_long = (choices.u8(..), choices.u8(..)) == (0x5a, 0xa5);
        let length = if is_long { MAX_LINE_BYTES - choices.usize(0..100) } else { 0 };
        let mut stream = vec![b'x'; length];
        stream.extend(self::stream(choices));
        let split = lines(chunks(&stream, &mut Choices::from_bytes(&sizes)));
        assert_eq!(split, naive_lines(&stream));
        split.iter().for_each(|line| check_line(line.as_deref()));
    })
}

/// Messages and other lines.
pub(crate) fn stream(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut stream = Vec::new();
    for _ in 0..choices.usize(0..12) {
        match choices.u8(0..8) {
            0 => stream.extend(choices.bytes(80)),
            1 => {
                let line = message(choices).into_bytes();
                let length = choices.usize(0..=line.len());
                stream.extend(&line[..length]);
            }
            2 => {
                let mut line = message(choices).into_bytes();
                let place = choices.usize(0..line.len());
                line[place] = choices.u8(..);
                stream.extend(line);
            }
            _ => stream.extend(message(choices).into_bytes()),
        }
        let end = *choices.pick(&["\n", "\n", "\n", "\r\n", "\n\n", " \n", ""]);
        stream.extend(end.as_bytes());
    }
    stream.extend(choices.rest());
    stream
}

/// A message of JSON-RPC, mostly a valid one.
fn message(choices: &mut Choices<'_>) -> String {
    let mut members = Vec::new();
    if choices.u8(0..16) != 15 {
        members.push(r#""jsonrpc":"2.0""#.to_owned());
    }
    if choices.u8(0..4) != 3 {
        members.push(format!(r#""id":{}"#, choices.pick(&IDS)));
    }
    if choices.u8(0..16) != 15 {
        members.push(format!(r#""method":"{}""#, choices.pick(&METHODS)));
    }
    if choices.u8(0..8) != 7 {
        members.push(format!(r#""params":{}"#, choices.pick(&PARAMS)));
    }
    match choices.u8(0..16) {
        13 => members.push(r#""result":{}"#.to_owned()),
        14 => members.push(r#""error":{"code":1,"message":""}"#.to_owned()),
        15 => members.push(r#""more":[null]"#.to_owned()),
        _ => {}
    }
    let message = format!("{{{}}}", members.join(","));
    match choices.u8(0..16) {
        14 => format!("\u{feff} {message}"),
        15 => format!("[{message}]"),
        _ => message,
    }
}

/// The lines of a stream; `None` for one that is too long.
fn naive_lines(stream: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut lines: Vec<_> = stream.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let fits = |line: &&[u8]| line.len() <= MAX_LINE_BYTES;
    lines.into_iter().map(|line| Some(line).filter(fits).map(<[u8]>::to_owned)).collect()
}

fn check_line(line: Option<&[u8]>) {
    let parsed = parse(line);
    let text = line.and_then(|line| std::str::from_utf8(line).ok());
    let json = text.and_then(|text| {
        serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}').trim_ascii()).ok()
    });
    match parsed {
        Parsed::Request(id, arguments) => {
            let text = text.expect("a message is UTF-8");
            // Numbers above those of `Value` are valid in arguments.
            if let Some(json) = json {
                assert_eq!(json["id"].to_string(), id, "{text}");
            }
            if let Some(arguments) = arguments {
                assert!(text.contains(&arguments), "{text}");
            }
        }
        Parsed::Message => assert!(text.is_some()),
        Parsed::Refused(answer) => {
            assert!(!answer.contains('\n'));
            let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
            assert_eq!(answer["jsonrpc"], "2.0");
            let code = &answer["error"]["code"];
            assert!(code == -32700 || code == -32600, "{answer}");
            let id = &answer["id"];
            assert!(id.is_null() || json.is_none_or(|json| json["id"] == *id), "{answer}");
        }
        Parsed::Nothing => {
            let text = text.expect("bytes that are not UTF-8 get an answer");
            let is_blank = text.trim_start_matches('\u{feff}').trim_ascii().is_empty();
            assert!(is_blank || json.is_some_and(|json| json.get("id").is_none()), "{text}");
        }
    }
}
