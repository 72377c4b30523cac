//! Counters and latencies per tool, and the current number of sessions, calls and jobs, in the
//! Prometheus text format.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::call_summary::CallSummary;
use crate::thread_pool::LaneState;

/// Upper bounds of the latency histogram, in seconds.
const BUCKETS: [f64; 11] = [0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 120.0, 300.0, 600.0];

/// The counters of every tool.
pub(crate) struct Metrics {
    tools: Vec<Tool>,
}

#[derive(Default)]
struct Tool {
    name: &'static str,
    calls: AtomicU64,
    errors: AtomicU64,
    micros: AtomicU64,
    buckets: [AtomicU64; BUCKETS.len()],
    shown: AtomicU64,
    withheld: AtomicU64,
    refusals: AtomicU64,
}

/// The labels and the value of each line of a metric.
type Values = Vec<(String, usize)>;
type Counter = fn(&Tool) -> &AtomicU64;

/// The current number of sessions, calls and jobs.
pub(crate) struct Gauges {
    pub(crate) sessions: usize,
    pub(crate) lanes: [LaneState; 4],
    pub(crate) running_jobs: usize,
}

impl Metrics {
    pub(crate) fn new(names: impl Iterator<Item = &'static str>) -> Self {
        Metrics { tools: names.map(|name| Tool { name, ..Tool::default() }).collect() }
    }

    /// Counts a call; ignores tools that the server does not provide.
    pub(crate) fn add(&self, call: &CallSummary<'_>) {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == call.tool) else { return };
        let reply = call.reply;
        let add = |counter: &AtomicU64, count| {
            counter.fetch_add(count, Ordering::Relaxed);
        };
        add(&tool.calls, 1);
        add(&tool.errors, u64::from(reply.error.is_some()));
        add(&tool.micros, u64::try_from(call.time.as_micros()).unwrap_or(u64::MAX));
        add(&tool.shown, reply.shown);
        add(&tool.withheld, reply.withheld);
        add(&tool.refusals, reply.facts.refusal_count);
        for (bucket, bound) in tool.buckets.iter().zip(BUCKETS) {
            add(bucket, u64::from(call.time.as_secs_f64() <= bound));
        }
    }

    /// Renders everything in the Prometheus text format.
    pub(crate) fn render(&self, now: &Gauges) -> String {
        let mut text = String::new();
        now.render(&mut text);
        let counters: [(&str, &str, Counter); 5] = [
            ("calls", "Number of tool calls.", |tool| &tool.calls),
            ("errors", "Number of tool calls that returned an error.", |tool| &tool.errors),
            ("shown_bytes", "Bytes of text in replies.", |tool| &tool.shown),
            ("withheld_bytes", "Bytes of tool output that replies did not include.", |tool| {
                &tool.withheld
            }),
            (
                "sandbox_refusals",
                "Number of actions of commands that the sandbox refused or undid.",
                |tool| &tool.refusals,
            ),
        ];
        // Writing to a string cannot fail.
        for (name, help, counter) in counters {
            let _ = writeln!(text, "# HELP eyelet_{name}_total {help}");
            let _ = writeln!(text, "# TYPE eyelet_{name}_total counter");
            for tool in &self.tools {
                let count = counter(tool).load(Ordering::Relaxed);
                let _ = writeln!(text, "eyelet_{name}_total{{tool=\"{}\"}} {count}", tool.name);
            }
        }
        let name = "eyelet_call_seconds";
        let _ = writeln!(
            text,
            "# HELP {name} Duration of tool calls in seconds.\n# TYPE {name} histogram"
        );
        for tool in &self.tools {
            let label = tool.name;
            let calls = tool.calls.load(Ordering::Relaxed);
            for (bucket, bound) in tool.buckets.iter().zip(BUCKETS) {
                let count = bucket.load(Ordering::Relaxed);
                let _ = writeln!(text, "{name}_bucket{{tool=\"{label}\",le=\"{bound}\"}} {count}");
            }
            let _ = writeln!(text, "{name}_bucket{{tool=\"{label}\",le=\"+Inf\"}} {calls}");
            let seconds = tool.micros.load(Ordering::Relaxed) as f64 / 1e6;
            let _ = writeln!(text, "{name}_sum{{tool=\"{label}\"}} {seconds}");
            let _ = writeln!(text, "{name}_count{{tool=\"{label}\"}} {calls}");
        }
        text
    }
}

impl Gauges {
    fn render(&self, text: &mut String) {
        let version = env!("CARGO_PKG_VERSION");
        let lane = |count: fn(&LaneState) -> usize| {
            let lanes = self.lanes.iter();
            lanes.map(move |lane| (format!("{{kind=\"{}\"}}", lane.kind), count(lane))).collect()
        };
        let gauges: [(&str, &str, Values); 5] = [
            (
                "build_info",
                "The version of eyelet.",
                vec![(format!("{{version=\"{version}\"}}"), 1)],
            ),
            ("sessions", "Number of open sessions.", vec![(String::new(), self.sessions)]),
            (
                "queued_calls",
                "Number of tool calls that wait for a free thread.",
                lane(|lane| lane.waiting),
            ),
            ("running_calls", "Number of tool calls that are running.", lane(|lane| lane.running)),
            (
                "running_jobs",
                "Number of background jobs that are running.",
                vec![(String::new(), self.running_jobs)],
            ),
        ];
        for (name, help, values) in gauges {
            let _ = writeln!(text, "# HELP eyelet_{name} {help}\n# TYPE eyelet_{name} gauge");
            for (labels, value) in values {
                let _ = writeln!(text, "eyelet_{name}{labels} {value}");
            }
        }
    }
}
