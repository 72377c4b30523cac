//! The most memory that a process has resident.
//!
//! The kernel counts for a child also what its parent had when it started it, so a fresh and small
//! process stands between: `bench peak-memory PROGRAM ...`. Its own two or three MiB are the least
//! that can be told. How much of a program is resident differs with the addresses that it happens to
//! get: what counts is the median of some runs.

use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use crate::Result;
use crate::contender::{command, output};

/// How often it is measured, where that does not take long.
const SAMPLES: usize = 15;
const LONG: Duration = Duration::from_secs(2);

pub(crate) fn peak_of(words: &[String]) -> Result<u64> {
    let start = Instant::now();
    let mut peaks = vec![once(words)?];
    while peaks.len() < SAMPLES && start.elapsed() < LONG {
        peaks.push(once(words)?);
    }
    peaks.sort_unstable();
    peaks.get(peaks.len() / 2).copied().ok_or_else(|| "no run".into())
}

fn once(words: &[String]) -> Result<u64> {
    let this = this_program()?;
    let relayed: Vec<&str> = [this.as_str(), "peak-memory"]
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .collect();
    let said = output(&relayed)?;
    let said = String::from_utf8_lossy(&said);
    said.trim().parse().map_err(|_| format!("peak-memory said `{said}`"))
}

/// Runs the command, its output thrown away, and prints its peak in bytes.
pub(crate) fn relay(words: &[String]) -> Result<()> {
    let status = command(words)?.stdout(Stdio::null()).status().map_err(|e| e.to_string())?;
    // Whether code 1 is a failure is judged where the command is timed.
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(format!("{status}"));
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    println!("{}", usage.max_rss() * 1024);
    Ok(())
}

/// The path of this very program, to start it again as something else.
pub(crate) fn this_program() -> Result<String> {
    let path = std::env::current_exe().map_err(|error| error.to_string())?;
    path.into_os_string().into_string().map_err(|_| "this program's path is not UTF-8".into())
}
