//! `eyelet mcp` as a client sees it: both handshakes, tools, replies.

use expect_test::expect;
use serde_json::{Value, json};
use testkit::TempTree;
use testkit::cli::{command, eyelet};
use testkit::mcp_client::{Server, text_of};

fn tree() -> TempTree {
    TempTree::new(
        "notes.txt = one
        src/main.rs = fn main() {}
        src/lib.rs",
    )
}

/// The metadata that the newest protocol version requires in every request.
pub(crate) fn meta(client: &str, capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities
    })
}

#[test]
fn older_protocol_versions_start_with_initialize() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let tree = tree();
        let mut server = Server::start(&tree, &[]);
        let params = json!({
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}
        });
        let answer = server.request("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "eyelet");
        assert_eq!(answer["result"]["capabilities"], json!({"tools": {}}));
    }
}

#[test]
fn the_newest_protocol_version_starts_with_discover() {
    let tree = tree();
    let mut server = Server::start(&tree, &[]);
    let answer = server.request("server/discover", json!({"_meta": meta("test", json!({}))}));
    let versions = answer["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2024-11-05")));
    let params = json!({
        "_meta": meta("test", json!({})), "name": "read", "arguments": {"path": "notes.txt"}
    });
    assert_eq!(text_of(&server.request("tools/call", params)), "[lines 1-1 of 1]\none");
}

/// The instructions of a server with these flags.
fn instructions(tree: &TempTree, flags: &[&str], capabilities: &Value) -> String {
    let mut server = Server::run(command(tree).arg("mcp").args(flags));
    let answer = server.initialize("test", capabilities);
    tree.redact(answer["result"]["instructions"].as_str().unwrap())
}

#[test]
fn the_instructions_say_what_commands_may_do() {
    let tree = tree();
    let text = instructions(&tree, &["--root", "."], &json!({}));
    expect![[r#"
        Tools to list, search and read files and to run commands. Every reply has a size limit. Truncated replies say so and give the offset, column or file to continue from.
        Commands run in a sandbox without network access, not even to the machine's localhost, and can write only to the project and $TMPDIR. cd and export do not persist between calls.
        Working directory: /repo"#]].assert_eq(&text);
    for (flags, expected) in [
        (vec!["--sandbox", "full"], "Commands run without a sandbox. cd and export do not persist"),
        (vec!["--network"], "in a sandbox with network access and can write only to the project"),
        (
            vec!["--sandbox", "read-only"],
            "without network access, not even to the machine's localhost, and can write only to $TMPDIR.",
        ),
        (
            vec!["--allow-host", "registries"],
            "with network access only to registries, by HTTP proxy, and can write only to",
        ),
        (
            vec!["--allow-host", "localhost:5432"],
            "with network access only to localhost:5432 and can write only to",
        ),
    ] {
        let text = instructions(&tree, &flags, &json!({}));
        assert!(text.contains(expected), "{text}");
        let mut server = Server::run(command(&tree).arg("mcp").args(&flags));
        server.initialize("test", &json!({}));
        let answer = server.request("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        let bash = tools.iter().find(|tool| tool["name"] == "bash").unwrap();
        assert!(bash["description"].as_str().unwrap().contains(expected), "{bash}");
    }
    for flags in [["--sandbox", "off"], ["--tools", "read"]] {
        let text = instructions(&tree, &flags, &json!({}));
        assert!(!text.contains("Commands"), "{text}");
    }
}

#[test]
fn the_instructions_name_the_working_directory_only_with_root() {
    let tree = TempTree::new("sub/notes.txt = one");
    let named = |flags: &[&str]| {
        let text = instructions(&tree, flags, &json!({"roots": {}}));
        text.lines().find_map(|line| line.strip_prefix("Working directory: ").map(str::to_owned))
    };
    assert_eq!(named(&["--root", "."]).as_deref(), Some("/repo"));
    // Commands run in the first root if the server was started elsewhere.
    assert_eq!(named(&["--root", "sub"]).as_deref(), Some("/repo/sub"));
    assert_eq!(named(&["--root", ".", "--cwd", "sub"]).as_deref(), Some("/repo/sub"));
    assert_eq!(named(&[]), None);
    assert_eq!(named(&["--cwd", "sub"]), None);
}

#[test]
fn tools_list_matches_eyelet_tools() {
    let tree = tree();
    let mut printed = Value::Null;
    for flags in [
        vec![],
        vec!["--sandbox", "full"],
        vec!["--sandbox", "off"],
        vec!["--network"],
        vec!["--tools", "read,bash", "--sandbox", "read-only"],
        vec!["--root", "."],
    ] {
        let mut server = Server::run(command(&tree).arg("mcp").args(&flags));
        server.initialize("test", &json!({}));
        let answer = server.request("tools/list", json!({}));
        let output =
            command(&tree).args(["tools", "--format", "mcp"]).args(&flags).output().unwrap();
        printed = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["result"]["tools"], printed, "{flags:?}");
        assert!(!printed.to_string().contains(tree.str()), "{flags:?}");
    }
    assert_eq!(
        printed[4]["annotations"],
        json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true})
    );
    assert_eq!(printed[2]["annotations"]["readOnlyHint"], true);
    assert_eq!(printed[2]["annotations"]["openWorldHint"], false);
}

