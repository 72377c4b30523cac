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
/// How long to confirm a sum at a time: protected paths have to be restored meanwhile.
const PART: Duration = Duration::from_millis(50);
/// When the machine runs out of memory, the kernel adds so many thousandths of it to what a process uses, and kills
/// the largest one.
const OOM_SCORE: i32 = 500;

pub(super) struct MemoryWatch {
    limit: MemoryLimit,
    /// The limit in bytes, since the first look. None if there is none.
    bytes: Option<Option<u64>>,
    next: Instant,
    /// The confirmation of a sum above the limit, if it is not complete.
    confirmation: Option<Confirmation>,
}

/// The resident memory of one process.
#[derive(Clone, Copy)]
struct Process {
    pid: Pid,
    bytes: u64,
}

impl MemoryWatch {
    pub(super) fn new(limit: MemoryLimit) -> Self {
        let next = Instant::now() + INTERVAL;
        MemoryWatch { limit, bytes: None, next, confirmation: None }
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
        let Some(limit) = *self.bytes.get_or_insert_with(|| self.limit.bytes()) else {
            self.next = start + INTERVAL;
            return None;
        };
        let mut confirmation =
            self.confirmation.take().unwrap_or_else(|| Confirmation::new(init, limit));
        let confirmed = confirmation.proceed(start + PART);
        confirmation.spent += start.elapsed();
        match confirmed {
            // Most of the time is for other work: the proportional sizes of many processes take long.
            Some(_) => self.next = Instant::now() + INTERVAL.max(confirmation.spent * 4),
            None => self.confirmation = Some(confirmation),
        }
        confirmed.filter(|exceeds| *exceeds).map(|_| limit)
    }
}

/// Whether processes exceed the limit if the memory that they share counts once. A command can have processes whose
/// proportional sizes take many seconds, so they are added up in parts.
struct Confirmation {
    limit: u64,
    /// The processes whose proportional sizes are not added up yet. None if their sum is below the limit.
    todo: Vec<Process>,
    counted: Vec<Process>,
    total: u64,
    spent: Duration,
}

impl Confirmation {
    fn new(init: Pid, limit: u64) -> Self {
        let mut todo: Vec<_> = descendants::below(init).into_iter().filter_map(look).collect();
        if todo.iter().map(|process| process.bytes).sum::<u64>() <= limit {
            todo.clear();
        }
        Confirmation { limit, todo, counted: Vec::new(), total: 0, spent: Duration::ZERO }
    }

    /// Continues until this time, with at least one process. None if it is not complete.
    fn proceed(&mut self, until: Instant) -> Option<bool> {
        while let Some(process) = self.todo.pop() {
            // Between `vfork` and `exec`, a process uses the memory of its parent.
            let is_same = |other: &Process| {
                other.bytes == process.bytes && sys::have_same_memory(other.pid, process.pid)
            };
            if !self.counted.iter().any(is_same) {
                self.counted.push(process);
                self.total += proportional(process);
            }
            if self.total > self.limit {
                return Some(true);
            }
            if !self.todo.is_empty() && Instant::now() >= until {
                return None;
            }
        }
        Some(false)
    }
}

fn look(pid: Pid) -> Option<Process> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_pid())).ok()?;
    let bytes = sum(&status, ["RssAnon:", "RssShmem:"])?;
    Some(Process { pid, bytes })
}

/// The memory of a process; of what it shares, its part.
fn proportional(process: Process) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", process.pid.as_raw_pid()));
    let own = rollup.ok().and_then(|rollup| sum(&rollup, ["Pss_Anon:", "Pss_Shmem:"]));
    // A process can forbid to look at it closely. One that has exited has no memory.
    own.or_else(|| look(process.pid).map(|process| process.bytes)).unwrap_or(0)
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

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
