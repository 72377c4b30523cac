//! The hosts that commands may connect to, with real programs and local servers.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use eyelet::{AllowedHosts, SandboxSettings, TurnContext};
use eyelet_sandbox::{Supervisor, Tier};
use testkit::workspace::{FIRST, SECOND, Workspace};

use crate::session_network::{run, stdout};
use crate::supervision::session;

/// A web server for the files of a directory. Answers each connection once.
fn web_server(directory: PathBuf) -> u16 {
    serve(move |mut client| {
        let mut head = BufReader::new(client.try_clone().unwrap()).lines().map_while(Result::ok);
        let line = head.next().unwrap_or_default();
        let path = line.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
        let path = path.split('?').next().unwrap_or_default();
        let host = head.take_while(|line| !line.is_empty()).find(|line| line.starts_with("Host:"));
        let mut file = directory.join(path);
        if file.is_dir() {
            file.push("index.html");
        }
        let (status, body) = match (path, fs::read(file)) {
            ("host", _) => ("200 OK", format!("{}\n", host.unwrap_or_default()).into_bytes()),
            (_, Ok(body)) => ("200 OK", body),
            (_, Err(_)) => ("404 Not Found", Vec::new()),
        };
        let kind = if path.ends_with('/') { "text/html" } else { "application/octet-stream" };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let _ = client.write_all(head.as_bytes());
        let _ = client.write_all(&body);
    })
}

/// A server that sends back what it gets.
fn echo_server() -> u16 {
    serve(|mut client| {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            let _ = client.write_all(&buffer[..count]);
        }
    })
}

fn serve(each: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let each = each.clone();
            std::thread::spawn(move || each(client));
        }
    });
    port
}

/// A session in which all names lead to 127.0.0.1.
fn allowing(workspace: &Workspace, hosts: &[String]) -> TurnContext {
    let hosts = AllowedHosts::new(hosts.iter().cloned()).unwrap();
    let hosts = hosts.with_resolver(|_, port| Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]));
    let settings = SandboxSettings::new(Supervisor::at(testkit::eyelet_bin()));
    session(workspace, Tier::Namespaces)
        .with_sandbox_settings(Arc::new(settings.with_allowed_hosts(hosts)))
}

#[test]
fn programs_reach_an_allowed_host_through_the_proxy() {
    if testkit::lacks("curl") || testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    let port = web_server(workspace.outside().to_owned());
    let turn = allowing(&workspace, &["*.good.test".to_owned(), format!("127.0.0.1:{port}")]);
    let url = format!("http://a.good.test:{port}/host");
    let expected = format!("Host: a.good.test:{port}\n");
    for command in [
        format!("curl -sSf {url}"),
        format!("curl -sSf --proxytunnel {url}"),
        format!("env -u http_proxy curl -sSf {url}"),
        format!(
            "python3 -c \"import urllib.request as u; print(u.urlopen('{url}').read().decode(), end='')\""
        ),
        // A body, and a second request on the same connection.
        format!("curl -sSf -d body {url}"),
        format!("head -c 300000 /dev/zero | curl -sSf -T - {url}"),
    ] {
        assert_eq!(stdout(&turn, &command), expected, "{command}");
    }
    assert_eq!(stdout(&turn, &format!("curl -sSf {url} {url}")), expected.repeat(2));
}

#[test]
fn git_clones_from_an_allowed_host() {
    if testkit::lacks("git") {
        return;
    }
    let workspace = Workspace::new("");
    let outside = workspace.outside().display().to_string();
    let prepare = format!(
        "cd {outside} && git init -q one && cd one && git -c user.name=x -c user.email=x commit -q --allow-empty -m first && \
         git clone -q --bare . ../one.git && cd ../one.git && git update-server-info"
    );
    assert!(std::process::Command::new("bash").args(["-c", &prepare]).status().unwrap().success());
    let port = web_server(workspace.outside().to_owned());
    let turn = allowing(&workspace, &["good.test".to_owned(), format!("127.0.0.1:{port}")]);
    let clone = |host: &str| {
        format!("git clone -q http://{host}:{port}/one.git {host} && git -C {host} log --format=%s")
    };
    assert_eq!(stdout(&turn, &clone("good.test")), "first\n");
    let report = run(&turn, &clone("evil.test"));
    assert_ne!(report.exit_code, 0);
    let blocked: Vec<_> = report.sandbox_blocked.iter().map(ToString::to_string).collect();
    assert_eq!(blocked, [format!("sandbox blocked: network connect to evil.test:{port}")]);
}

