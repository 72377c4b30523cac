//! Counters and latencies per tool, in the Prometheus text format.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the latency histogram, in seconds.
const BUCKETS: [f64; 8] = [0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0];

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
}

type Counter = fn(&Tool) -> &AtomicU64;

/// The measured outcome of one call.
pub(crate) struct Outcome {
    pub(crate) time: Duration,
    pub(crate) is_error: bool,
    pub(crate) shown: u64,
    pub(crate) withheld: u64,
}

impl Metrics {
    pub(crate) fn new(names: impl Iterator<Item = &'static str>) -> Self {
        Metrics { tools: names.map(|name| Tool { name, ..Tool::default() }).collect() }
    }

    /// Counts a call; ignores tools that the server does not provide.
    pub(crate) fn add(&self, name: &str, outcome: &Outcome) {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else { return };
        let add = |counter: &AtomicU64, count| {
            counter.fetch_add(count, Ordering::Relaxed);
        };
        add(&tool.calls, 1);
        add(&tool.errors, u64::from(outcome.is_error));
        add(&tool.micros, u64::try_from(outcome.time.as_micros()).unwrap_or(u64::MAX));
        add(&tool.shown, outcome.shown);
        add(&tool.withheld, outcome.withheld);
        for (bucket, bound) in tool.buckets.iter().zip(BUCKETS) {
            add(bucket, u64::from(outcome.time.as_secs_f64() <= bound));
        }
    }

    /// Renders all counters in the Prometheus text format.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        let counters: [(&str, &str, Counter); 4] = [
            ("calls", "Number of tool calls.", |tool| &tool.calls),
            ("errors", "Number of tool calls that returned an error.", |tool| &tool.errors),
            ("shown_bytes", "Bytes in replies.", |tool| &tool.shown),
            ("withheld_bytes", "Bytes of tool output that replies did not include.", |tool| {
                &tool.withheld
            }),
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
