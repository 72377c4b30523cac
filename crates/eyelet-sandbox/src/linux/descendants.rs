//! The descendants of this process: finding, signalling, reaping and killing them.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

use crate::process_stat::ProcessStat;

/// How often to check whether killed processes are gone.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Sends a signal to every descendant.
pub(super) fn signal(signal: Signal) {
    for pid in descendants() {
        // It may have exited meanwhile.
        let _ = kill_process(pid, signal);
    }
}

/// Kills every descendant, if there is any, and waits at most `time` for their exit: a process that hangs
/// inside the kernel does not die.
pub(super) fn kill_all(time: Duration) {
    if is_empty() {
        return;
    }
    let until = Instant::now() + time;
    loop {
        // Stop all of them first: none may fork while the others are killed.
        signal(Signal::STOP);
        signal(Signal::KILL);
        if is_empty() || Instant::now() >= until {
            return;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Reaps exited children; returns whether none is left. Orphans become children of this process, so no
/// child means no descendant.
pub(super) fn is_empty() -> bool {
    loop {
        match reap() {
            Reaped::One(..) => {}
            Reaped::NoneYet => return false,
            Reaped::NoChildren => return true,
        }
    }
}

/// The result of [`reap`].
pub(super) enum Reaped {
    One(Pid, WaitStatus),
    NoneYet,
    NoChildren,
}

pub(super) fn reap() -> Reaped {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => return Reaped::One(pid, status),
            Ok(None) => return Reaped::NoneYet,
            Err(Errno::INTR) => {}
            Err(_) => return Reaped::NoChildren,
        }
    }
}

/// The exit code of a command: its own, or 128 + N if signal N killed it.
pub(super) fn exit_code(status: WaitStatus) -> i32 {
    status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal))
        .unwrap_or(-1)
}

fn descendants() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in entries.filter_map(Result::ok) {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        let parent = pid.and_then(|pid| Some((pid, ProcessStat::of(pid)?.parent)));
        if let Some((pid, parent)) = parent {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut todo = vec![rustix::process::getpid().as_raw_pid()];
    while let Some(pid) = todo.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.extend(Pid::from_raw(child));
            todo.push(child);
        }
    }
    found
}
