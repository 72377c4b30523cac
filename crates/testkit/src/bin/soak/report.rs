//! What a soak measured, as a page of text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use testkit::TempTree;
use testkit::workspace::within;

use crate::processes::{own_descendants, reap, server_directories};
use crate::tally::{Beside, Counts, Tally, quantile};

/// How long processes may outlive the servers, on a busy machine too.
const CLEAN_UP: Duration = Duration::from_secs(20);

/// A page with the numbers of a soak.
pub(crate) struct Report {
    text: String,
    load_before: String,
}

impl Report {
    pub(crate) fn new(title: &str, about: &str) -> Report {
        let text =
            format!("# {title}\n\n{about}\n\n| measured | value | demand |\n|---|---|---|\n");
        Report { text, load_before: load() }
    }

    pub(crate) fn row(&mut self, what: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.text, "| {what} | {value} | |");
    }

    /// A number that decides whether the soak passes.
    pub(crate) fn demand(
        &mut self,
        what: &str,
        value: impl std::fmt::Display,
        demand: &str,
        holds: bool,
        tally: &Tally,
    ) {
        let mark = if holds { "" } else { "**broken**: " };
        let _ = writeln!(self.text, "| {what} | {mark}{value} | {demand} |");
        if !holds {
            tally.broken(format!("{what}: {value}; demanded: {demand}"));
        }
    }

    /// A number that should be so, but depends on what else the machine does.
    pub(crate) fn aim(
        &mut self,
        what: &str,
        value: impl std::fmt::Display,
        aim: &str,
        is_met: bool,
    ) {
        let mark = if is_met { "" } else { "missed: " };
        let _ = writeln!(self.text, "| {what} | {mark}{value} | {aim} (aim) |");
    }

    /// The rows that all soaks have.
    pub(crate) fn counts(&mut self, tally: &Tally, small_p99_ms: f64) {
        let counts = tally.counts();
        let calls: u64 = counts.calls.values().sum();
        let by_tool: Vec<_> = counts.calls.iter().map(|(tool, n)| format!("{tool} {n}")).collect();
        let accounted = counts.answers + counts.cancelled + counts.disconnected;
        let (requests, broken) = (counts.requests, accounted != counts.requests);
        self.row("calls of tools", format!("{calls} ({})", by_tool.join(", ")));
        self.row("requests, with those of other methods", requests);
        self.row("answers", counts.answers);
        self.row(
            "cancelled requests",
            format!(
                "{}, of which {} were answered all the same",
                counts.cancelled, counts.cancelled_and_answered
            ),
        );
        self.row(
            "requests that were open when their client or server went away",
            counts.disconnected,
        );
        self.row(
            "errors of tools",
            format!("{}, of which {} say that the server is busy", counts.tool_errors, counts.busy),
        );
        let protocol: Vec<_> =
            counts.protocol_errors.iter().map(|(code, n)| format!("{code}: {n}")).collect();
        self.row("protocol errors by code", protocol.join(", "));
        self.row("reports of progress", counts.progress);
        self.row("floods, bursts", format!("{}, {}", counts.floods, counts.bursts));
        for (event, number) in &counts.events {
            self.row(event, number);
        }
        for (event, time) in &counts.slowest_exit {
            self.row(&format!("slowest exit of {event}"), format!("{:.2} s", time.as_secs_f64()));
        }
        self.small_calls(&counts, small_p99_ms);
        drop(counts);
        self.demand(
            "requests that are neither answered, cancelled nor cut off",
            requests.abs_diff(accounted),
            "0: every id exactly once",
            !broken,
            tally,
        );
    }

    fn small_calls(&mut self, counts: &Counts, small_p99_ms: f64) {
        for (beside, times) in &counts.small_calls {
            let name = match beside {
                Beside::MixedCalls => "small reads and lists",
                Beside::Floods => "small reads and lists while floods run",
                Beside::Burst => "small reads and lists behind a burst of searches",
            };
            let [p50, p99, most] =
                [0.5, 0.99, 1.0].map(|share| quantile(times, share).unwrap_or(f64::NAN));
            let number = times.len();
            let value =
                format!("p50 {p50:.2} ms, p99 {p99:.1} ms, slowest {most:.0} ms of {number}");
            match beside {
                Beside::Burst => self.row(name, value),
                Beside::MixedCalls | Beside::Floods => {
                    self.aim(
                        name,
                        value,
                        &format!("p99 ≤ {small_p99_ms:.0} ms"),
                        p99 <= small_p99_ms,
                    );
                }
            }
        }
    }

    /// Compares the record of calls with the calls that the clients sent.
    pub(crate) fn record(&mut self, files: &[impl AsRef<Path>], sent: u64, tally: &Tally) {
        let (mut lines, mut errors) = (0, BTreeMap::<String, u64>::new());
        for file in files {
            // Each server writes less than what makes it start another file.
            let text = fs::read_to_string(file).unwrap_or_default();
            for line in text.lines() {
                lines += 1;
                let call: Value = serde_json::from_str(line).unwrap_or_default();
                if let Some(code) = call["error"].as_str() {
                    *errors.entry(code.to_owned()).or_default() += 1;
                }
            }
        }
        let errors: Vec<_> = errors.iter().map(|(code, n)| format!("{code} {n}")).collect();
        self.row("errors by code in the record of calls", errors.join(", "));
        self.demand("calls in the record", lines, &format!("{sent}: all"), lines == sent, tally);
    }

    /// What is left when every server has ended.
    pub(crate) fn leftovers(&mut self, trees: &[&TempTree], tally: &Tally) {
        within(CLEAN_UP, || {
            let left = own_descendants();
            reap(left.iter().filter(|process| process.is_zombie).map(|process| process.id));
            left.is_empty()
        });
        let left: Vec<_> = own_descendants().into_iter().map(|process| process.name).collect();
        let value = format!("{} {}", left.len(), left.join(", "));
        self.demand("processes left", value.trim(), "0", left.is_empty(), tally);
        let left = trees.iter().flat_map(|tree| server_directories(&tree.beside()));
        let left: Vec<_> = left.collect();
        let value = format!("{} {}", left.len(), left.join(", "));
        self.demand("temp directories left", value.trim(), "0", left.is_empty(), tally);
    }

    /// The page, with the machine and the promises that are broken.
    pub(crate) fn finish(mut self, tally: &Tally) -> String {
        let machine = [
            ("processor", first_value("/proc/cpuinfo", "model name")),
            ("cores", std::thread::available_parallelism().map_or(0, usize::from).to_string()),
            ("memory", first_value("/proc/meminfo", "MemTotal")),
            ("kernel", stdout("uname", &["-sr"])),
            ("finished", stdout("date", &["-u", "+%Y-%m-%d %H:%M UTC"])),
            ("load average before and after", format!("{}; {}", self.load_before, load())),
        ];
        self.text.push('\n');
        for (name, value) in machine {
            let _ = writeln!(self.text, "- {name}: {value}");
        }
        let counts = tally.counts();
        let _ = match counts.broken_count {
            0 => writeln!(self.text, "\nEvery promise held."),
            number => writeln!(self.text, "\n{number} promises are broken:\n"),
        };
        for message in &counts.broken {
            let _ = writeln!(self.text, "- {}", message.replace('\n', " "));
        }
        self.text
    }
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn first_value(file: &str, key: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(name, _)| name.trim() == key)
        .map_or_else(String::new, |(_, value)| value.trim().to_owned())
}

fn stdout(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