fn offered(flags: &[&str]) -> Vec<String> {
    let tree = tree();
    let mut server = Server::run(command(&tree).arg("mcp").args(flags));
    server.initialize("test", &json!({}));
    let answer = server.request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tools_flag_limits_the_offered_tools() {
    assert_eq!(offered(&[]), ["list_dir", "find_files", "grep_files", "read", "bash", "jobs"]);
    assert_eq!(offered(&["--tools", "read,list_dir"]), ["list_dir", "read"]);
    // `jobs` is offered with `bash`.
    assert_eq!(offered(&["--tools", "bash"]), ["bash", "jobs"]);
    assert_eq!(offered(&["--sandbox", "off"]), ["list_dir", "find_files", "grep_files", "read"]);
    expect![[r#"
        exit 2
        --- stderr
        eyelet: --tools: unknown tool `reed`; known tools: list_dir, find_files, grep_files, read, bash, jobs
    "#]]
    .assert_eq(&eyelet(&tree(), ["mcp", "--tools", "reed"]));
    let tree = tree();
    let mut server = Server::initialized(&tree, &["--tools", "read"], "test");
    let answer = server.call("list_dir", json!({"dir_path": "/"}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn a_reply_is_one_block_of_text() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let listed = server.text("list_dir", json!({"dir_path": tree.str()}));
    assert_eq!(tree.redact(&listed), "Absolute path: /repo\nnotes.txt\nsrc/\n  lib.rs\n  main.rs");
    let found = server.text("grep_files", json!({"pattern": "fn main"}));
    assert_eq!(tree.redact(&found), "/repo/src/main.rs");
    assert_eq!(server.text("read", json!({"path": "notes.txt"})), "[lines 1-1 of 1]\none");
    let ran = server.text("bash", json!({"command": "echo out; echo err >&2; exit 3"}));
    assert_eq!(ran, "[exit 3; stdout 1 line; stderr 1 line]\nout\n[stderr]\nerr\n");
}

#[test]
fn a_search_that_finds_nothing_is_an_ordinary_reply() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let text = server.text("grep_files", json!({"pattern": "nowhere at all"}));
    assert!(text.starts_with("No matches found.\n[searched "), "{text}");
}

#[test]
fn a_tool_error_is_one_short_sentence() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let text = server.error("read", json!({"path": "missing"}));
    assert_eq!(text, "path `missing` cannot be read: No such file or directory (os error 2)");
    let long = server.error("read", json!({"path": "é".repeat(100_000)}));
    assert!(long.len() < 4096 && long.starts_with("path `éé"), "{} bytes", long.len());
}

#[test]
fn an_image_reply_has_a_text_line_and_an_image_block() {
    let tree = tree();
    let png = testkit::png(3, 2);
    tree.file("a.png", &png);
    let mut server = Server::initialized(&tree, &[], "test");
    let answer = server.call("read", json!({"path": "a.png"}));
    assert_eq!(
        answer["result"]["content"],
        json!([
            {"type": "text", "text": "[image a.png; 3x2]"},
            {"type": "image", "data": testkit::base64(&png), "mimeType": "image/png"}
        ])
    );
}

#[test]
fn reply_flag_selects_text_or_structured_envelope() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &["--reply", "envelope"], "test");
    let envelope: Value =
        serde_json::from_str(&server.text("read", json!({"path": "notes.txt"}))).unwrap();
    assert_eq!(envelope["data"]["content"], "one");
    let error: Value = serde_json::from_str(&server.error("read", json!({"path": "x"}))).unwrap();
    assert_eq!(error["error"]["code"], "not_found");
    let mut server = Server::initialized(&tree, &["--reply", "structured"], "test");
    let answer = server.call("read", json!({"path": "notes.txt"}));
    assert_eq!(answer["result"]["structuredContent"]["data"]["content"], "one");
    let tools = server.request("tools/list", json!({}));
    let schema = &tools["result"]["tools"][0]["outputSchema"];
    assert_eq!(schema["required"], json!(["ok"]));
}

#[test]
fn the_reply_budget_depends_on_the_client() {
    let tree = tree();
    for (client, model, budget) in [
        ("claude-code", None, 49_000),
        ("opencode", None, 50_000),
        ("gemini-cli-mcp-client", None, 39_000),
        ("codex-mcp-client", Some("gpt-5"), 34_000),
        ("codex-mcp-client", Some("codex-mini"), 34_000),
        ("codex-mcp-client", Some("llama"), 11_500),
        ("codex-mcp-client", None, 11_500),
        ("copilot-cli", None, 20_000),
        ("someone else", None, 20_000),
    ] {
        let mut server = Server::initialized(&tree, &[], client);
        let mut params = json!({
            "name": "bash", "arguments": {"command": "yes 0123456789012345678901234567890 | head -9999"}
        });
        // As an object, or as JSON in a string.
        let metadata = model.map(|model| json!({"model": model}));
        let text = metadata.as_ref().map(|metadata| json!(metadata.to_string()));
        for metadata in [metadata, text] {
            if let Some(metadata) = metadata {
                params["_meta"] = json!({"x-codex-turn-metadata": metadata});
            }
            let bytes = text_of(&server.request("tools/call", params.clone())).len();
            assert!(bytes <= budget && bytes > budget - 1000, "{client} {params}: {bytes}");
        }
    }
}

#[test]
fn the_header_names_the_flag_that_allows_what_was_blocked() {
    let tree = tree();
    let arguments = json!({"command": "touch /var/tmp/eyelet-test-never-made"});
    for (flags, is_envelope) in [(&[][..], false), (&["--reply", "envelope"], true)] {
        let mut server = Server::run(command(&tree).arg("mcp").args(flags));
        server.initialize("test", &json!({}));
        let text = text_of(&server.call("bash", arguments.clone()));
        assert!(text.contains("allow with --writable"), "{text}");
        assert!(text.contains("sandbox probably blocked: write "), "{text}");
        assert_eq!(text.contains("\"sandbox_hint\""), is_envelope, "{text}");
    }
}

#[test]
#[ignore = "extended: takes almost four minutes"]
fn commands_end_before_claude_desktop_drops_their_reply() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "claude-ai");
    let job = json!({"command": "exec sleep 1000", "background": true});
    assert!(server.text("bash", job).starts_with("[job 1 running, "));
    let command = json!({"command": "echo started; sleep 500", "timeout_secs": 600});
    server.send_call("bash", command);
    server.send_call("jobs", json!({"job": 1, "wait_secs": 600}));
    let mut reply = || text_of(&server.message_within(std::time::Duration::from_secs(300)));
    let mut replies = [reply(), reply()];
    replies.sort();
    let [job, text] = replies;
    assert!(job.starts_with("[job 1 running, 2"), "{job}");
    assert!(text.contains("timed out after 230 s") && text.contains("started"), "{text}");
}

