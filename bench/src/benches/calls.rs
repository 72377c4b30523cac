//! `eyelet mcp`: what a client waits for, beside the reference server for files.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;
use crate::benches::{Bench, NeedsCorpus, Surroundings, equal, text, tokens};
use crate::contender::{Contender, Side};
use crate::race::{Check, Unit, Work};
use crate::reference;
use crate::server::{Call, Server, milliseconds};
use crate::target::Target;

pub(crate) const BENCH: Bench = Bench {
    name: "calls",
    peers: &["node"],
    needs_corpus: NeedsCorpus::Yes,
    notes: &[
        "the peer is `@modelcontextprotocol/server-filesystem` 2026.8.31 from npm; both servers are \
         asked by the same client, a line out and a line in, over pipes",
        "a call counts from before its line is written until the line of its answer is read; a round \
         is 300 calls of one server, then 300 of the other",
        "a start counts from before the process is spawned",
        "idle memory is what is resident half a second after the tools were listed and both small calls made",
        "64 calls in flight are lists and reads by turns, 6,400 in a round, while eight commands of the same \
         server run `yes`; the reference server runs no commands",
        "tokens are those of `o200k_base`, of the text that a model sees",
    ],
    works,
};

pub(super) const OURS: &str = "eyelet mcp";
pub(super) const PEER: &str = "server-filesystem";

const CALLS: usize = 300;
const STARTS: usize = 3;
const IN_FLIGHT: usize = 64;
/// Enough that a moment in which nobody is answered is not all there is.
const IN_FLIGHT_CALLS: usize = 6400;
const FLOODS: usize = 8;

/// The words that start a server, confined to one directory.
#[derive(Clone)]
pub(super) struct Servers {
    pub(super) ours: Vec<String>,
    pub(super) peer: Vec<String>,
}

impl Servers {
    pub(super) fn of(surroundings: &Surroundings, folder: &str) -> Result<Servers> {
        let ours = [&surroundings.eyelet, "mcp", "--root", folder, "--cwd", folder];
        let mut peer = reference::words(&surroundings.project)?;
        peer.push(folder.to_owned());
        Ok(Servers { ours: ours.map(str::to_owned).into(), peer })
    }
}

fn works(surroundings: &Surroundings) -> Result<Vec<Work>> {
    let folder = text(surroundings.fixtures.small()?.canonicalize().map_err(|e| e.to_string())?)?;
    let servers = Servers::of(surroundings, &folder)?;
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
    let mut works = vec![
        call_work("small list, 20 entries", &servers, list, same_names)?,
        call_work("small read, 2 KiB", &servers, read, same_text)?,
        start_work("start until `initialize` is answered", &servers, Server::open),
        start_work("start until `tools/list` is answered", &servers, list_tools),
        idle_work(&servers, small.clone()),
        flood_work(&servers, ours),
    ];
    works.extend(tokens::works(surroundings)?);
    Ok(works)
}

/// One call again and again, of a server that runs.
fn call_work(
    name: &str,
    servers: &Servers,
    calls: [Call; 2],
    same: fn(&str, &str) -> Result<String>,
) -> Result<Work> {
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
    let targets = vec![
        Target::Faster { than: PEER, times: 2.0 },
        Target::NearlyAllWithin { who: OURS, most: 1.0 },
    ];
    Ok(Work { name: name.into(), check, unit: Unit::Milliseconds, contenders, targets })
}

/// From before the process until it has answered.
fn start_work(name: &str, servers: &Servers, until: fn(&mut Server) -> Result<()>) -> Work {
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
    Work {
        name: name.into(),
        check: Box::new(|| Ok("every start is answered".into())),
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
    if tools.is_some_and(|tools| !tools.is_empty()) { Ok(()) } else { Err("no tools".into()) }
}

fn idle_work(servers: &Servers, calls: [[Call; 2]; 2]) -> Work {
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
    Work {
        name: "memory of an idle server".into(),
        check: Box::new(|| Ok("every server has answered its calls".into())),
        unit: Unit::Count("MiB"),
        contenders: vec![
            contender(OURS, Side::Ours, &servers.ours, ours),
            contender(PEER, Side::Peer, &servers.peer, peers),
        ],
        // 15 MB.
        targets: vec![Target::Within { who: OURS, most: 14.3 }],
    }
}

/// Many small calls at once, beside commands that never stop talking.
fn flood_work(servers: &Servers, small: [Call; 2]) -> Work {
    let words = servers.ours.clone();
    let flood = Call { tool: "bash", arguments: json!({ "command": "yes", "timeout_secs": 120 }) };
    let take = move || {
        let mut server = Server::start(&words)?;
        server.call_in_background(&flood, FLOODS)?;
        server.call_many(&small, IN_FLIGHT, IN_FLIGHT_CALLS)
    };
    Work {
        name: "64 small calls in flight beside 8 floods".into(),
        check: Box::new(|| Ok("every flood tells of its progress before the first call".into())),
        unit: Unit::Milliseconds,
        contenders: vec![Contender::samples(OURS, Side::Ours, take)],
        targets: vec![Target::NearlyAllWithin { who: OURS, most: 50.0 }],
    }
}

/// That both name the same entries.
fn same_names(ours: &str, peers: &str) -> Result<String> {
    let ours: BTreeSet<_> = ours.lines().skip(1).map(|line| line.trim_end_matches('/')).collect();
    let peers: BTreeSet<_> =
        peers.lines().filter_map(|line| line.split_once("] ").map(|(_, name)| name)).collect();
    equal("the listing", &ours, &peers)?;
    Ok(format!("{} names as by the peer", ours.len()))
}

/// That both show the same text, ours below its header line.
fn same_text(ours: &str, peers: &str) -> Result<String> {
    let body = ours.split_once('\n').map_or("", |(_, body)| body);
    equal("the text", &body, &peers)?;
    Ok(format!("{} bytes as by the peer", body.len()))
}
