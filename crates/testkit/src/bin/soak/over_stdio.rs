//! The soak over stdio: a few servers with many clients' worth of calls at once, and many that live for seconds.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use fastrand::Rng;
use testkit::TempTree;
use testkit::cli::command;
use testkit::workspace::{FIRST, FULL, SECOND, within};

use crate::client::Pacer;
use crate::disconnects;
use crate::files;
use crate::floods;
use crate::mixed_calls::Visit;
use crate::processes::{
    Process, Usage, adopt_orphans, is_server, own_descendants, reap, server_directories, size_of,
};
use crate::report::Report;
use crate::stdio_client::{Exit, Reading, StdioClient};
use crate::tally::Tally;

/// The policies of the servers that live as long as the soak.
const SERVERS: [&[&str]; 4] = [FIRST, FIRST, SECOND, FULL];
/// How many threads use each of them at once.
const CLIENTS_PER_SERVER: usize = 8;
/// How many threads start servers that live for seconds.
const VISITORS: usize = 2;
const VISIT_INTERVAL: Duration = Duration::from_secs(3);
/// Calls per second of all clients together.
const CALLS_PER_SECOND: u32 = 50;
const FLOOD_INTERVAL: Duration = Duration::from_secs(150);
/// When memory is measured first; a shorter soak measures it in the middle.
const WARM_UP: Duration = Duration::from_secs(5 * 60);
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// After this many samples, a zombie counts as left behind.
const ZOMBIE_SAMPLES: u32 = 10;

/// The limit of saved output of a session.
const MAX_SAVED_BYTES: u64 = 1 << 30;
const MAX_PEAK_MIB: f64 = 128.0;
const MAX_IDLE_MIB: f64 = 15.0;
const MAX_DRIFT_MIB: f64 = 10.0;
const MAX_DESCRIPTOR_DRIFT: usize = 2;
const SMALL_P99_MS: f64 = 50.0;

/// A server that lives as long as the soak.
struct Server {
    client: StdioClient,
    tree: TempTree,
    name: String,
    record: PathBuf,
    /// Each call holds a read lock. The measurements take the write lock and so wait until no call runs.
    calls: RwLock<()>,
    idle: Usage,
    /// The most that its saved output took.
    saved: AtomicU64,
}

impl Server {
    fn start(number: usize, policy: &[&str], tally: &Arc<Tally>) -> Result<Server, String> {
        let tree = files::tree();
        let record = tree.beside().join("record.jsonl");
        let mut command = eyelet(&tree, policy);
        command.arg("--record").arg(&record);
        let client = StdioClient::start(&mut command, Reading::All, tally)?;
        client.initialize()?;
        let name = format!("server {number} ({})", policy.join(" "));
        let idle = Usage::of(client.id)?;
        let (calls, saved) = (RwLock::default(), AtomicU64::new(0));
        Ok(Server { client, tree, name, record, calls, idle, saved })
    }

    /// Calls until `end`, together with other clients.
    fn call_until(&self, end: Instant, pacer: &Pacer) {
        let mut visit = Visit { client: &self.client, tree: &self.tree, pacer, random: Rng::new() };
        while Instant::now() < end {
            let _calling = self.calls.read().unwrap_or_else(PoisonError::into_inner);
            visit.next();
        }
    }

    /// What the server uses while nobody calls.
    fn usage(&self) -> Result<Usage, String> {
        let _nobody_calls = self.calls.write().unwrap_or_else(PoisonError::into_inner);
        // The processes of cancelled and ended commands are still being killed.
        within(Duration::from_secs(10), || {
            Usage::of(self.client.id).is_ok_and(|usage| usage.children <= self.idle.children)
        });
        Usage::of(self.client.id)
    }

    fn sample_saved_output(&self) {
        let temp = self.tree.beside();
        let sizes = server_directories(&temp).into_iter().map(|name| size_of(&temp.join(name)));
        self.saved.fetch_max(sizes.sum(), Ordering::AcqRel);
    }
}

/// `eyelet mcp` in a tree.
fn eyelet(tree: &TempTree, policy: &[&str]) -> Command {
    let mut eyelet = command(tree);
    eyelet.args(["mcp", "--root", tree.str()]).args(policy);
    eyelet
}