#[test]
fn the_newest_protocol_names_the_client_with_each_request() {
    let tree = tree();
    let mut server = Server::start(&tree, &[]);
    let long_output = json!({"command": "yes 0123456789012345678901234567890 | head -9999"});
    for (client, budget) in [("claude-code", 49_000), ("copilot-cli", 20_000)] {
        let params = json!({
            "_meta": meta(client, json!({})), "name": "bash", "arguments": long_output
        });
        let bytes = text_of(&server.request("tools/call", params)).len();
        assert!(bytes <= budget && bytes > budget - 1000, "{client}: {bytes}");
    }
    let mut server = Server::start(&tree, &["--reply-bytes", "200000"]);
    let params = json!({"_meta": meta("claude-code", json!({}))});
    let tools = server.request("tools/list", params);
    let limit = &tools["result"]["tools"][0]["_meta"]["anthropic/maxResultSizeChars"];
    assert_eq!(*limit, 200_000, "{tools}");
}

#[test]
fn reply_bytes_sets_the_budget_and_informs_claude_code() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &["--reply-bytes", "200000"], "claude-code");
    let tools = server.request("tools/list", json!({}));
    for tool in tools["result"]["tools"].as_array().unwrap() {
        assert_eq!(tool["_meta"]["anthropic/maxResultSizeChars"], 200_000);
    }
    let long_output = json!({"command": "yes 01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789 | head -9999"});
    let bytes = server.text("bash", long_output).len();
    assert!(bytes > 190_000 && bytes <= 200_000, "{bytes}");
    // The definitions may be cached for all clients.
    let mut server = Server::initialized(&tree, &["--reply-bytes", "200000"], "opencode");
    assert_eq!(
        server.request("tools/list", json!({}))["result"]["tools"],
        tools["result"]["tools"]
    );
    let refused = eyelet(&tree, ["mcp", "--reply-bytes", "4095"]);
    assert!(refused.contains("expected a whole number of at least 4096"), "{refused}");
}

