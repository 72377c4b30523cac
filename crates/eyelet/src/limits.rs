//! The limits of all tools. A tool's own limits are at the top of its file.

use std::time::Duration;

/// The most bytes of a rendered reply.
pub const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// The time limit of `list_dir`, `grep_files` and `read`.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The most bytes of JSON arguments.
pub const MAX_ARGUMENT_BYTES: usize = 8 * 1024 * 1024;

/// Long work checks the deadline and the cancel flag at least this often.
pub const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// How many commands a server runs at once.
pub const MAX_COMMANDS: usize = 8;

/// How many calls that walk a tree a server runs at once.
pub const MAX_WALKS: usize = 4;

/// How many calls that read one file a server runs at once.
pub const MAX_READS: usize = 32;

/// How many calls of a kind may wait; one more is `busy`.
pub const MAX_QUEUE: usize = 128;

/// One limit, as `eyelet limits` and the README show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is limited.
    pub what: &'static str,
    /// The limit.
    pub value: u64,
    /// The unit of the limit.
    pub unit: &'static str,
    /// What happens at the limit.
    pub beyond: &'static str,
}

/// The limits of all tools.
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
