//! Describes the machine of a run without its host name.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::contender::output;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: f64,
    pub(crate) kernel: String,
    pub(crate) file_system: String,
    /// Load average of the minute before the run. Above about 0.3, other programs use the CPU too.
    pub(crate) load: String,
}

impl Machine {
    /// `folder` is the directory of the fixtures.
    pub(crate) fn describe(folder: &str) -> Result<Machine> {
        let memory_kib: f64 = value("/proc/meminfo", "MemTotal")
            .and_then(|text| text.trim_end_matches(" kB").parse().ok())
            .unwrap_or(f64::NAN);
        Ok(Machine {
            processor: value("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: (memory_kib / 1024.0 / 102.4).round() / 10.0,
            kernel: stdout(&["uname", "-sr"])?,
            load: fs::read_to_string("/proc/loadavg").map_or_else(
                |_| "unknown".into(),
                |text| text.chars().take_while(|c| *c != ' ').collect(),
            ),
            file_system: stdout(&["stat", "-f", "-c", "%T", folder])?,
        })
    }
}

fn value(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let (_, value) =
        text.lines().filter_map(|line| line.split_once(':')).find(|(k, _)| k.trim() == key)?;
    Some(value.trim().to_owned())
}

fn stdout(words: &[&str]) -> Result<String> {
    Ok(String::from_utf8_lossy(&output(words)?).trim().to_owned())
}