#[test]
fn commands_are_sandboxed_by_default() {
    let tree = tree();
    let beside = tree.beside().join("pwned");
    let script = format!("touch pwned; touch '{}'", beside.display());
    for (policy, writes_inside) in [(None, true), (Some("read-only"), false)] {
        let _ = std::fs::remove_file(tree.path().join("pwned"));
        let flags = policy.into_iter().flat_map(|policy| ["--sandbox", policy]);
        let mut server = Server::run(command(&tree).arg("mcp").args(flags));
        server.initialize("test", &json!({}));
        let text = server.text("bash", json!({"command": script}));
        assert!(text.starts_with("[exit 1; "), "{text}");
        assert_eq!(tree.path().join("pwned").exists(), writes_inside, "{text}");
        assert!(!beside.exists(), "{text}");
    }
}

#[test]
fn the_list_of_tools_can_be_cached_and_results_name_the_server() {
    let tree = tree();
    let mut server = Server::initialized(&tree, &[], "test");
    let named = json!({
        "name": "eyelet", "title": "eyelet", "version": env!("CARGO_PKG_VERSION")
    });
    let tools = server.request("tools/list", json!({}));
    assert_eq!(tools["result"]["ttlMs"], 3_600_000);
    assert_eq!(tools["result"]["cacheScope"], "public");
    let params = json!({"name": "read", "arguments": {"path": "notes.txt"}});
    let called = server.request("tools/call", params);
    let mut server = Server::start(&tree, &[]);
    let discovered = server.request("server/discover", json!({"_meta": meta("test", json!({}))}));
    for answer in [tools, called, discovered] {
        let meta = &answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(*meta, named, "{answer}");
    }
}