/// Runs the soak. Returns its report.
pub(crate) fn run(duration: Duration, tally: &Arc<Tally>) -> Result<String, String> {
    adopt_orphans()?;
    let mut report = Report::new(
        "Soak over stdio",
        &format!(
            "{} servers with {CLIENTS_PER_SERVER} clients' worth of mixed calls each, and servers whose clients disconnect after \
             seconds, for {} s at no more than {CALLS_PER_SECOND} calls per second.",
            SERVERS.len(),
            duration.as_secs()
        ),
    );
    let servers = SERVERS.iter().enumerate();
    let servers = servers.map(|(number, policy)| Server::start(number + 1, policy, tally));
    let servers: Vec<_> = servers.collect::<Result<_, _>>()?;
    let visited: Vec<_> = (0..VISITORS).map(|_| files::tree()).collect();
    let pacer = Pacer::new(CALLS_PER_SECOND);
    let each = |work: &(dyn Fn(&Server) + Sync)| {
        std::thread::scope(|scope| {
            servers.iter().for_each(|server| drop(scope.spawn(|| work(server))));
        });
    };
    each(&|server| {
        let (client, tree) = (&server.client, &server.tree);
        Visit { client, tree, pacer: &pacer, random: Rng::new() }.all();
    });
    let first: Vec<_> = servers.iter().map(Server::usage).collect::<Result<_, _>>()?;

    let end = Instant::now() + duration;
    let warm = WARM_UP.min(duration / 2);
    let after_warm_up = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for server in &servers {
            for _ in 0..CLIENTS_PER_SERVER {
                scope.spawn(|| server.call_until(end, &pacer));
            }
        }
        for tree in &visited {
            scope.spawn(|| disconnect_until(end, tree, &pacer, tally));
        }
        scope.spawn(|| flood_until(end, &servers));
        scope.spawn(|| sample_until(end, &servers, tally));
        scope.spawn(|| {
            std::thread::sleep(warm);
            let usage: Result<Vec<_>, _> = servers.iter().map(Server::usage).collect();
            match usage {
                Ok(usage) => *after_warm_up.lock().unwrap_or_else(PoisonError::into_inner) = usage,
                Err(message) => tally.broken(message),
            }
        });
    });
    let last: Vec<_> = servers.iter().map(Server::usage).collect::<Result<_, _>>()?;
    let after_warm_up = after_warm_up.into_inner().unwrap_or_else(PoisonError::into_inner);
    report_usage(&mut report, &servers, [&first, &after_warm_up, &last], warm, tally);
    let sent = servers.iter().map(|server| server.client.calls()).sum();
    let (trees, garbage) = stop(servers, tally);
    report.counts(tally, SMALL_P99_MS);
    let demand = "0: each is refused once";
    report.demand("invalid lines that were not refused", garbage, demand, garbage == 0, tally);
    let records: Vec<_> = trees.iter().map(|(_, record)| record).collect();
    report.record(&records, sent, tally);
    // A server that was killed cannot remove its files; the next start does.
    for tree in &visited {
        let started = eyelet(tree, FIRST).stdin(Stdio::null()).stdout(Stdio::null()).status();
        tally.check(started.map(drop).map_err(|error| format!("eyelet: {error}")));
    }
    let trees: Vec<_> = trees.iter().map(|(tree, _)| tree).chain(&visited).collect();
    report.leftovers(&trees, tally);
    Ok(report.finish(tally))
}

/// One server after the other whose client goes away.
fn disconnect_until(end: Instant, tree: &TempTree, pacer: &Pacer, tally: &Arc<Tally>) {
    let departures = disconnects::ALL.iter().cycle();
    let policies = [FIRST, SECOND, FULL, FIRST, FIRST].iter().cycle();
    for (departure, policy) in departures.zip(policies) {
        if Instant::now() >= end {
            return;
        }
        let visited = disconnects::visit(&mut eyelet(tree, policy), *departure, tree, pacer, tally);
        tally.check(visited);
        std::thread::sleep(VISIT_INTERVAL.min(end.saturating_duration_since(Instant::now())));
    }
}

/// Floods one server after the other.
fn flood_until(end: Instant, servers: &[Server]) {
    for server in servers.iter().cycle() {
        if Instant::now() >= end {
            return;
        }
        let calling = server.calls.read().unwrap_or_else(PoisonError::into_inner);
        floods::flood(&server.client, &server.tree);
        drop(calling);
        std::thread::sleep(FLOOD_INTERVAL.min(end.saturating_duration_since(Instant::now())));
    }
}

