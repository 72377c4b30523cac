//! `eyelet mcp`: the time that a client waits, compared with the reference server for files.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;
use crate::benches::{Bench, NeedsCorpus, Setup, equal, text, tokens};
use crate::contender::{Contender, Side};
use crate::reference;
use crate::runner::{Check, Task, Unit};
use crate::server::{Call, Server, milliseconds};
use crate::target::Target;

pub(crate) const BENCH: Bench = Bench {
    name: "calls",
    peers: &["node"],
    needs_corpus: NeedsCorpus::Yes,
    notes: &[
        "The peer is `@modelcontextprotocol/server-filesystem` 2026.8.31 from npm. The same client calls \
         both servers over pipes.",
        "A call is timed from before the client writes the request until it has read the reply. Each \
         round makes 300 calls to one server, then 300 to the other.",
        "A start is timed from before the process is spawned.",
        "Idle memory is the resident set size 500 ms after the client listed the tools and made both \
         small calls.",
        "The 64 calls in flight alternate between list and read. Each round makes 6,400 calls while \
         eight commands of the same server run `yes`. The reference server cannot run commands.",
        "Tokens are counted with `o200k_base` in the text that the model receives.",
    ],
    tasks,
};

pub(super) const OURS: &str = "eyelet mcp";
pub(super) const PEER: &str = "server-filesystem";

const CALLS: usize = 300;
const STARTS: usize = 3;
const IN_FLIGHT: usize = 64;
/// Enough calls for a short stall not to dominate the result.
const IN_FLIGHT_CALLS: usize = 6400;
const COMMANDS: usize = 8;

/// The commands that start the servers, confined to one directory.
#[derive(Clone)]
pub(super) struct Servers {
    pub(super) ours: Vec<String>,
    pub(super) peer: Vec<String>,
}

impl Servers {
    pub(super) fn new(setup: &Setup, folder: &str) -> Result<Servers> {
        let ours = [&setup.eyelet, "mcp", "--root", folder, "--cwd", folder];
        let mut peer = reference::words(&setup.project)?;
        peer.push(folder.to_owned());
        Ok(Servers { ours: ours.map(str::to_owned).into(), peer })
    }
}

fn tasks(setup: &Setup) -> Result<Vec<Task>> {
    let folder = text(setup.fixtures.small()?.canonicalize().map_err(|e| e.to_string())?)?;
    let servers = Servers::new(setup, &folder)?;
    let file = format!("{folder}/page.txt");
    let list = [
        Call { tool: "list_dir", arguments: json!({ "dir_path": folder }) },
        Call { tool: "list_directory", arguments: json!({ "path": folder }) },
    ];
    let read = [
        Call { tool: "read", arguments: json!({ "path": file }) },
        Call { tool: "read_text_file", arguments: json!({ "path": file }) },
    ];
    let small = [0, 1].map(|side| [list[side].clone(), read[side].clone()]);
    let ours = small[0].clone();
    let mut tasks = vec![
        call_task("list 20 entries", &servers, list, same_names)?,
        call_task("read 2 KiB", &servers, read, same_text)?,
        start_task("start to `initialize` reply", &servers, Server::open),
        start_task("start to `tools/list` reply", &servers, list_tools),
        idle_task(&servers, small.clone()),
        busy_task(&servers, ours),
    ];
    tasks.extend(tokens::tasks(setup)?);
    Ok(tasks)
}

/// Repeats one call to a running server.
fn call_task(
    name: &str,
    servers: &Servers,
    calls: [Call; 2],
    same: fn(&str, &str) -> Result<String>,
) -> Result<Task> {
    let [ours, peer] = [&servers.ours, &servers.peer]
        .map(|words| Server::start(words).map(RefCell::new).map(Rc::new));
    let (ours, peer) = (ours?, peer?);
    let contender = |name, side, server: &Rc<RefCell<Server>>, call: &Call| {
        let (server, call) = (Rc::clone(server), call.clone());
        Contender::samples(name, side, move || {
            let mut server = server.borrow_mut();
            (0..CALLS).map(|_| Ok(server.call(&call)?.0)).collect()
        })
    };
    let contenders = vec![
        contender(OURS, Side::Ours, &ours, &calls[0]),
        contender(PEER, Side::Peer, &peer, &calls[1]),
    ];
    let check: Check = Box::new(move || {
        same(&ours.borrow_mut().call(&calls[0])?.1, &peer.borrow_mut().call(&calls[1])?.1)
    });
    let targets =
        vec![Target::Faster { than: PEER, times: 2.0 }, Target::P99Within { who: OURS, most: 1.0 }];
    Ok(Task { name: name.into(), check, unit: Unit::Milliseconds, contenders, targets })
}

