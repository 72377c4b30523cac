//! `eyelet mcp`: the time that a client waits, compared with other MCP servers for files.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Result;
use crate::benches::mcp_servers::{self, EYELET, McpServer, definitions};
use crate::benches::{Bench, NeedsCorpus, Setup, equal, text, tokens};
use crate::contender::{Contender, Side};
use crate::options::io_error;
use crate::peers::{
    DESKTOP_COMMANDER, MCP_RIPGREP, RIPGREP, RUST_MCP_FILESYSTEM, SERVER_FILESYSTEM,
};
use crate::runner::{Task, Unit};
use crate::server::{Call, Server, milliseconds};
use crate::target::Target;

pub(crate) const BENCH: Bench = Bench {
    name: "calls",
    programs: &["node"],
    peers: &[&RIPGREP, &SERVER_FILESYSTEM, &RUST_MCP_FILESYSTEM, &DESKTOP_COMMANDER, &MCP_RIPGREP],
    needs_corpus: NeedsCorpus::Yes,
    notes: &[
        mcp_servers::NOTE,
        "The time of a call begins before the client writes the request, and ends when the client \
         has read the reply. Each round makes 300 calls to one server, then 300 calls to the next \
         server. If a server is slow, a round makes as many calls as fit in 3 seconds.",
        "`mcp-ripgrep` cannot list directories or read files, so the benchmark measures only its \
         start, its memory and its tool definitions.",
        "For the tasks that measure the start of a server, the time begins before the client \
         spawns the server process.",
        "The memory of an idle server is its resident set size 500 ms after the client has listed \
         the tools, listed 20 entries and read 2 KiB.",
        "In the task with 64 calls in flight, list calls and read calls alternate. Each round \
         makes 6,400 calls while eight commands of the same server run `yes`.",
        "The benchmark counts tokens with `o200k_base` in the text that the model receives. Tool \
         definitions consist of the name, description and input schema of all tools as JSON; \
         different servers offer different tools.",
        "In the task that reads source files, the benchmark divides the number of tokens in the \
         reply by the number of tokens in the file. 1.00: the reply adds no tokens to the content \
         of the file. If a reply contains only the first part of a file, the benchmark counts only \
         the tokens of this part.",
    ],
    tasks,
};

const CALLS: usize = 300;
/// The longest time for the calls of a round to one server.
const LONGEST: Duration = Duration::from_secs(3);
const STARTS: usize = 3;
const IN_FLIGHT: usize = 64;
/// Enough calls for a short stall not to dominate the result.
const IN_FLIGHT_CALLS: usize = 6400;
const COMMANDS: usize = 8;

fn tasks(setup: &Setup) -> Result<Vec<Task>> {
    let folder = text(setup.fixtures.small()?.canonicalize().map_err(io_error)?)?;
    let servers = mcp_servers::all(setup, &folder)?;
    let file = format!("{folder}/page.txt");
    let names = names_in(&folder)?;
    let content = fs::read_to_string(&file).map_err(io_error)?;
    let mut tasks = vec![
        call_task(
            "list 20 entries",
            &servers,
            |server| server.list(&folder),
            move |server, reply| equal("the listing", &server.names(reply), &names),
        )?,
        call_task(
            "read 2 KiB",
            &servers,
            |server| server.read(&file),
            move |server, reply| {
                equal("the text", &server.body(reply).trim_end(), &content.trim_end())
            },
        )?,
        start_task("start to `initialize` reply", &servers, Server::open),
        start_task("start to `tools/list` reply", &servers, list_tools),
        idle_task(&servers, &folder, &file),
        busy_task(&servers[0], &folder, &file),
    ];
    tasks.extend(tokens::tasks(setup)?);
    Ok(tasks)
}

fn names_in(folder: &str) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder).map_err(io_error)?;
    entries.map(|entry| text(entry.map_err(io_error)?.file_name().into())).collect()
}

