//! The roots of `eyelet mcp`: the operator's, the client's, and the default root.

use expect_test::expect;
use serde_json::json;
use testkit::TempTree;
use testkit::cli::command;
use testkit::mcp_client::{Server, text_of};
use testkit::workspace::Workspace;

use crate::session::meta;

fn tree() -> TempTree {
    TempTree::new("notes.txt = one\nsrc/main.rs = fn main() {}")
}

#[test]
fn without_a_project_no_path_is_accessible_until_a_root_is_given() {
    let tree = tree();
    for cwd in [std::path::Path::new("/"), &tree.beside()] {
        let mut server = Server::run(command(&tree).arg("mcp").current_dir(cwd));
        server.initialize("test", &json!({}));
        let text = server.error("read", json!({"path": tree.at("notes.txt")}));
        assert!(
            text.contains(
                "without --root, and the client sent no roots; restart with --root DIR or"
            ),
            "{text}"
        );
        let mut server =
            Server::run(command(&tree).args(["mcp", "--root", tree.str()]).current_dir(cwd));
        server.initialize("test", &json!({}));
        assert_eq!(server.text("read", json!({"path": "notes.txt"})), "[lines 1-1 of 1]\none");
    }
}

/// Answers the server's request for the client's roots.
fn answer_roots(server: &mut Server, uris: &[String]) {
    let request = server.message();
    assert_eq!(request["method"], "roots/list", "{request}");
    let roots: Vec<_> = uris.iter().map(|uri| json!({"uri": uri})).collect();
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"roots": roots}});
    server.line(answer.to_string());
}

#[test]
fn client_roots_neither_cancel_nor_narrow_the_operators_roots() {
    let tree = TempTree::new("a/notes.txt = one\na/src/main.rs\nb/");
    let root = tree.at("a");
    let config = tree.beside().join(".config/eyelet");
    std::fs::create_dir_all(&config).unwrap();
    for source in ["flag", "variable", "config file"] {
        for client_root in ["a/src", "b", "gone"] {
            let mut start = command(&tree);
            start.arg("mcp");
            match source {
                "flag" => drop(start.args(["--root", &root])),
                "variable" => drop(start.env("EYELET_ROOT", &root)),
                _ => std::fs::write(config.join("config.toml"), format!("root = [{root:?}]"))
                    .unwrap(),
            }
            let mut server = Server::run(&mut start);
            server.initialize("test", &json!({"roots": {"listChanged": true}}));
            // The server does not even ask: the next message is the reply.
            let read = || json!({"path": "notes.txt"});
            assert_eq!(server.text("read", read()), "[lines 1-1 of 1]\none", "{source}");
            server.notify("notifications/roots/list_changed", json!({}));
            assert_eq!(server.text("read", read()), "[lines 1-1 of 1]\none", "{source}");
            let uri = format!("file://{}", tree.at(client_root));
            let mut server = Server::run(&mut start);
            let params = json!({
                "_meta": meta("test", json!({"roots": {}})), "name": "read", "arguments": read(),
                "inputResponses": {"roots": {"roots": [{"uri": uri}]}}
            });
            let answer = server.request("tools/call", params);
            assert_eq!(text_of(&answer), "[lines 1-1 of 1]\none", "{source}");
        }
    }
}

#[test]
fn client_roots_replace_the_working_directory() {
    let tree = TempTree::new("a/notes.txt = one\na/src/main.rs = fn main() {}\nb/other.txt = two");
    let mut server = Server::run(command(&tree).arg("mcp").current_dir(tree.at("a")));
    server.initialize("test", &json!({"roots": {"listChanged": true}}));
    answer_roots(&mut server, &[format!("file://{}/%73rc", tree.at("a"))]);
    assert_eq!(server.text("read", json!({"path": "main.rs"})), "[lines 1-1 of 1]\nfn main() {}");
    let outside = server.error("read", json!({"path": tree.at("a/notes.txt")}));
    assert!(outside.contains("is outside the roots"), "{outside}");
    for uris in [vec!["http://localhost/".to_owned()], vec![]] {
        server.notify("notifications/roots/list_changed", json!({}));
        let id = server.send_call("read", json!({"path": "notes.txt"}));
        answer_roots(&mut server, &uris);
        let answer = server.message();
        assert_eq!(answer["id"], id);
        assert_eq!(text_of(&answer), "[lines 1-1 of 1]\none", "no root: the working directory");
    }
    server.notify("notifications/roots/list_changed", json!({}));
    server.send_call("read", json!({"path": tree.at("a/notes.txt")}));
    answer_roots(&mut server, &[format!("file://{}", tree.at("b"))]);
    let answer = server.message();
    assert!(answer.to_string().contains("is outside the roots"), "{answer}");
    assert_eq!(server.text("read", json!({"path": "other.txt"})), "[lines 1-1 of 1]\ntwo");
    let ran = server.text("bash", json!({"command": "pwd; touch new"}));
    assert!(ran.ends_with(&format!("{}\n", tree.at("b"))) && tree.path().join("b/new").exists());
}

