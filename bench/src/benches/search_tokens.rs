//! The tokens until a model knows all lines that use a symbol.

use std::cell::RefCell;
use std::rc::Rc;

use eyelet::tools::{Found, GrepFiles, GrepFilesArgs, Read, ReadArgs, ReadReport, Show};
use eyelet::{ReplyBudget, Report as _, Tool as _, TurnContext};

use crate::Result;
use crate::benches::mcp_servers::{self, EYELET, McpServer};
use crate::benches::search_lines::turn;
use crate::benches::tokens::tokens;
use crate::benches::{Setup, equal};
use crate::contender::{Contender, Side, output};
use crate::peers::{RIPGREP, SERVER_FILESYSTEM};
use crate::runner::{Task, Unit};
use crate::server::Server;
use crate::target::Target;

/// Locates the uses of a symbol.
type Locate = Box<dyn Fn(&str) -> Result<Located>>;

const LINES: &str = "eyelet grep_files, lines";
const READ: &str = "eyelet grep_files, then read";
const RAW: &str = "rg -n";

/// The reply limit of a client that eyelet does not know.
const REPLY_BYTES: usize = 20_000;
const LINES_PER_FILE: u64 = 20;

/// Functions with few and with many uses in the folder `kernel` of Linux.
const SYMBOLS: [&str; 20] = [
    "mutex_lock_interruptible",
    "kthread_should_stop",
    "rcu_barrier",
    "proc_create",
    "kmem_cache_destroy",
    "cpumask_copy",
    "irq_set_affinity",
    "tracepoint_probe_register",
    "audit_log_format",
    "cgroup_attach_task",
    "perf_event_enable",
    "futex_wait_setup",
    "hrtimer_cancel",
    "call_rcu",
    "smp_call_function_single",
    "wake_up_process",
    "set_cpus_allowed_ptr",
    "module_put",
    "ktime_get_real_ts64",
    "swsusp_write",
];

/// What a model reads to locate a symbol, and the numbers of the lines that it then knows.
struct Located {
    replies: Vec<String>,
    lines: usize,
}

pub(super) fn task(setup: &Setup, corpus: &str) -> Result<Task> {
    let folder = format!("{corpus}/kernel");
    let counter = Rc::new(tiktoken_rs::o200k_base().map_err(|error| error.to_string())?);
    let turn = turn(&folder)?.with_reply_budget(ReplyBudget::new(REPLY_BYTES));
    let rg = setup.peers.required(&RIPGREP)?;
    let expected = SYMBOLS
        .iter()
        .map(|symbol| Ok(by_rg(symbol, &rg, &folder)?.lines))
        .collect::<Result<Vec<_>>>()?;
    let contender = |name, side, locate: Locate| {
        let (counter, expected, locate) = (Rc::clone(&counter), expected.clone(), Rc::new(locate));
        let measured = Rc::clone(&locate);
        let take = move || {
            let located =
                SYMBOLS.iter().map(|symbol| measured(symbol)).collect::<Result<Vec<_>>>()?;
            let replies = located.iter().flat_map(|located| &located.replies);
            Ok(vec![replies.map(|reply| tokens(&counter, reply)).sum()])
        };
        Contender::samples(name, side, take).if_answers(move || {
            for (symbol, lines) in SYMBOLS.iter().zip(&expected) {
                equal(
                    &format!("the number of lines with {symbol}"),
                    &locate(symbol)?.lines,
                    lines,
                )?;
            }
            Ok(())
        })
    };
    let (by_lines_turn, by_reading_turn) = (turn.clone(), turn.clone());
    let here = folder.clone();
    let mut contenders = vec![
        contender(LINES, Side::Ours, Box::new(move |symbol| by_lines(symbol, &by_lines_turn))),
        contender(READ, Side::Peer, Box::new(move |symbol| by_reading(symbol, &by_reading_turn))),
        contender(RAW, Side::Peer, Box::new(move |symbol| by_rg(symbol, &rg, &here))),
    ];
    for server in mcp_servers::all(setup, &folder)?.into_iter().filter(|s| s.name != EYELET) {
        let (turn, folder, name) = (turn.clone(), folder.clone(), server.name);
        let session = RefCell::new(server.start()?);
        let locate = move |symbol: &str| {
            by_server(symbol, &turn, &server, &mut session.borrow_mut(), &folder)
        };
        contenders.push(contender(name, Side::Peer, Box::new(locate)));
    }
    Ok(Task {
        name: "tokens to locate the uses of 20 symbols".to_owned(),
        check: Box::new(|| Ok("each measured method finds all lines that use the symbols".into())),
        unit: Unit::Count("tokens"),
        contenders,
        targets: [READ, RAW, SERVER_FILESYSTEM.name]
            .into_iter()
            .map(|peer| Target::SlowerAtMost { of: peer, times: 1.0 })
            .collect(),
    })
}

