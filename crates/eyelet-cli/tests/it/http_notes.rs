//! `eyelet mcp --http`: what it prints on stderr.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use expect_test::expect;
use serde_json::Value;
use testkit::TempTree;
use testkit::cli::command;

/// The lines of stderr up to the last one of the start, and the port.
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
    let address = lines.first().unwrap().split_once("/mcp").unwrap().0;
    let port = address.rsplit(':').next().unwrap().to_owned();
    (lines, port)
}

#[test]
fn without_a_terminal_the_token_is_in_a_private_file() {
    let tree = TempTree::new("");
    let (lines, port) = notes(&tree, &[]);
    let file = tree.beside().join(".local/state/eyelet/http-tokens").join(&port);
    let token = fs::read_to_string(&file).unwrap();
    assert_eq!((token.len(), token.trim().len()), (65, 64), "{token}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let folder = fs::metadata(file.parent().unwrap()).unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    let shown = lines.join("\n");
    assert!(!shown.contains(token.trim()));
    let shown = shown.replace(file.to_str().unwrap(), "<FILE>").replace(&port, "<PORT>");
    expect![[r#"
        eyelet serves MCP at http://127.0.0.1:<PORT>/mcp
        Add this entry to the config file of a client that connects over HTTP, and replace TOKEN with the token in `<FILE>`:
        {"mcpServers":{"eyelet":{"type":"http","url":"http://127.0.0.1:<PORT>/mcp","headers":{"Authorization":"Bearer TOKEN"}}}}
        Health check, without the token: http://127.0.0.1:<PORT>/healthz
        Metrics, with the token: http://127.0.0.1:<PORT>/metrics
    "#]]
    .assert_eq(&format!("{shown}\n"));
}

#[test]
fn a_state_folder_that_cannot_be_written_is_an_error() {
    let tree = TempTree::new("file");
    let mut command = command(&tree);
    command.env("XDG_STATE_HOME", tree.at("file")).args(["mcp", "--http", "127.0.0.1:0"]);
    let output = command.output().unwrap();
    let shown = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), shown.lines().count()), (Some(2), 1), "{shown}");
    assert!(shown.contains("cannot write the token to a file"), "{shown}");
    assert!(shown.contains("use --http-token-file FILE"), "{shown}");
}

#[test]
fn json_logs_have_no_other_lines() {
    let tree = TempTree::new("");
    let (lines, port) = notes(&tree, &["--log", "json"]);
    let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["message"], format!("eyelet serves MCP at http://127.0.0.1:{port}/mcp"));
    let entry: Value = serde_json::from_str(lines[2]["json"].as_str().unwrap()).unwrap();
    assert_eq!(entry["mcpServers"]["eyelet"]["type"], "http");
    let mut command = command(&tree);
    command.args(["mcp", "--http", "0.0.0.0:0", "--allow-remote", "--log", "json"]);
    let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
    let stderr = BufReader::new(server.stderr.take().unwrap());
    let lines = stderr.lines().take(2).map(|line| serde_json::from_str::<Value>(&line.unwrap()));
    let lines: Vec<Value> = lines.map(Result::unwrap).collect();
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(lines[1]["level"], "WARN");
    let warning = lines[1]["message"].as_str().unwrap();
    assert!(warning.starts_with("the bearer token is sent without encryption"), "{warning}");
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
