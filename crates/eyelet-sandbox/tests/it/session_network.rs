//! The loopback network that the commands of a session share.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use eyelet::tools::{Bash, BashArgs, BashReport};
use eyelet::{Tool as _, TurnContext};
use eyelet_sandbox::Tier;
use serde_json::json;
use testkit::mcp_client::Server;
use testkit::workspace::{FIRST, Workspace, within};

use crate::supervision::session;

pub(crate) fn run(turn: &TurnContext, command: &str) -> BashReport {
    Bash.run(BashArgs::new(command), turn).unwrap()
}

pub(crate) fn stdout(turn: &TurnContext, command: &str) -> String {
    let report = run(turn, command);
    assert_eq!(report.exit_code, 0, "{command}: {report:?}");
    report.stdout.text().to_owned()
}

/// Python that serves one connection and writes its port to the file `port`.
const SERVER: &str = "python3 - <<'PYTHON'
import os, socket
l = socket.create_server(('127.0.0.1', 0))
open('new', 'w').write(str(l.getsockname()[1]))
os.rename('new', 'port')
c = l.accept()[0]
c.sendall(b'hello')
c.close()
PYTHON";

/// Python that prints what the server at a port says, or `refused`.
pub(crate) fn client(port: &str) -> String {
    format!(
        "python3 - <<'PYTHON'\nimport socket\ntry:\n    c = socket.create_connection(('127.0.0.1', {port}), 5)\n    \
         print(c.recv(9).decode())\nexcept OSError:\n    print('refused')\nPYTHON"
    )
}

fn port_in(workspace: &Workspace) -> String {
    let file = workspace.at("port");
    assert!(within(Duration::from_secs(30), || file.exists()), "no server");
    fs::read_to_string(file).unwrap()
}

#[test]
fn commands_of_a_session_reach_each_other_at_the_same_time() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    let turn = session(&workspace, Tier::Namespaces);
    let other = turn.for_another_session();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| stdout(&turn, SERVER));
        let port = port_in(&workspace);
        assert_eq!(stdout(&other, &client(&port)), "refused\n", "another session");
        assert_eq!(stdout(&turn, &client(&port)), "hello\n");
        server.join().unwrap();
    });
}

#[test]
fn the_machines_loopback_is_out_of_reach_of_every_command() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    let turn = session(&workspace, Tier::Namespaces);
    let machine = TcpListener::bind("127.0.0.1:0").unwrap();
    machine.set_nonblocking(true).unwrap();
    let port = machine.local_addr().unwrap().port().to_string();
    for _ in 0..3 {
        assert_eq!(stdout(&turn, &client(&port)), "refused\n");
    }
    assert!(machine.accept().is_err(), "a connection came");
}

#[test]
fn commands_that_start_at_once_share_one_network() {
    let workspace = Workspace::new("");
    let turn = session(&workspace, Tier::Namespaces);
    let own = fs::read_link("/proc/self/ns/net").unwrap().display().to_string();
    let mut seen: Vec<String> = std::thread::scope(|scope| {
        let commands: Vec<_> =
            (0..8).map(|_| scope.spawn(|| stdout(&turn, "readlink /proc/self/ns/net"))).collect();
        commands.into_iter().map(|command| command.join().unwrap()).collect()
    });
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_ne!(seen[0].trim(), own);
    let other = stdout(&turn.for_another_session(), "readlink /proc/self/ns/net");
    assert_ne!(seen[0], other);
}

#[test]
fn commands_cannot_change_the_network_of_their_session() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    let turn = session(&workspace, Tier::Namespaces);
    // SIOCSIFFLAGS without IFF_UP.
    let attack = "python3 -c \"
import fcntl, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    fcntl.ioctl(s, 0x8914, struct.pack('16sH14s', b'lo', 0, b''))
    print('changed')
except PermissionError:
    print('refused')
\"";
    for _ in 0..2 {
        assert_eq!(stdout(&turn, attack), "refused\n");
    }
}

/// The handles that this process has of a namespace.
fn handles(namespace: &str) -> Vec<PathBuf> {
    let handles = fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
    let handles = handles.map(|handle| handle.path());
    let is_meant = |handle: &PathBuf| {
        fs::read_link(handle).is_ok_and(|target| target.as_os_str() == namespace)
    };
    handles.filter(is_meant).collect()
}

/// The processes in a network namespace, each as the file of its namespace.
fn users(namespace: &str) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let files = processes.map(|one| one.path().join("ns/net"));
    let is_meant =
        |file: &PathBuf| fs::read_link(file).is_ok_and(|target| target.as_os_str() == namespace);
    files.filter(is_meant).collect()
}

#[test]
fn the_network_of_a_session_ends_with_it() {
    let workspace = Workspace::new("");
    let turn = session(&workspace, Tier::Namespaces);
    let namespace = stdout(&turn, "readlink /proc/self/ns/net");
    let namespace = namespace.trim();
    let held = handles(namespace);
    assert_eq!(held.len(), 1);
    assert_eq!(users(namespace), Vec::<PathBuf>::new(), "a process keeps the network alive");
    // With a handle, no other namespace gets its number.
    let _own = File::open(&held[0]).unwrap();
    assert_eq!(handles(namespace).len(), 2);
    turn.end_session();
    assert_eq!(handles(namespace).len(), 1);
}

#[test]
fn a_killed_server_leaves_nothing_of_its_network() {
    let workspace = Workspace::new("");
    let mut server = Server::run(workspace.eyelet(FIRST).arg("mcp"));
    server.initialize("test", &json!({}));
    let namespace = server.text("bash", json!({ "command": "readlink /proc/self/ns/net" }));
    let namespace = namespace.lines().find(|line| line.starts_with("net:")).unwrap();
    let command = "readlink /proc/self/ns/net > new; mv new seen; sleep 600";
    server.send_call("bash", json!({ "command": command }));
    let seen = || fs::read_to_string(workspace.at("seen")).unwrap_or_default();
    assert!(within(Duration::from_secs(30), || seen().trim() == namespace), "{}", seen());
    // With a handle, no other namespace gets its number.
    let _own = File::open(users(namespace).last().unwrap()).unwrap();
    server.signal("KILL");
    server.wait();
    let is_empty = within(Duration::from_secs(30), || users(namespace).is_empty());
    assert!(is_empty, "processes are left: {:?}", users(namespace));
}
