//! The descendants of this process: finding, signalling, reaping and killing them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait, waitpid};

use crate::parent_process::parent_process;

/// How often to check whether killed processes are gone.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How long to wait for killed processes to exit. A process that hangs inside the kernel does not.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to kill processes that fork again and again. They can without a sandbox, or in an outer sandbox
/// that owns the forks: see `forks.rs`.
const MAX_KILL_TIME: Duration = Duration::from_secs(10);

/// Sends a signal to every descendant.
pub(super) fn signal(signal: Signal) {
    for pid in descendants() {
        // It may have exited meanwhile.
        let _ = kill_process(pid, signal);
    }
}

/// Kills every descendant, if there is any. Gives up when none has exited for `KILL_TIMEOUT`.
pub(super) fn kill_all() {
    let end = Instant::now() + MAX_KILL_TIME;
    let mut until = Instant::now() + KILL_TIMEOUT;
    loop {
        match reap() {
            Reaped::NoChildren => return,
            Reaped::One(..) => until = Instant::now() + KILL_TIMEOUT,
            Reaped::NoneYet => {
                if Instant::now() >= until.min(end) {
                    return;
                }
                kill_each();
                std::thread::sleep(POLL_INTERVAL);
            }
        }
    }
}

/// Kills each descendant as soon as it is found, so that it has little time to fork. Finds one whose parent has a
/// higher number in the next round: then its parent is dead, and it is a child of this process.
fn kill_each() {
    let mut known = HashSet::from([rustix::process::getpid().as_raw_pid()]);
    let Ok(folder) = rustix::fs::open("/proc", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
    else {
        return;
    };
    // With a small buffer, the kernel lists processes that started meanwhile.
    let mut buffer = [MaybeUninit::uninit(); 256];
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let pid = entry.file_name().to_str().ok().and_then(|name| name.parse::<i32>().ok());
        let is_known = |pid: &i32| parent_process(*pid).is_some_and(|pid| known.contains(&pid));
        if let Some(pid) = pid.filter(is_known) {
            known.insert(pid);
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}

/// The result of [`reap`].
pub(super) enum Reaped {
    One(Pid, WaitStatus),
    NoneYet,
    NoChildren,
}

/// Reaps one child that has exited. Orphans become children of this process, so no child means no descendant.
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

/// Waits for the exit of a child and reaps it.
pub(super) fn wait_for(child: Pid) {
    while matches!(waitpid(Some(child), WaitOptions::empty()), Err(Errno::INTR)) {}
}

/// The exit code of a command: its own, or 128 + N if signal N killed it.
pub(super) fn exit_code(status: WaitStatus) -> i32 {
    status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal))
        .unwrap_or(-1)
}

/// The descendants of `pid`, quickly: may miss some that start or exit meanwhile.
pub(super) fn below(pid: Pid) -> Vec<Pid> {
    let children = |pid: Pid| -> Option<Vec<Pid>> {
        let mut found = Vec::new();
        for thread in fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid())).ok()? {
            let children = fs::read_to_string(thread.ok()?.path().join("children")).ok()?;
            let pids = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
            found.extend(pids.filter_map(Pid::from_raw));
        }
        Some(found)
    };
    // Not every kernel lists children.
    let Some(mut todo) = children(pid) else { return descendants() };
    let mut found = Vec::new();
    while let Some(pid) = todo.pop() {
        found.push(pid);
        todo.extend(children(pid).unwrap_or_default());
    }
    found
}

fn descendants() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in entries.filter_map(Result::ok) {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        let parent = pid.and_then(|pid| Some((pid, parent_process(pid)?)));
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
