//! The limits of all tools. The limits of one tool are in its module and in
//! [`ToolDefinition::limits`](crate::ToolDefinition::limits).

use std::time::Duration;

/// The maximum size of a rendered reply, in bytes.
pub const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// The time limit of `list_dir`, `find_files`, `grep_files` and `read`: 30 seconds.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The maximum size of the JSON arguments, in bytes.
pub const MAX_ARGUMENT_BYTES: usize = 8 * 1024 * 1024;

/// The maximum length of an error message, in bytes. A longer message, such as one that quotes long
/// arguments, is truncated in the middle.
pub const MAX_ERROR_BYTES: usize = 3000;

/// The maximum time between two checks of a long-running call for its deadline and cancel flag: 20
/// milliseconds.
pub const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// The maximum number of commands that a server runs at once.
pub const MAX_COMMANDS: usize = 8;

/// The maximum number of calls that walk a directory tree and run at once in a server.
pub const MAX_WALKS: usize = 4;

/// The maximum number of calls that read one file and run at once in a server.
pub const MAX_READS: usize = 32;

/// The maximum number of jobs that a session runs at once.
pub const MAX_JOBS: usize = 8;

/// The maximum number of jobs that all sessions of a server run at once.
pub const MAX_JOBS_OF_ALL_SESSIONS: usize = 64;

/// The maximum number of ended jobs that a session remembers.
pub const MAX_ENDED_JOBS: usize = 32;

/// The maximum number of `jobs` calls of a server that wait for the end of a job.
pub const MAX_JOB_WAITS: usize = 64;

/// The maximum number of calls of each kind ([`Load`](crate::Load)) that wait in a session. Further
/// calls fail with `busy`.
pub const MAX_QUEUE: usize = 128;

/// The maximum number of calls of each kind ([`Load`](crate::Load)) that wait in all sessions
/// together. Further calls fail with `busy`.
pub const MAX_QUEUE_OF_ALL: usize = 1024;

/// The maximum number of sessions of a server over HTTP.
pub const MAX_SESSIONS: usize = 256;

/// How long to wait before repeating a call that failed with `busy`.
pub const BUSY_RETRY: Duration = Duration::from_secs(3);

/// One limit, as `eyelet limits` and the documentation show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limit {
    /// The thing that is limited, such as `size of a reply`.
    pub what: &'static str,
    /// The number of the limit.
    pub value: u64,
    /// The unit of the number, such as `bytes`.
    pub unit: &'static str,
    /// What happens if the limit is exceeded.
    pub beyond: &'static str,
}

impl Limit {
    /// Creates a limit. [`Limit::beyond`] sets what happens if the limit is exceeded.
    pub const fn new(what: &'static str, value: u64, unit: &'static str) -> Self {
        Limit { what, value, unit, beyond: "" }
    }

    /// Sets what happens if the limit is exceeded.
    #[must_use]
    pub const fn beyond(self, beyond: &'static str) -> Self {
        Limit { beyond, ..self }
    }
}

/// The limits of all tools.
pub const ALL_TOOLS: &[Limit] = &[
    Limit::new("size of a reply", MAX_ANSWER_BYTES as u64, "bytes")
        .beyond("fails with `too_large`; use a smaller limit"),
    Limit::new("size of the JSON arguments", MAX_ARGUMENT_BYTES as u64, "bytes")
        .beyond("fails with `too_large`"),
    Limit::new("length of an error message", MAX_ERROR_BYTES as u64, "bytes")
        .beyond("truncated in the middle"),
    Limit::new("run time of a call, except `bash` and `jobs`", TIME_LIMIT.as_secs(), "seconds")
        .beyond("fails with `timed_out`; for a text file, `read` returns the lines read so far"),
];

/// The limits of a server, such as how many calls run at once.
pub const SERVER: &[Limit] = &[
    Limit::new("concurrent `bash` calls", MAX_COMMANDS as u64, "calls").beyond(WAITS),
    Limit::new(
        "concurrent `list_dir`, `find_files` and `grep_files` calls",
        MAX_WALKS as u64,
        "calls",
    )
    .beyond(WAITS),
    Limit::new("concurrent `read` calls", MAX_READS as u64, "calls").beyond(WAITS),
    Limit::new("running jobs of a session", MAX_JOBS as u64, "jobs")
        .beyond("fails with `busy`; stop a job with `jobs`"),
    Limit::new("running jobs of all sessions", MAX_JOBS_OF_ALL_SESSIONS as u64, "jobs")
        .beyond("fails with `busy`; retry later"),
    Limit::new("`jobs` calls that wait for a job", MAX_JOB_WAITS as u64, "calls")
        .beyond("fails with `busy`; retry without `wait_secs`"),
    Limit::new("waiting calls of one session, per kind of call", MAX_QUEUE as u64, "calls")
        .beyond(BUSY),
    Limit::new("waiting calls of all sessions, per kind of call", MAX_QUEUE_OF_ALL as u64, "calls")
        .beyond(BUSY),
    Limit::new("sessions over HTTP", MAX_SESSIONS as u64, "sessions")
        .beyond("a new session ends the session that was idle the longest"),
];

const BUSY: &str =
    "fails with `busy`; retry later (the kinds are `bash`, `read`, `jobs` and all others)";
const WAITS: &str = "further calls of these tools wait; calls of other tools do not";