#[test]
fn programs_that_do_not_use_the_proxy_are_reported_as_such() {
    if testkit::lacks("curl") {
        return;
    }
    let workspace = Workspace::new("");
    let turn = allowing(&workspace, &["good.test".to_owned()]);
    let report = run(&turn, "curl -sS --noproxy '*' http://good.test/");
    let blocked: Vec<_> = report.sandbox_blocked.iter().map(ToString::to_string).collect();
    let [entry] = blocked.as_slice() else { panic!("{report:?}") };
    let expected = "sandbox blocked: network connect without the proxy in HTTPS_PROXY";
    assert!(entry.starts_with(expected), "{entry}");
    let hint = report.sandbox_hint.map(|hint| hint.to_string());
    assert_eq!(hint.as_deref(), Some("allow commands to use the network"));
}

#[test]
fn a_server_that_requires_credentials_is_told_from_a_refused_host() {
    if testkit::lacks("git") || testkit::lacks("curl") {
        return;
    }
    let workspace = Workspace::new("");
    let port = serve(|mut client| {
        let head = BufReader::new(client.try_clone().unwrap()).lines().map_while(Result::ok);
        head.take_while(|line| !line.is_empty()).for_each(drop);
        let _ = client.write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
    });
    let turn = allowing(&workspace, &["good.test".to_owned(), format!("127.0.0.1:{port}")]);
    for (command, expected) in [
        (
            format!("curl -sSf http://good.test:{port}/"),
            "sandbox probably blocked: credentials (HTTP 401)".to_owned(),
        ),
        // The proxy answers with 403.
        (
            format!("git clone -q http://evil.test:{port}/x"),
            format!("sandbox blocked: network connect to evil.test:{port}"),
        ),
    ] {
        let report = run(&turn, &command);
        let blocked: Vec<_> = report.sandbox_blocked.iter().map(ToString::to_string).collect();
        assert_eq!(blocked, [expected], "{command}");
    }
}

#[test]
fn npm_and_pip_reach_an_allowed_registry() {
    if testkit::lacks("npm") || testkit::lacks("pip") {
        return;
    }
    let workspace = Workspace::new("");
    let outside = workspace.outside();
    fs::create_dir_all(outside.join("-")).unwrap();
    fs::write(outside.join("-/ping"), "{}").unwrap();
    fs::create_dir_all(outside.join("simple/demo")).unwrap();
    let wheel = "demo-1.0-py3-none-any.whl";
    fs::write(outside.join("simple/demo/index.html"), format!("<a href='/{wheel}'>{wheel}</a>"))
        .unwrap();
    let make = format!(
        "import zipfile; z = zipfile.ZipFile('{}', 'w'); d = 'demo-1.0.dist-info/'\n\
         z.writestr(d + 'METADATA', 'Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n')\n\
         z.writestr(d + 'WHEEL', 'Wheel-Version: 1.0\\n'); z.writestr(d + 'RECORD', ''); z.close()",
        outside.join(wheel).display()
    );
    assert!(std::process::Command::new("python3").args(["-c", &make]).status().unwrap().success());
    let port = web_server(outside.to_owned());
    let turn = allowing(&workspace, &["good.test".to_owned(), format!("127.0.0.1:{port}")]);
    let url = format!("http://good.test:{port}/");
    stdout(&turn, &format!("HOME=$TMPDIR npm ping --registry {url}"));
    let pip = format!(
        "HOME=$TMPDIR pip download -q --no-deps --no-cache-dir --disable-pip-version-check --trusted-host good.test -i \
         {url}simple/ demo && ls *.whl"
    );
    assert_eq!(stdout(&turn, &pip), format!("{wheel}\n"));
}

#[test]
fn refused_connections_are_reported_with_the_name() {
    if testkit::lacks("curl") {
        return;
    }
    let workspace = Workspace::new("");
    let port = web_server(workspace.outside().to_owned());
    // The name is allowed, but its address is not.
    let turn = allowing(&workspace, &["good.test:80".to_owned(), "*.good.test".to_owned()]);
    for host in [
        "evil.test",
        "good.test",
        "a.good.test",
        "good.test.evil.test",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "localhost",
    ] {
        let at = format!("{host}:{port}");
        for form in ["", "--proxytunnel"] {
            let report = run(&turn, &format!("curl -sSf --noproxy '' {form} http://{at}/host"));
            assert_ne!(report.exit_code, 0, "{at} {form}: {report:?}");
            let blocked: Vec<_> = report.sandbox_blocked.iter().map(ToString::to_string).collect();
            // curl writes addresses in another way.
            let is_name = host.ends_with(".test") || host == "localhost";
            let name = if is_name { at.clone() } else { format!(":{port}") };
            let start = "sandbox blocked: network connect to ";
            let is_named = |one: &String| one.starts_with(start) && one.ends_with(&name);
            assert!(blocked.len() == 1 && is_named(&blocked[0]), "{at} {form}: {report:?}");
        }
    }
    // Other spellings, which curl would rewrite.
    for host in ["127.1", "2130706433", "0x7f000001", "017700000001", "0", "127.0.0.1."] {
        let request = format!("CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n");
        let raw = format!("exec 3<>/dev/tcp/127.0.0.1/61080; printf '{request}' >&3; head -1 <&3");
        assert_eq!(stdout(&turn, &raw).trim(), "HTTP/1.1 403 Forbidden", "{host}");
    }
}

