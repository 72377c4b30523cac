//! Measures the peak resident set size of a process.
//!
//! The kernel starts a child's peak with the size of its parent, so a small process spawns the program:
//! `bench peak-memory PROGRAM ...`. Its own size of two or three MiB is the smallest result. The resident
//! size varies with the addresses that a run gets, so the result is the median of several runs.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use crate::Result;
use crate::contender::{command, discard, output};

/// The number of runs, if they take less than `LONG` in total.
const SAMPLES: usize = 15;
const LONG: Duration = Duration::from_secs(2);

pub(crate) fn peak_of(words: &[String]) -> Result<u64> {
    let start = Instant::now();
    let mut peaks = vec![once(words)?];
    while peaks.len() < SAMPLES && start.elapsed() < LONG {
        peaks.push(once(words)?);
    }
    peaks.sort_unstable();
    peaks.get(peaks.len() / 2).copied().ok_or_else(|| "no runs".into())
}

fn once(words: &[String]) -> Result<u64> {
    let this = this_program()?;
    let relayed: Vec<&str> = [this.as_str(), "peak-memory"]
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .collect();
    let printed = output(&relayed)?;
    let printed = String::from_utf8_lossy(&printed);
    printed
        .trim()
        .parse()
        .map_err(|_| format!("peak-memory: expected a number of bytes, got `{printed}`"))
}

/// Runs the command, discards its output, and prints its peak in bytes.
pub(crate) fn relay(words: &[String]) -> Result<()> {
    let status = command(words)?.stdout(discard()?).status().map_err(|e| e.to_string())?;
    // Timed runs check whether exit code 1 is a failure.
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(format!("peak-memory: the command failed: {status}"));
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    println!("{}", usage.max_rss() * 1024);
    Ok(())
}

/// The path of this program, which also runs as a peer and as the memory probe.
pub(crate) fn this_program() -> Result<String> {
    let path = std::env::current_exe().map_err(|error| error.to_string())?;
    path.into_os_string().into_string().map_err(|_| "the path of this program is not UTF-8".into())
}
