//! `eyelet setup` adds its entry to any config file and keeps everything else, or leaves the file alone.

use eyelet_cli::internals::ClientFile;
use serde_json::{Value, json};
use testkit::Choices;

use crate::target::{Check, Target};

/// The target.
pub const TARGET: Target = Target { name: "client_files", start };

const PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "\r\n",
    " ",
    "\"mcpServers\"",
    "\"servers\"",
    "\"eyelet\"",
    "\"a\"",
    "\"command\"",
    "\"args\"",
    "null",
    "true",
    "1.5",
    "-0",
    "1e999",
    "\"\\u0000\"",
    "// note\n",
    "/* note */",
    "\u{feff}",
    "[mcp_servers.eyelet]",
    "[mcp_servers]",
    "[mcp_servers.a]\n",
    "[[mcp_servers]]",
    "command = \"eyelet\"\n",
    "args = [\"mcp\"]",
    "# note\n",
    "mcp_servers = { a = { } }\n",
    "a.b = 1979-05-27\n",
    "'''",
    "\"\"\"",
    "tool_timeout_sec = 9\n",
    "env = { A = \"1\" }\n",
    "\"env\":{\"A\":\"1\"}",
    "extensions:\n",
    "  eyelet:\n",
];

const FILES: [&str; 8] = [
    "{\n  \"mcpServers\": {}\n}\n",
    "{\"mcpServers\":{\"a\":{\"command\":\"x\"}},\"b\":[1,2]}",
    "{\n  // note\n  \"mcpServers\": {\n    \"eyelet\": {\"command\": \"old\", \"env\": {\"A\": \"1\"}},\n  },\n}\n",
    "{\"servers\":null}",
    "# note\n[mcp_servers.a]\ncommand = \"x\" # y\n\n[other]\nb = 1\n",
    "[mcp_servers.eyelet]\r\ncommand = \"old\"\r\n",
    "mcp_servers = { eyelet = { command = \"old\" } }\n",
    "extensions:\n  a:\n    cmd: x\n",
];

fn start() -> Check {
    let files = ClientFile::all();
    Box::new(move |choices| {
        let file = *choices.pick(&files);
        let text = text(choices);
        if let Err(panic) = std::panic::catch_unwind(|| check(file, &text)) {
            eprintln!("{file:?}: {text:?}");
            std::panic::resume_unwind(panic);
        }
    })
}

/// A file, mostly near a valid one.
fn text(choices: &mut Choices<'_>) -> String {
    let mut text = match choices.u8(0..4) {
        0 => return String::from_utf8_lossy(&choices.rest()).into_owned(),
        1 => String::new(),
        _ => (*choices.pick(&FILES)).to_owned(),
    };
    for _ in 0..choices.usize(0..10) {
        let mut place = choices.usize(0..=text.len());
        while !text.is_char_boundary(place) {
            place -= 1;
        }
        let times = if choices.u8(..) > 250 { choices.usize(1..3000) } else { 1 };
        text.insert_str(place, &choices.pick(&PIECES).repeat(times));
    }
    text
}

fn check(file: ClientFile, text: &str) {
    let before = file.read(text);
    let merged = match file.merge(text) {
        Ok(merged) => merged.unwrap_or_else(|| text.to_owned()),
        Err(reason) => {
            assert!(!reason.is_empty() && !reason.contains('\n'), "{reason:?}");
            return;
        }
    };
    let before = before.expect("a file that is changed is valid");
    let after = file.read(&merged).expect("a changed file is valid");
    assert!(after[file.servers()]["eyelet"].is_object(), "{merged}");
    assert_eq!(without_entry(after, file), without_entry(before.clone(), file));
    assert_eq!(file.merge(&merged), Ok(None), "a second time changes the file");
    match file.remove(&merged) {
        Ok(rest) => {
            let rest = file.read(&rest).expect("a changed file is valid");
            assert!(rest[file.servers()].get("eyelet").is_none());
            assert_eq!(without_entry(rest, file), without_entry(before, file));
        }
        Err(reason) => assert!(!reason.is_empty() && !reason.contains('\n'), "{reason:?}"),
    }
}

/// The file without eyelet's entry, and without an empty object of servers.
fn without_entry(mut file: Value, client: ClientFile) -> Value {
    let Some(top) = file.as_object_mut() else { return file };
    if let Some(servers) = top.get_mut(client.servers()) {
        if let Some(servers) = servers.as_object_mut() {
            servers.shift_remove("eyelet");
        }
        if *servers == json!({}) || servers.is_null() {
            top.shift_remove(client.servers());
        }
    }
    file
}
