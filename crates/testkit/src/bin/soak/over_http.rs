//! The soak over HTTP: many sessions of one server, which end and begin again, and clients without a session.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::json;
use testkit::TempTree;
use testkit::cli::command;
use testkit::workspace::{FIRST, marked, marker, within};

use crate::client::{Client as _, Outcome, Pacer, Request, is_busy};
use crate::files;
use crate::http_client::{HttpServer, Session};
use crate::mixed_calls::Visit;
use crate::processes::{Usage, adopt_orphans, open_files, server_directories, size_of};
use crate::report::Report;
use crate::tally::Tally;

/// How many sessions exist at once.
const SESSIONS: usize = 200;
/// How many clients without a session call beside them.
const ALONE: usize = 8;
/// Calls per second of all clients together.
const CALLS_PER_SECOND: u32 = 60;
/// A session ends after about this many deeds, and another begins.
const DEEDS_PER_SESSION: u32 = 60;
/// How long a first round of the same calls takes. What the server uses after it, it may use at the end.
const WARM_UP: Duration = Duration::from_secs(60);
/// How long calls and processes may outlive their clients, on a busy machine too.
const CLEAN_UP: Duration = Duration::from_secs(60);
/// The server returns memory of ended sessions to the system every minute.
const RELEASE: Duration = Duration::from_secs(65);
/// A shorter soak does not wait for that.
const LONG: Duration = Duration::from_secs(5 * 60);
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

const MAX_PEAK_MIB: f64 = 128.0;
const MAX_DRIFT_MIB: f64 = 10.0;
const MAX_DESCRIPTOR_DRIFT: usize = 2;
const SMALL_P99_MS: f64 = 100.0;

/// Runs the soak. Returns its report.
pub(crate) fn run(duration: Duration, tally: &Arc<Tally>) -> Result<String, String> {
    adopt_orphans()?;
    let mut report = Report::new(
        "Soak over HTTP",
        &format!(
            "One server and {SESSIONS} sessions at once, each with an open stream of notifications and mixed calls, and {ALONE} clients \
             that belong to no session, for {} s after a first round of {} s, at no more than {CALLS_PER_SECOND} calls per second. Sessions end and \
             begin again. Each request has a connection of its own.",
            duration.as_secs(),
            WARM_UP.min(duration / 4).as_secs()
        ),
    );
    let tree = files::tree();
    let token_file = tree.beside().join("token");
    let token = format!("{:032x}", fastrand::u128(..));
    fs::write(&token_file, &token)
        .and_then(|()| fs::set_permissions(&token_file, fs::Permissions::from_mode(0o600)))
        .map_err(|error| format!("{}: {error}", token_file.display()))?;
    let record = tree.beside().join("record.jsonl");
    let mut command = command(&tree);
    command.args(["mcp", "--http", "127.0.0.1:0", "--root", tree.str()]).args(FIRST);
    command.arg("--http-token-file").arg(&token_file).arg("--record").arg(&record);
    let server = HttpServer::start(&mut command, &token, tally)?;
    let idle = Usage::of(server.id)?;
    let pacer = Pacer::new(CALLS_PER_SECOND);

    // Everything once: what this leaves behind is there for good.
    let session = server.session()?;
    Visit { client: &session, tree: &tree, pacer: &pacer, random: Rng::new() }.all();
    session.end()?;
    let client = server.no_session();
    Visit { client: &client, tree: &tree, pacer: &pacer, random: Rng::new() }.all_without_session();
    let is_long = duration >= LONG;
    let most = Mutex::new(Most::default());
    let round = |time: Duration| {
        let end = Instant::now() + time;
        std::thread::scope(|scope| {
            for _ in 0..SESSIONS {
                scope.spawn(|| use_sessions_until(end, &server, &tree, &pacer, tally));
            }
            for _ in 0..ALONE {
                scope.spawn(|| call_without_session_until(end, &server, &tree, &pacer, tally));
            }
            scope.spawn(|| watch_until(end, &server, &tree, &most));
        });
        at_rest(&server, is_long, tally)
    };
    let first = round(WARM_UP.min(duration / 4))?;
    let last = round(duration)?;
    let most = most.into_inner().unwrap_or_else(PoisonError::into_inner);
    report_usage(&mut report, [idle, first, last], &most, server.id, is_long, tally);
    let sent = server.calls();
    match server.stop() {
        Ok(status) if status.success() => {}
        Ok(status) => tally.broken(format!("the server ended with {status}")),
        Err(message) => tally.broken(message),
    }
    report.counts(tally, SMALL_P99_MS);
    report.record(&[record], sent, tally);
    report.leftovers(&[&tree], tally);
    Ok(report.finish(tally))
}