#[test]
fn a_hundred_connections_at_once_are_served() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    let port = echo_server();
    let turn = allowing(&workspace, &["good.test".to_owned(), format!("127.0.0.1:{port}")]);
    let script = format!(
        "python3 - <<'PYTHON'
import socket
def connect(i):
    if i % 2:
        return socket.create_connection(('127.0.0.1', {port}), 30)
    c = socket.create_connection(('127.0.0.1', 61080), 30)
    c.sendall(b'CONNECT good.test:{port} HTTP/1.1\\r\\n\\r\\nfirst')
    answer = b''
    while not answer.endswith(b'first'):
        answer += c.recv(100)
    return c
all = [connect(i) for i in range(100)]
for i, c in enumerate(all):
    c.sendall(b'%d' % i * 10000)
for i, c in enumerate(all):
    expected = b'%d' % i * 10000
    c.shutdown(socket.SHUT_WR)
    got = b''
    while len(got) < len(expected):
        got += c.recv(65536)
    assert got == expected and c.recv(1) == b''
print(len(all))
PYTHON"
    );
    assert_eq!(stdout(&turn, &script), "100\n");
}

#[test]
fn slow_clients_and_long_heads_do_not_block_others() {
    if testkit::lacks("python3") || testkit::lacks("curl") {
        return;
    }
    let workspace = Workspace::new("");
    let port = web_server(workspace.outside().to_owned());
    let turn = allowing(&workspace, &["good.test".to_owned(), format!("127.0.0.1:{port}")]);
    let script = format!(
        "python3 - <<'PYTHON'
import socket, subprocess
slow = [socket.create_connection(('127.0.0.1', 61080)) for _ in range(60)]
for c in slow:
    c.sendall(b'CONNECT good.te')
print(subprocess.check_output(['curl', '-sSf', 'http://good.test:{port}/host']).decode(), end='')
c = socket.create_connection(('127.0.0.1', 61080), 30)
c.sendall(b'GET http://good.test/ HTTP/1.1\\r\\nX: ' + b'x' * 70000)
print(c.recv(12).decode())
PYTHON"
    );
    assert_eq!(stdout(&turn, &script), format!("Host: good.test:{port}\nHTTP/1.1 400\n"));
}

#[test]
fn a_named_port_of_this_machine_is_forwarded() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    let (port, other) = (echo_server(), echo_server());
    let host = format!("localhost:{port}");
    let flags = [FIRST, &["--allow-host", &host]].concat();
    let script = format!(
        "python3 - <<'PYTHON'
import socket
for host in ['localhost', '127.0.0.1']:
    c = socket.create_connection((host, {port}), 30)
    c.sendall(b'not http')
    print(c.recv(8).decode())
try:
    socket.create_connection(('127.0.0.1', {other}), 5)
    print('connected')
except OSError:
    print('refused')
PYTHON"
    );
    assert_eq!(workspace.stdout(&flags, &script), "not http\nnot http\nrefused\n");
}

#[test]
fn connections_end_with_the_session() {
    let workspace = Workspace::new("");
    let (events, received) = mpsc::channel();
    let port = serve(move |mut client| {
        let _ = events.send("open");
        let _ = client.read(&mut [0; 1]);
        let _ = events.send("closed");
    });
    let turn = allowing(&workspace, &[format!("localhost:{port}")]);
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3; touch closed; until [ -e go ]; do sleep 0.05; done"
    );
    std::thread::scope(|scope| {
        let call = scope.spawn(|| run(&turn, &command));
        assert_eq!(received.recv_timeout(Duration::from_secs(30)), Ok("open"));
        turn.end_session();
        assert_eq!(received.recv_timeout(Duration::from_secs(30)), Ok("closed"));
        fs::write(workspace.at("go"), "").unwrap();
        call.join().unwrap();
    });
}

#[test]
fn without_namespaces_allowed_hosts_are_refused() {
    let workspace = Workspace::new("");
    let flags = [SECOND, &["--allow-host", "example.com"]].concat();
    let output = workspace.eyelet(&flags).args(["bash", "touch ran"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(125), "{message}");
    assert!(message.contains("AppArmor profile") && message.contains("eyelet doctor"), "{message}");
    assert!(!workspace.at("ran").exists());
}
