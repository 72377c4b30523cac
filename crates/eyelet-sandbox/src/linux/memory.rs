//! Watches how much memory the processes of a command use.
//!
//! Anonymous and shared memory count; the page cache does not. The system counts a page once per process that has it,
//! so a sum above the limit is confirmed with the proportional sizes, which take longer to get.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::{descendants, sys};
use crate::memory_limit::{MemoryLimit, kilobytes};

/// How often to look.
const INTERVAL: Duration = Duration::from_millis(250);
/// When the machine runs out of memory, the kernel adds so many thousandths of it to what a process uses, and kills
/// the largest one.
const OOM_SCORE: i32 = 500;

pub(super) struct MemoryWatch {
    limit: MemoryLimit,
    /// The limit in bytes, since the first look. None if there is none.
    bytes: Option<Option<u64>>,
    next: Instant,
}

/// The resident memory of one process.
#[derive(Clone, Copy)]
struct Process {
    pid: Pid,
    bytes: u64,
}

impl MemoryWatch {
    pub(super) fn new(limit: MemoryLimit) -> Self {
        MemoryWatch { limit, bytes: None, next: Instant::now() + INTERVAL }
    }

    /// When to look next.
    pub(super) fn next_check(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// The limit, if the descendants of `init` exceed it. Looks only if it is time.
    pub(super) fn exceeded(&mut self, init: Pid) -> Option<u64> {
        let start = Instant::now();
        if start < self.next {
            return None;
        }
        let limit = *self.bytes.get_or_insert_with(|| self.limit.bytes());
        let exceeded = limit.filter(|limit| uses_more_than(*limit, init));
        // Most of the time is for other work: the proportional sizes of many processes take long.
        self.next = Instant::now() + INTERVAL.max(start.elapsed() * 4);
        exceeded
    }
}

fn uses_more_than(limit: u64, init: Pid) -> bool {
    let processes: Vec<_> = descendants::below(init).into_iter().filter_map(look).collect();
    let sum: u64 = processes.iter().map(|process| process.bytes).sum();
    sum > limit && proportional(&processes) > limit
}

fn look(pid: Pid) -> Option<Process> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_pid())).ok()?;
    let bytes = sum(&status, ["RssAnon:", "RssShmem:"])?;
    Some(Process { pid, bytes })
}

/// The memory of these processes, shared pages once.
fn proportional(processes: &[Process]) -> u64 {
    let mut counted: Vec<Process> = Vec::new();
    let mut total = 0;
    for process in processes {
        // Between `vfork` and `exec`, a process uses the memory of its parent.
        let is_same = |other: &Process| {
            other.bytes == process.bytes && sys::have_same_memory(other.pid, process.pid)
        };
        if counted.iter().any(is_same) {
            continue;
        }
        counted.push(*process);
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", process.pid.as_raw_pid()));
        let own = rollup.ok().and_then(|rollup| sum(&rollup, ["Pss_Anon:", "Pss_Shmem:"]));
        // A process can forbid to look at it closely.
        total += own.unwrap_or(process.bytes);
    }
    total
}

fn sum(text: &str, names: [&str; 2]) -> Option<u64> {
    names.into_iter().map(|name| kilobytes(text, name)).sum()
}

/// Makes the kernel choose this process and its descendants first when the machine runs out of memory.
pub(super) fn offer_to_oom_killer() {
    const PATH: &str = "/proc/self/oom_score_adj";
    let now = fs::read_to_string(PATH).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if now.is_some_and(|now| now < OOM_SCORE) {
        // The limit holds without it.
        let _ = fs::write(PATH, OOM_SCORE.to_string());
    }
}