/// The most that was seen at once.
#[derive(Default)]
struct Most {
    sessions: u64,
    descriptors: Option<usize>,
    threads: usize,
    children: usize,
    saved: u64,
}

/// What the server uses when every session and every call has ended.
fn at_rest(server: &HttpServer, is_long: bool, tally: &Tally) -> Result<Usage, String> {
    const BUSY: [&str; 10] = [
        "eyelet_sessions",
        "eyelet_running_jobs",
        "eyelet_queued_calls{kind=\"read\"}",
        "eyelet_queued_calls{kind=\"walk\"}",
        "eyelet_queued_calls{kind=\"command\"}",
        "eyelet_queued_calls{kind=\"wait\"}",
        "eyelet_running_calls{kind=\"read\"}",
        "eyelet_running_calls{kind=\"walk\"}",
        "eyelet_running_calls{kind=\"command\"}",
        "eyelet_running_calls{kind=\"wait\"}",
    ];
    let busy = || {
        let values = BUSY.iter().map(|name| (*name, server.metric(name)));
        values.filter(|(_, value)| value != &Ok(0)).collect::<Vec<_>>()
    };
    let has_children = || Usage::of(server.id).is_ok_and(|now| now.children > 0);
    if !within(CLEAN_UP, || busy().is_empty() && !has_children()) {
        tally.broken(format!("all clients are gone, but the server is busy: {:?}", busy()));
    }
    if is_long {
        std::thread::sleep(RELEASE);
    }
    Usage::of(server.id)
}

/// One session after the other, each with some calls.
fn use_sessions_until(
    end: Instant,
    server: &HttpServer,
    tree: &TempTree,
    pacer: &Pacer,
    tally: &Tally,
) {
    let mut random = Rng::new();
    while Instant::now() < end {
        let session = match server.session() {
            Ok(session) => session,
            Err(message) => {
                tally.broken(message);
                std::thread::sleep(Duration::from_secs(1));
                continue;
            }
        };
        let mut visit = Visit { client: &session, tree, pacer, random: random.fork() };
        for _ in 0..random.u32(1..2 * DEEDS_PER_SESSION) {
            if Instant::now() >= end {
                break;
            }
            match random.u8(..) {
                0..4 => tally.check(lose_connection(&session, pacer, &mut random)),
                4..6 => tally.check(abandon(&session, pacer, &mut random)),
                _ => visit.next(),
            }
        }
        tally.check(session.end());
    }
}

/// A command whose answer is ready before, or after, its client has connected again.
fn lose_connection(session: &Session<'_>, pacer: &Pacer, random: &mut Rng) -> Result<(), String> {
    pacer.wait(1);
    let number = random.u64(..);
    let command = format!("sleep 0.{}; echo {number}", random.u8(1..9));
    let request = Request::call("bash", &json!({ "command": command }).to_string());
    let pause = Duration::from_millis(random.u64(0..2000));
    match session.lose_connection(&request, pause)?.outcome {
        Outcome::Text(text) if text.contains(&number.to_string()) => Ok(()),
        Outcome::ToolError(message) if is_busy(&message) => Ok(()),
        other => Err(format!("after a lost connection: {other:?}")),
    }
}

/// A call whose client does not come back. It runs to its end.
fn abandon(session: &Session<'_>, pacer: &Pacer, random: &mut Rng) -> Result<(), String> {
    pacer.wait(1);
    let command = format!("sleep 0.{}; seq 30000", random.u8(1..9));
    let request = Request::call("bash", &json!({ "command": command }).to_string());
    session.tally().event("calls whose client did not come back");
    session.abandon(&request, Duration::from_millis(random.u64(0..200)))
}

