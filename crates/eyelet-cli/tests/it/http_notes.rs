//! `eyelet mcp --http`: what it prints on stderr.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use expect_test::expect;
use serde_json::Value;
use testkit::TempTree;
use testkit::cli::command;

/// The lines up to the last one, and the port.
fn notes(tree: &TempTree, arguments: &[&str]) -> (Vec<String>, String) {
    let mut server = command(tree)
        .args(["mcp", "--http", "127.0.0.1:0"])
        .args(arguments)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(server.stderr.take().unwrap()).lines() {
        lines.push(line.unwrap());
        if lines.last().unwrap().contains("/metrics") {
            break;
        }
    }
    server.kill().unwrap();
    server.wait().unwrap();
    let address = lines.first().unwrap().strip_suffix("/mcp").unwrap();
    let port = address.rsplit(':').next().unwrap().to_owned();
    (lines, port)
}

#[test]
fn http_server_prints_a_client_entry_with_its_token() {
    let tree = TempTree::new("");
    let (lines, port) = notes(&tree, &[]);
    let token = lines[1].strip_prefix("Authorization: Bearer ").unwrap();
    let entry: Value = serde_json::from_str(&lines[3]).unwrap();
    assert_eq!(entry["mcpServers"]["eyelet"]["url"], format!("http://127.0.0.1:{port}/mcp"));
    expect![[r#"
        eyelet serves MCP at http://127.0.0.1:<PORT>/mcp
        Authorization: Bearer <TOKEN>
        Add this entry to the config file of a client that connects over HTTP:
        {"mcpServers":{"eyelet":{"type":"http","url":"http://127.0.0.1:<PORT>/mcp","headers":{"Authorization":"Bearer <TOKEN>"}}}}
        Health check, without the token: http://127.0.0.1:<PORT>/healthz
        Metrics, with the token: http://127.0.0.1:<PORT>/metrics
    "#]]
    .assert_eq(&format!("{}\n", lines.join("\n").replace(token, "<TOKEN>").replace(&port, "<PORT>")));
}

#[test]
fn http_server_does_not_print_the_token_of_a_file() {
    let tree = TempTree::new("");
    let secret = "0123456789abcdef".repeat(4);
    let file = tree.file("token", &secret);
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let (lines, port) = notes(&tree, &["--http-token-file", "token"]);
    assert!(!lines.join("\n").contains(&secret));
    expect![[r#"
        eyelet serves MCP at http://127.0.0.1:<PORT>/mcp
        Add this entry to the config file of a client that connects over HTTP, and replace TOKEN with the token in `token`:
        {"mcpServers":{"eyelet":{"type":"http","url":"http://127.0.0.1:<PORT>/mcp","headers":{"Authorization":"Bearer TOKEN"}}}}
        Health check, without the token: http://127.0.0.1:<PORT>/healthz
        Metrics, with the token: http://127.0.0.1:<PORT>/metrics
    "#]]
    .assert_eq(&format!("{}\n", lines.join("\n").replace(&port, "<PORT>")));
}