/// Watches saved output and zombies.
fn sample_until(end: Instant, servers: &[Server], tally: &Tally) {
    let mut zombies: HashMap<u32, u32> = HashMap::new();
    while Instant::now() < end {
        servers.iter().for_each(Server::sample_saved_output);
        let is_zombie = |process: &Process| process.is_zombie && !is_server(process.id);
        let now = own_descendants().into_iter().filter(is_zombie);
        let now = now.map(|process| (process.id, zombies.get(&process.id).unwrap_or(&0) + 1));
        zombies = now.collect();
        reap(zombies.iter().filter(|(_, samples)| **samples > 1).map(|(id, _)| *id));
        for (id, _) in zombies.iter().filter(|(_, samples)| **samples == ZOMBIE_SAMPLES) {
            tally.broken(format!("process {id} remains a zombie"));
        }
        std::thread::sleep(SAMPLE_INTERVAL);
    }
}

/// Closes the input of every server. Returns their trees and records, and how many invalid lines were not refused.
fn stop(servers: Vec<Server>, tally: &Tally) -> (Vec<(TempTree, PathBuf)>, usize) {
    let mut garbage = 0;
    let stopped = servers.into_iter().map(|server| {
        let Server { client, tree, name, record, .. } = server;
        client.close_input();
        match client.wait() {
            Ok(exit) => {
                garbage += exit.garbage;
                let Exit { status, unanswered, .. } = exit;
                if !status.success() || unanswered > 0 {
                    tally.broken(format!(
                        "{name}: {status}, {unanswered} requests without an answer"
                    ));
                }
            }
            Err(message) => tally.broken(format!("{name}: {message}")),
        }
        (tree, record)
    });
    (stopped.collect(), garbage)
}

/// Memory, descriptors, threads and processes of the servers: when the first calls had ended, after the warm-up, and at
/// the end.
fn report_usage(
    report: &mut Report,
    servers: &[Server],
    [first, warm, last]: [&[Usage]; 3],
    warm_up: Duration,
    tally: &Tally,
) {
    let usages = servers.iter().zip(first).zip(warm).zip(last);
    for (((server, first), warm), last) in usages {
        let Server { name, idle, saved, .. } = server;
        let idle_mib = idle.resident_mib;
        let value = format!("{idle_mib:.1} MiB");
        let demand = format!("≤ {MAX_IDLE_MIB} MiB");
        report.demand(
            &format!("{name}: memory before the first call"),
            value,
            &demand,
            idle_mib <= MAX_IDLE_MIB,
            tally,
        );
        let value = format!("{:.1} MiB", last.peak_mib);
        let demand = format!("≤ {MAX_PEAK_MIB} MiB");
        report.demand(
            &format!("{name}: peak memory"),
            value,
            &demand,
            last.peak_mib <= MAX_PEAK_MIB,
            tally,
        );
        let drift = last.resident_mib - warm.resident_mib;
        let value = format!(
            "{drift:+.1} MiB, from {:.1} to {:.1} MiB",
            warm.resident_mib, last.resident_mib
        );
        let what = format!("{name}: change of memory since {} s", warm_up.as_secs());
        if warm_up == WARM_UP {
            let demand = format!("≤ {MAX_DRIFT_MIB} MiB");
            report.demand(&what, value, &demand, drift <= MAX_DRIFT_MIB, tally);
        } else {
            report.row(&what, value);
        }
        let what = format!("{name}: open descriptors after the first calls and at the end");
        match (first.descriptors, last.descriptors) {
            (Some(first), Some(last)) => {
                let demand = format!("at most {MAX_DESCRIPTOR_DRIFT} more");
                let holds = last <= first + MAX_DESCRIPTOR_DRIFT;
                report.demand(&what, format!("{first}, {last}"), &demand, holds, tally);
            }
            _ => report.row(&what, "not counted: only root can"),
        }
        let value = format!("{}, {}", first.children, last.children);
        let holds = last.children <= idle.children;
        report.demand(
            &format!("{name}: child processes while nobody calls"),
            value,
            "none",
            holds,
            tally,
        );
        report.row(&format!("{name}: threads"), format!("{}, {}", first.threads, last.threads));
        let saved = saved.load(Ordering::Acquire);
        let demand = format!("≤ {MAX_SAVED_BYTES}");
        report.demand(
            &format!("{name}: most bytes of saved output"),
            saved,
            &demand,
            saved <= MAX_SAVED_BYTES,
            tally,
        );
    }
}