/// Calls in the newest protocol version. If the client disconnects, the server cancels its call.
fn call_without_session_until(
    end: Instant,
    server: &HttpServer,
    tree: &TempTree,
    pacer: &Pacer,
    tally: &Tally,
) {
    let client = server.no_session();
    let mut visit = Visit { client: &client, tree, pacer, random: Rng::new() };
    while Instant::now() < end {
        if visit.random.u8(..) > 2 {
            visit.next_without_session();
            continue;
        }
        pacer.wait(1);
        let marker = marker();
        let arguments = json!({"command": format!("setsid sleep {marker} & sleep {marker}")});
        tally.event("calls without a session whose client disconnected");
        let request = Request::call("bash", &arguments.to_string());
        tally.check(client.abandon(&request, Duration::from_millis(visit.random.u64(0..500))));
        if !within(CLEAN_UP, || marked(&marker) == 0) {
            tally.broken("a command outlives the connection of its client");
        }
    }
}

fn watch_until(end: Instant, server: &HttpServer, tree: &TempTree, most: &Mutex<Most>) {
    while Instant::now() < end {
        let folders = server_directories(&tree.beside());
        let saved = folders.into_iter().map(|name| size_of(&tree.beside().join(name))).sum();
        let sessions = server.metric("eyelet_sessions").unwrap_or_default();
        if let Ok(now) = Usage::of(server.id) {
            let mut most = most.lock().unwrap_or_else(PoisonError::into_inner);
            *most = Most {
                sessions: most.sessions.max(sessions),
                descriptors: most.descriptors.max(now.descriptors),
                threads: most.threads.max(now.threads),
                children: most.children.max(now.children),
                saved: most.saved.max(saved),
            };
        }
        std::thread::sleep(SAMPLE_INTERVAL);
    }
}

fn report_usage(
    report: &mut Report,
    [idle, first, last]: [Usage; 3],
    most: &Most,
    id: u32,
    is_long: bool,
    tally: &Tally,
) {
    let number = most.sessions;
    report.demand(
        "most sessions at once",
        number,
        &SESSIONS.to_string(),
        number == SESSIONS as u64,
        tally,
    );
    report.row("memory before the first session", format!("{:.1} MiB", idle.resident_mib));
    let value = format!("{:.1} MiB", last.peak_mib);
    let demand = format!("≤ {MAX_PEAK_MIB} MiB");
    report.demand("peak memory", value, &demand, last.peak_mib <= MAX_PEAK_MIB, tally);
    let drift = last.resident_mib - first.resident_mib;
    let value =
        format!("{drift:+.1} MiB, from {:.1} to {:.1} MiB", first.resident_mib, last.resident_mib);
    let demand = format!("≤ {MAX_DRIFT_MIB} MiB");
    let what = "change of memory, from the end of a first round to the end";
    if is_long {
        report.demand(what, value, &demand, drift <= MAX_DRIFT_MIB, tally);
    } else {
        report.row(what, value);
    }
    let what = "open descriptors after the first round, at most, at the end";
    match (first.descriptors, most.descriptors, last.descriptors) {
        (Some(first), Some(most), Some(last)) => {
            let demand = format!("at most {MAX_DESCRIPTOR_DRIFT} more");
            let holds = last <= first + MAX_DESCRIPTOR_DRIFT;
            report.demand(what, format!("{first}, {most}, {last}"), &demand, holds, tally);
            if !holds {
                tally.broken(format!("open at the end: {}", open_files(id)));
            }
        }
        _ => report.row(what, "not counted: only root can"),
    }
    report.row("child processes at most", most.children);
    let demand = "none";
    let value = last.children;
    report.demand("child processes at the end", value, demand, value == 0, tally);
    report.row(
        "threads after the first round, at most, at the end",
        format!("{}, {}, {}", first.threads, most.threads, last.threads),
    );
    report.row("most bytes of saved output of all sessions", most.saved);
}
