//! Clients that go away: the server exits, and leaves no process and no file.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::TempTree;
use testkit::workspace::{marked, marker, within};

use crate::client::{Client as _, Pacer, Request};
use crate::mixed_calls::Visit;
use crate::processes::server_directories;
use crate::stdio_client::{Reading, StdioClient};
use crate::tally::Tally;

/// How long processes and files of a server may outlive it, on a busy machine too.
const CLEAN_UP: Duration = Duration::from_secs(20);

/// How a client goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// It closes the server's input; what it asked before is answered.
    ClosesInput,
    /// It closes the input in the middle of a line.
    ClosesInputMidLine,
    /// It closes the server's output.
    ClosesOutput,
    /// It stops the server with a signal.
    Terminates,
    /// It kills the server.
    Kills,
    /// It never says anything.
    SaysNothing,
}

use Departure::{ClosesInput, ClosesInputMidLine, ClosesOutput, Kills, SaysNothing, Terminates};

pub(crate) const ALL: [Departure; 6] =
    [ClosesInput, ClosesInputMidLine, ClosesOutput, Terminates, Kills, SaysNothing];

impl Departure {
    fn name(self) -> &'static str {
        match self {
            ClosesInput => "servers whose input was closed",
            ClosesInputMidLine => "servers whose input was closed in the middle of a line",
            ClosesOutput => "servers whose output was closed",
            Terminates => "servers that got SIGTERM",
            Kills => "servers that got SIGKILL",
            SaysNothing => "servers whose client said nothing",
        }
    }
}

/// Starts a server with `command`, makes a few calls, goes away, and checks what is left in the temp directory of `tree`.
pub(crate) fn visit(
    command: &mut Command,
    departure: Departure,
    tree: &TempTree,
    pacer: &Pacer,
    tally: &Arc<Tally>,
) -> Result<(), String> {
    tally.event(departure.name());
    let reading = if departure == ClosesOutput { Reading::Lines(3) } else { Reading::All };
    let client = StdioClient::start(command, reading, tally)?;
    let marker = marker();
    let mut quick = 0;
    if departure != SaysNothing {
        client.initialize()?;
        let mut visit = Visit { client: &client, tree, pacer, random: fastrand::Rng::new() };
        if departure != ClosesOutput {
            visit.small_call();
            visit.small_call();
        }
        match ask(&client, &marker, pacer) {
            Ok(asked) => quick = asked,
            // The server may have noticed already, and ended.
            Err(_) if departure == ClosesOutput => {}
            Err(message) => return Err(message),
        }
    }
    let is_cut = matches!(departure, SaysNothing | ClosesOutput);
    if !is_cut && !within(CLEAN_UP, || marked(&marker) > 0) {
        return Err(format!("{departure:?}: the command did not start"));
    }
    let start = Instant::now();
    match departure {
        ClosesInput | SaysNothing => client.close_input(),
        ClosesInputMidLine => client.close_input_mid_line()?,
        // It stops at the next line, as the reader does.
        ClosesOutput => {
            let _ = client.send(&Request::new("ping", &json!({})));
        }
        Terminates => client.signal("TERM")?,
        Kills => client.signal("KILL")?,
    }
    let exit = client.wait()?;
    let time = start.elapsed();
    if departure != Kills && !exit.status.success() {
        return Err(format!("{departure:?}: the server ended with {}", exit.status));
    }
    let mut counts = tally.counts();
    let slowest = counts.slowest_exit.entry(departure.name()).or_default();
    *slowest = time.max(*slowest);
    drop(counts);
    // A command that was killed may have no answer.
    if matches!(departure, ClosesInput | ClosesInputMidLine)
        && exit.unanswered + exit.garbage as u64 > 1
    {
        let (unanswered, garbage) = (exit.unanswered, exit.garbage);
        return Err(format!(
            "{departure:?}: {unanswered} of {quick} requests and {garbage} invalid lines were not answered"
        ));
    }
    if !within(CLEAN_UP, || marked(&marker) == 0) {
        return Err(format!("{departure:?}: a command outlives its server"));
    }
    // After SIGKILL, the next start removes the files.
    let files = server_directories(&tree.beside());
    if departure != Kills && !files.is_empty() {
        return Err(format!("{departure:?}: files are left: {}", files.join(", ")));
    }
    Ok(())
}

/// Sends quick calls, a command that sleeps and a job that sleeps. Does not read the answers. Returns their number.
fn ask(client: &StdioClient, marker: &str, pacer: &Pacer) -> Result<usize, String> {
    let sleep = format!("seq 50000; (setsid sleep {marker} &); sleep {marker}");
    let job = json!({"command": format!("exec sleep {marker}"), "background": true});
    let calls = [
        ("bash", json!({ "command": sleep })),
        ("bash", job),
        ("read", json!({"path": "notes.txt"})),
        ("grep_files", json!({"pattern": "needle", "show": "lines"})),
        ("find_files", json!({"pattern": "*.rs"})),
    ];
    for (tool, arguments) in &calls {
        pacer.wait(1);
        client.send(&Request::call(tool, &arguments.to_string()))?;
    }
    Ok(calls.len())
}
