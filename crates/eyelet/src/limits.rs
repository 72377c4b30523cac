//! The numbers that hold for every tool. A tool's own numbers stand at the top of its file.

use std::time::Duration;

/// No answer is larger than this, in bytes as rendered.
pub const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// How long `list_dir`, `grep_files` and `read` may work on one call.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Arguments above this many bytes of JSON are refused unread.
pub const MAX_ARGUMENT_BYTES: usize = 8 * 1024 * 1024;

/// How often long work looks at its deadline and cancel flag: at least once in this time.
pub const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// How many commands a server runs at once.
pub const MAX_COMMANDS: usize = 8;

/// How many calls that walk a tree a server runs at once.
pub const MAX_WALKS: usize = 4;

/// How many calls that read one file a server runs at once.
pub const MAX_READS: usize = 32;

/// How many calls of a kind wait while as many as may run do; one more is `busy`.
pub const MAX_QUEUE: usize = 128;

/// One number that bounds a tool, as `eyelet limits` and the README show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is bounded.
    pub what: &'static str,
    /// The number.
    pub value: u64,
    /// What it counts.
    pub unit: &'static str,
    /// What happens at the limit.
    pub beyond: &'static str,
}

/// The limits of every tool together.
pub const ALL_TOOLS: &[Limit] = &[
    Limit {
        what: "an answer",
        value: MAX_ANSWER_BYTES as u64,
        unit: "bytes",
        beyond: "`too_large`, and how to ask for less",
    },
    Limit {
        what: "the JSON of the arguments",
        value: MAX_ARGUMENT_BYTES as u64,
        unit: "bytes",
        beyond: "`too_large`",
    },
    Limit {
        what: "time for `list_dir`, `grep_files` and `read`",
        value: TIME_LIMIT.as_secs(),
        unit: "seconds",
        beyond: "`timed_out`; `read` still answers, and says that its total is not exact",
    },
];

/// The limits of a server: how many calls it runs at once.
pub const SERVER: &[Limit] = &[
    Limit {
        what: "`bash` calls at once",
        value: MAX_COMMANDS as u64,
        unit: "calls",
        beyond: WAITS,
    },
    Limit {
        what: "`list_dir` and `grep_files` calls at once",
        value: MAX_WALKS as u64,
        unit: "calls",
        beyond: WAITS,
    },
    Limit { what: "`read` calls at once", value: MAX_READS as u64, unit: "calls", beyond: WAITS },
    Limit {
        what: "calls of each of these kinds that wait",
        value: MAX_QUEUE as u64,
        unit: "calls",
        beyond: "`busy`; call again when some have answered",
    },
];

const WAITS: &str = "waits for its turn; other kinds are not held up";