fn word(symbol: &str) -> String {
    format!(r"\b{symbol}\b")
}

/// All pages of lines, and the rest of the files that have more.
fn by_lines(symbol: &str, turn: &TurnContext) -> Result<Located> {
    let mut located = Located { replies: Vec::new(), lines: 0 };
    let mut searches = vec![(None, 1)];
    while let Some((path, offset)) = searches.pop() {
        let args = GrepFilesArgs {
            path: path.clone(),
            offset: Some(offset),
            show: Some(Show::Lines),
            ..GrepFilesArgs::new(word(symbol))
        };
        let report = GrepFiles.run(args, turn).map_err(|error| error.to_string())?;
        located.replies.push(report.reply());
        searches.extend(report.next_offset.map(|next| (path, next)));
        let Found::Lines(page) = report.found else { return Err("no lines".into()) };
        for file in page.files {
            located.lines += file.matches.len();
            if file.more > 0 {
                searches.push((Some(file.path), LINES_PER_FILE + 1));
            }
        }
    }
    Ok(located)
}

/// The paths of the matching files, and each file up to its last matching line.
fn by_reading(symbol: &str, turn: &TurnContext) -> Result<Located> {
    let found = GrepFiles.run(GrepFilesArgs::new(word(symbol)), turn);
    let found = found.map_err(|error| error.to_string())?;
    let mut located = Located { replies: vec![found.reply()], lines: 0 };
    for path in &found.files {
        let whole = std::fs::read(path).map_err(|error| error.to_string())?;
        let uses = uses(&String::from_utf8_lossy(&whole), symbol);
        located.lines += uses.len();
        let last = uses.last().copied().unwrap_or_default();
        let mut offset = Some(1);
        while let Some(first) = offset.filter(|first| *first <= last) {
            let args = ReadArgs { offset: Some(first), ..ReadArgs::new(path) };
            let report = Read.run(args, turn).map_err(|error| error.to_string())?;
            located.replies.push(report.reply());
            offset = match &report {
                ReadReport::Text(page) => page.next_offset(),
                _ => None,
            };
        }
    }
    Ok(located)
}

/// The numbers of the lines that contain the symbol as a word.
fn uses(text: &str, symbol: &str) -> Vec<u64> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let contains = |line: &str| {
        line.match_indices(symbol).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + symbol.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
    };
    (1..).zip(text.lines()).filter(|(_, line)| contains(line)).map(|(number, _)| number).collect()
}

fn by_rg(symbol: &str, rg: &str, folder: &str) -> Result<Located> {
    let printed = output(&["env", "-C", folder, rg, "-n", &word(symbol), "."])?;
    let text = String::from_utf8_lossy(&printed).into_owned();
    Ok(Located { lines: text.lines().count(), replies: vec![text] })
}

/// A server that cannot search contents reads just the matching files, as if the model knew them.
fn by_server(
    symbol: &str,
    turn: &TurnContext,
    server: &McpServer,
    session: &mut Server,
    folder: &str,
) -> Result<Located> {
    if let Some(call) = server.search(&word(symbol), folder) {
        let replies = server.ask(session, &call)?;
        return Ok(Located { lines: server.lines(&replies, folder).len(), replies });
    }
    let found = GrepFiles.run(GrepFilesArgs::new(word(symbol)), turn);
    let mut located = Located { replies: Vec::new(), lines: 0 };
    for path in found.map_err(|error| error.to_string())?.files {
        let call = server.read(&path).ok_or("the server reads no files")?;
        let reply = session.call(&call)?.1;
        located.lines += uses(server.body(&reply), symbol).len();
        located.replies.push(reply);
    }
    Ok(located)
}