/// Repeats one call to each running server that has a tool for it.
fn call_task(
    name: &str,
    servers: &[McpServer],
    call: impl Fn(&McpServer) -> Option<Call>,
    same: impl Fn(&McpServer, &str) -> Result<()> + Clone + 'static,
) -> Result<Task> {
    let mut contenders = Vec::new();
    for server in servers {
        let Some(call) = call(server) else { continue };
        let session = Rc::new(RefCell::new(server.start()?));
        let (checked, asked, same) = (Rc::clone(&session), call.clone(), same.clone());
        let take = move || {
            let (mut session, start) = (session.borrow_mut(), Instant::now());
            let in_time = (0..CALLS).take_while(|_| start.elapsed() < LONGEST);
            in_time.map(|_| Ok(session.call(&call)?.0)).collect()
        };
        let server = server.clone();
        let contender = Contender::samples(server.name, server.side(), take);
        contenders.push(
            contender.if_answers(move || same(&server, &checked.borrow_mut().call(&asked)?.1)),
        );
    }
    Ok(Task {
        name: name.into(),
        check: Box::new(|| Ok("the reply of each measured server matches the file system".into())),
        unit: Unit::Milliseconds,
        contenders,
        targets: vec![
            Target::Faster { than: SERVER_FILESYSTEM.name, times: 2.0 },
            Target::P99Within { who: EYELET, most: 1.0 },
        ],
    })
}

/// The time from spawning the process to its reply.
fn start_task(name: &str, servers: &[McpServer], until: fn(&mut Server) -> Result<()>) -> Task {
    let contender = |server: &McpServer| {
        let server = server.clone();
        Contender::samples(server.name, server.side(), move || {
            let start_once = |_| {
                let start = Instant::now();
                let mut session = server.spawn()?;
                until(&mut session)?;
                Ok(milliseconds(start))
            };
            (0..STARTS).map(start_once).collect()
        })
    };
    Task {
        name: name.into(),
        check: Box::new(|| Ok("each server replies".into())),
        unit: Unit::Milliseconds,
        contenders: servers.iter().map(contender).collect(),
        targets: vec![Target::Faster { than: SERVER_FILESYSTEM.name, times: 30.0 }],
    }
}

fn list_tools(server: &mut Server) -> Result<()> {
    server.open()?;
    definitions(server).map(|_| ())
}

fn idle_task(servers: &[McpServer], folder: &str, file: &str) -> Task {
    let contender = |server: &McpServer| {
        let server = server.clone();
        let calls = [server.list(folder), server.read(file)];
        Contender::samples(server.name, server.side(), move || {
            let start_once = |_| {
                let mut session = server.spawn()?;
                list_tools(&mut session)?;
                for call in calls.iter().flatten() {
                    session.call(call)?;
                }
                thread::sleep(Duration::from_millis(500));
                session.resident()
            };
            (0..STARTS).map(start_once).collect()
        })
    };
    Task {
        name: "memory of an idle server".into(),
        check: Box::new(|| Ok("before the measurement, each server answered all calls".into())),
        unit: Unit::Count("MiB"),
        contenders: servers.iter().map(contender).collect(),
        // 15 MB.
        targets: vec![Target::Within { who: EYELET, most: 14.3 }],
    }
}

/// Many small calls in flight while commands write output without end.
fn busy_task(eyelet: &McpServer, folder: &str, file: &str) -> Task {
    let eyelet = eyelet.clone();
    let small: Vec<Call> = [eyelet.list(folder), eyelet.read(file)].into_iter().flatten().collect();
    let endless =
        Call { tool: "bash", arguments: json!({ "command": "yes", "timeout_secs": 120 }) };
    let take = move || {
        let mut server = eyelet.start()?;
        server.call_in_background(&endless, COMMANDS)?;
        server.call_many(&small, IN_FLIGHT, IN_FLIGHT_CALLS)
    };
    Task {
        name: "64 small calls in flight, 8 commands running `yes`".into(),
        check: Box::new(|| Ok("each command reports progress before the first call".into())),
        unit: Unit::Milliseconds,
        contenders: vec![Contender::samples(EYELET, Side::Ours, take)],
        targets: vec![Target::P99Within { who: EYELET, most: 50.0 }],
    }
}
