//! The documented configuration of nginx, with the nginx of this machine.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testkit::mcp_client::LONG;
use testkit::workspace::within;
use testkit::{TempTree, lacks, skip};

use crate::http_client::Server;

const HOST: &str = "agents.example";

/// The nginx of this machine; users without `sbin` in their PATH have it too.
fn find_nginx() -> Option<&'static str> {
    let runs = |program: &&str| {
        let output = Command::new(program).arg("-v").output();
        output.is_ok_and(|output| output.status.success())
    };
    let found = ["nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"].into_iter().find(runs);
    if found.is_none() {
        skip("nginx does not run");
    }
    found
}

/// A running nginx that listens on a socket in its directory.
struct Nginx {
    child: Child,
    folder: PathBuf,
}

impl Nginx {
    /// Starts nginx with the documented configuration, in front of `server`. `changes` replaces parts of it.
    fn start(program: &str, tree: &TempTree, server: &Server, changes: &[(&str, &str)]) -> Nginx {
        let folder = tree.beside().join("nginx");
        fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let (key, certificate) = (at("agents.example.key"), at("agents.example.pem"));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"])
            .args([&format!("/CN={HOST}"), "-addext", &format!("subjectAltName=DNS:{HOST}")])
            .args(["-keyout", &key, "-out", &certificate])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let mut configuration = include_str!("../../../../docs/nginx.conf").to_owned();
        let own = [
            ("listen 443 ssl", format!("listen unix:{} ssl", at("socket"))),
            ("http://127.0.0.1:8700;", format!("http://{};", server.address)),
            ("/etc/ssl/agents.example.pem", certificate),
            ("/etc/ssl/agents.example.key", key),
        ];
        let own = own.iter().map(|(old, new)| (*old, new.as_str()));
        for (old, new) in own.chain(changes.iter().copied()) {
            assert!(configuration.contains(old), "{old}");
            configuration = configuration.replace(old, new);
        }
        fs::write(at("eyelet.conf"), configuration).unwrap();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {};\n", at(kind)))
            .concat();
        let whole = format!(
            "daemon off; master_process off; pid {}; error_log {};\nevents {{}}\n\
             http {{\naccess_log off;\n{temporary}include {};\n}}\n",
            at("pid"),
            at("errors"),
            at("eyelet.conf")
        );
        fs::write(at("nginx.conf"), whole).unwrap();
        let mut command = Command::new(program);
        command.args(["-p", folder.to_str().unwrap(), "-c", &at("nginx.conf")]);
        let child = command.args(["-e", &at("errors")]).stderr(Stdio::null()).spawn().unwrap();
        let nginx = Nginx { child, folder };
        let is_ready = || nginx.curl(server, "healthz", &[]).output().unwrap().status.success();
        assert!(within(LONG, is_ready), "{:?}", fs::read_to_string(nginx.folder.join("errors")));
        nginx
    }

    /// A request over TLS, with these headers.
    fn curl(&self, server: &Server, path: &str, headers: &[&str]) -> Command {
        let at = |name: &str| self.folder.join(name);
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--include", "--no-buffer", "--max-time", "60", "--unix-socket"]);
        curl.arg(at("socket")).arg("--cacert").arg(at("agents.example.pem"));
        for header in headers.iter().copied().chain([server.bearer().as_str()]) {
            curl.args(["--header", header]);
        }
        curl.arg(format!("https://{HOST}/{path}"));
        curl
    }

    fn post(&self, server: &Server, headers: &[&str], body: &Value) -> Command {
        let own = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
        let headers: Vec<_> = own.iter().chain(headers).copied().collect();
        let mut curl = self.curl(server, "mcp", &headers);
        curl.args(["--data-binary", &body.to_string()]);
        curl
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(command: &mut Command) -> String {
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

fn call(tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

fn start(tree: &TempTree) -> Server {
    Server::start_with(tree, &["--sandbox", "full", "--http-host", HOST])
}

#[test]
fn sessions_work_through_nginx_with_the_documented_configuration() {
    let Some(program) = find_nginx() else { return };
    if lacks("curl") || lacks("openssl") {
        return;
    }
    let tree = TempTree::new("notes.txt = one");
    let server = start(&tree);
    let nginx = Nginx::start(program, &tree, &server, &[]);
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let answer = text(&mut nginx.post(&server, &[], &initialize));
    assert!(answer.contains("200 OK") && answer.contains("\"serverInfo\""), "{answer}");
    let session = answer.lines().find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
    let session = session.unwrap().trim();
    let answer =
        text(&mut nginx.post(&server, &[session], &call("read", &json!({"path": "notes.txt"}))));
    assert!(answer.contains(r"[lines 1-1 of 1]\none"), "{answer}");
    // Each event arrives at once: the first one before the command ends.
    let command = "until [ -e ready ]; do sleep 0.01; done; echo an answer";
    let mut waiting = nginx.post(&server, &[session], &call("bash", &json!({"command": command})));
    let mut waiting = waiting.stdout(Stdio::piped()).spawn().unwrap();
    let mut stream = BufReader::new(waiting.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("id: ") {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0);
    }
    tree.file("ready", "");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("an answer"), "{rest}");
    assert!(waiting.wait().unwrap().success());
    let answer = text(nginx.curl(&server, "mcp", &[session]).args(["--request", "DELETE"]));
    assert!(answer.contains("204 No Content"), "{answer}");
}

#[test]
fn an_answer_is_not_lost_if_nginx_cuts_its_stream() {
    let Some(program) = find_nginx() else { return };
    if lacks("curl") || lacks("openssl") {
        return;
    }
    let tree = TempTree::new("");
    let server = start(&tree);
    let hasty = [("proxy_read_timeout 660s", "proxy_read_timeout 1s")];
    let nginx = Nginx::start(program, &tree, &server, &hasty);
    let session = server.new_session();
    let command = "until [ -e ready ]; do sleep 0.01; done; echo an answer; : > ended";
    let mut lost = nginx.post(&server, &[&session], &call("bash", &json!({"command": command})));
    let lost = text(&mut lost);
    assert!(!lost.contains("an answer"), "{lost}");
    let event = lost.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    tree.file("ready", "");
    assert!(within(LONG, || tree.path().join("ended").exists()));
    let last = format!("Last-Event-ID: {event}");
    let headers = ["Accept: text/event-stream", session.as_str(), last.as_str()];
    let answer = text(&mut nginx.curl(&server, "mcp", &headers));
    assert!(answer.contains("an answer"), "{answer}");
}