/// The time from spawning the process to its reply.
fn start_task(name: &str, servers: &Servers, until: fn(&mut Server) -> Result<()>) -> Task {
    let contender = |name, side, words: &Vec<String>| {
        let words = words.clone();
        Contender::samples(name, side, move || {
            let start_once = |_| {
                let start = Instant::now();
                let mut server = Server::spawn(&words)?;
                until(&mut server)?;
                Ok(milliseconds(start))
            };
            (0..STARTS).map(start_once).collect()
        })
    };
    Task {
        name: name.into(),
        check: Box::new(|| Ok("each server replies".into())),
        unit: Unit::Milliseconds,
        contenders: vec![
            contender(OURS, Side::Ours, &servers.ours),
            contender(PEER, Side::Peer, &servers.peer),
        ],
        targets: vec![Target::Faster { than: PEER, times: 30.0 }],
    }
}

fn list_tools(server: &mut Server) -> Result<()> {
    server.open()?;
    let (_, result) = server.ask("tools/list", &json!({}))?;
    let tools = result.get("tools").and_then(Value::as_array);
    if tools.is_some_and(|tools| !tools.is_empty()) {
        Ok(())
    } else {
        Err("the server lists no tools".into())
    }
}

fn idle_task(servers: &Servers, calls: [[Call; 2]; 2]) -> Task {
    let contender = |name, side, words: &Vec<String>, calls: [Call; 2]| {
        let words = words.clone();
        Contender::samples(name, side, move || {
            let start_once = |_| {
                let mut server = Server::spawn(&words)?;
                list_tools(&mut server)?;
                for call in &calls {
                    server.call(call)?;
                }
                thread::sleep(Duration::from_millis(500));
                server.resident()
            };
            (0..STARTS).map(start_once).collect()
        })
    };
    let [ours, peers] = calls;
    Task {
        name: "memory of an idle server".into(),
        check: Box::new(|| Ok("each server replied to its calls".into())),
        unit: Unit::Count("MiB"),
        contenders: vec![
            contender(OURS, Side::Ours, &servers.ours, ours),
            contender(PEER, Side::Peer, &servers.peer, peers),
        ],
        // 15 MB.
        targets: vec![Target::Within { who: OURS, most: 14.3 }],
    }
}

/// Many small calls in flight while commands write output without end.
fn busy_task(servers: &Servers, small: [Call; 2]) -> Task {
    let words = servers.ours.clone();
    let endless =
        Call { tool: "bash", arguments: json!({ "command": "yes", "timeout_secs": 120 }) };
    let take = move || {
        let mut server = Server::start(&words)?;
        server.call_in_background(&endless, COMMANDS)?;
        server.call_many(&small, IN_FLIGHT, IN_FLIGHT_CALLS)
    };
    Task {
        name: "64 small calls in flight, 8 commands running `yes`".into(),
        check: Box::new(|| Ok("each command reports progress before the first call".into())),
        unit: Unit::Milliseconds,
        contenders: vec![Contender::samples(OURS, Side::Ours, take)],
        targets: vec![Target::P99Within { who: OURS, most: 50.0 }],
    }
}

/// Checks that both list the same names.
fn same_names(ours: &str, peers: &str) -> Result<String> {
    let ours: BTreeSet<_> = ours.lines().skip(1).map(|line| line.trim_end_matches('/')).collect();
    let peers: BTreeSet<_> =
        peers.lines().filter_map(|line| line.split_once("] ").map(|(_, name)| name)).collect();
    equal("the listing", &ours, &peers)?;
    Ok(format!("both servers list the same {} names", ours.len()))
}

/// Checks that both return the same text; ours follows a header line.
fn same_text(ours: &str, peers: &str) -> Result<String> {
    let body = ours.split_once('\n').map_or("", |(_, body)| body);
    equal("the text", &body, &peers)?;
    Ok(format!("both servers return the same {} bytes", body.len()))
}