#[test]
fn client_roots_apply_if_the_server_starts_outside_of_a_project() {
    let tree = tree();
    let mut server = Server::run(command(&tree).arg("mcp").current_dir("/"));
    server.initialize("test", &json!({"roots": {}}));
    answer_roots(&mut server, &[format!("file://{}", tree.str())]);
    assert_eq!(server.text("read", json!({"path": "notes.txt"})), "[lines 1-1 of 1]\none");
    assert!(server.error("read", json!({"path": "/etc/passwd"})).contains("outside the roots"));
}

#[test]
fn an_error_names_both_sides_if_no_root_is_left() {
    let tree = tree();
    let read = |cwd: &str, uris: &[String]| {
        let mut server = Server::run(command(&tree).arg("mcp").current_dir(cwd));
        server.initialize("test", &json!({"roots": {}}));
        answer_roots(&mut server, uris);
        tree.redact(&server.error("read", json!({"path": tree.at("notes.txt")})))
    };
    let gone = [format!("file://{}", tree.at("gone")), format!("file://{}", tree.at("notes.txt"))];
    expect![[r#"
        path `/repo/notes.txt` is not accessible: the server was started in `/` without --root, and the client sent no roots; restart with --root DIR or --read-anywhere
        path `/repo/notes.txt` is not accessible: the server was started without --root, and the client's roots cannot be opened (`/repo/gone`: No such file or directory (os error 2); `/repo/notes.txt`: Not a directory (os error 20)); restart with --root DIR or --read-anywhere"#]].assert_eq(&[read("/", &[]), read(tree.str(), &gone)].join("\n"));
}

#[test]
fn relative_deny_globs_apply_below_client_roots() {
    let tree = TempTree::new("a/secret = one\nb/secret = two\nb/open = three");
    let mut start = command(&tree);
    start.args(["mcp", "--deny", "secret"]).current_dir(tree.at("a"));
    let mut server = Server::run(&mut start);
    server.initialize("test", &json!({"roots": {}}));
    answer_roots(&mut server, &[format!("file://{}", tree.at("b"))]);
    assert_eq!(server.text("read", json!({"path": "open"})), "[lines 1-1 of 1]\nthree");
    let denied = server.error("read", json!({"path": "secret"}));
    assert!(denied.contains("is denied"), "{denied}");
    let ran = server.text("bash", json!({"command": "cat secret"}));
    assert!(!ran.contains("two"), "{ran}");
}

#[test]
fn relative_deny_globs_do_not_apply_above_client_roots() {
    let tree = TempTree::new("build/app/notes = one\nbuild/app/build = two");
    let mut start = command(&tree);
    start.args(["mcp", "--deny", "build"]).current_dir("/");
    let mut server = Server::run(&mut start);
    server.initialize("test", &json!({"roots": {}}));
    answer_roots(&mut server, &[format!("file://{}", tree.at("build/app"))]);
    assert_eq!(server.text("read", json!({"path": "notes"})), "[lines 1-1 of 1]\none");
    let denied = server.error("read", json!({"path": "build"}));
    assert!(denied.contains("is denied"), "{denied}");
}

#[test]
fn the_newest_protocol_requests_roots_in_the_result() {
    let tree = tree();
    let mut server = Server::start(&tree, &[]);
    let mut params = json!({
        "_meta": meta("claude-code", json!({"roots": {}})), "name": "read",
        "arguments": {"path": tree.at("notes.txt")}
    });
    let answer = server.request("tools/call", params.clone());
    assert_eq!(answer["result"]["resultType"], "input_required");
    assert_eq!(answer["result"]["inputRequests"]["roots"]["method"], "roots/list");
    let server_info = &answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server_info["name"], "eyelet", "{answer}");
    params["inputResponses"] =
        json!({"roots": {"roots": [{"uri": format!("file://{}/src", tree.str())}]}});
    let answer = server.request("tools/call", params);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer.to_string().contains("outside the roots"));
}

#[test]
fn a_client_that_does_not_list_its_roots_is_served() {
    let tree = tree();
    let mut server = Server::start(&tree, &[]);
    server.initialize("test", &json!({"roots": {}}));
    assert_eq!(server.message()["method"], "roots/list");
    assert_eq!(server.text("read", json!({"path": "notes.txt"})), "[lines 1-1 of 1]\none");
}

#[test]
fn client_roots_do_not_remove_writable_directories() {
    let workspace = Workspace::new("a/\nb/");
    let (tree, extra) = (&workspace.tree, workspace.outside());
    let mut start = command(tree);
    start.arg("mcp").arg("--writable").arg(extra).current_dir(tree.at("a"));
    let mut server = Server::run(&mut start);
    server.initialize("test", &json!({"roots": {"listChanged": true}}));
    answer_roots(&mut server, &[format!("file://{}", tree.at("b"))]);
    let write = format!("echo x > {}/new; pwd", extra.display());
    let text = server.text("bash", json!({ "command": write }));
    assert!(text.contains(&tree.at("b")), "{text}");
    assert_eq!(std::fs::read_to_string(extra.join("new")).unwrap(), "x\n", "{text}");
    let text = server.error("read", json!({"path": extra.join("new")}));
    assert!(text.contains("outside the roots"), "{text}");
}
