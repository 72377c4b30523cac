//! How much memory a command may use.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How much memory the processes of one command may use together. The default is half of the memory that the machine
/// or the container allows, whichever is smaller.
///
/// `FromStr` parses a number of bytes, a number with a unit such as `4G` (1 G is 1024 M), or a percentage such as
/// `50%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemoryLimit {
    /// A limit of this many bytes.
    Bytes(u64),
    /// This percentage of the memory that the machine or the container allows, whichever is
    /// smaller.
    Percent(u8),
}

impl Default for MemoryLimit {
    fn default() -> Self {
        MemoryLimit::Percent(50)
    }
}

const UNITS: [(&str, u32); 4] = [("T", 40), ("G", 30), ("M", 20), ("K", 10)];

impl MemoryLimit {
    /// Returns the limit in bytes, or `None` if the limit is a percentage and the memory of this
    /// machine is unknown.
    pub fn bytes(self) -> Option<u64> {
        match self {
            MemoryLimit::Bytes(bytes) => Some(bytes),
            MemoryLimit::Percent(percent) => {
                // Divided first: the product could overflow.
                available(Path::new("/")).map(|bytes| bytes / 100 * u64::from(percent))
            }
        }
    }

    /// Renders a number of bytes for people, such as `4 GiB` or `11.7 GiB`.
    pub fn in_words(bytes: u64) -> String {
        for (unit, shift) in UNITS {
            let (whole, rest) = (bytes >> shift, bytes & ((1 << shift) - 1));
            match (whole, (rest * 10) >> shift) {
                (0, _) => {}
                (whole, 0) => return format!("{whole} {unit}iB"),
                (whole, tenths) => return format!("{whole}.{tenths} {unit}iB"),
            }
        }
        format!("{bytes} bytes")
    }
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryLimit::Percent(percent) => write!(f, "{percent}%"),
            MemoryLimit::Bytes(bytes) => {
                let is_whole =
                    |(_, shift): &&(&str, u32)| *bytes > 0 && bytes.trailing_zeros() >= *shift;
                match UNITS.iter().find(is_whole) {
                    Some((unit, shift)) => write!(f, "{}{unit}", bytes >> shift),
                    None => write!(f, "{bytes}"),
                }
            }
        }
    }
}

/// The error if a text is not a valid [`MemoryLimit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMemoryLimit;

impl fmt::Display for InvalidMemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a size such as 4G or 512M, or a percentage from 1% to 100%")
    }
}

impl std::error::Error for InvalidMemoryLimit {}

impl FromStr for MemoryLimit {
    type Err = InvalidMemoryLimit;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |digits: &str| {
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<u64>().ok().filter(|number| is_plain && *number > 0)
        };
        if let Some(percent) = text.strip_suffix('%') {
            let percent = number(percent).and_then(|percent| u8::try_from(percent).ok());
            let percent = percent.filter(|percent| *percent <= 100);
            return percent.map(MemoryLimit::Percent).ok_or(InvalidMemoryLimit);
        }
        let upper = text.to_ascii_uppercase();
        let size = upper.strip_suffix("IB").unwrap_or(&upper);
        let with_unit =
            UNITS.iter().find_map(|(unit, shift)| Some((size.strip_suffix(unit)?, *shift)));
        let (digits, shift) = with_unit.unwrap_or((upper.as_str(), 0));
        let bytes = number(digits).and_then(|number| number.checked_mul(1 << shift));
        bytes.map(MemoryLimit::Bytes).ok_or(InvalidMemoryLimit)
    }
}

/// The memory that the machine or the container allows, whichever is smaller, in bytes. `root` is `/`.
fn available(root: &Path) -> Option<u64> {
    let machine = fs::read_to_string(root.join("proc/meminfo")).ok();
    let machine = machine.as_deref().and_then(|text| kilobytes(text, "MemTotal:"));
    machine.into_iter().chain(cgroup_limits(root)).min()
}

/// The limits of this process's control group and those around it, in version 1 and 2.
fn cgroup_limits(root: &Path) -> Vec<u64> {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mut limits = Vec::new();
    for line in own.lines() {
        // `0::/path` in version 2, `4:memory:/path` in version 1.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (top, file) = if controllers.is_empty() {
            ("sys/fs/cgroup", "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        // A container may see its own group as the top one, though its path says otherwise.
        for above in Path::new(path.trim_start_matches('/')).ancestors() {
            let file: PathBuf = root.join(top).join(above).join(file);
            let limit = fs::read_to_string(file).unwrap_or_default();
            // Without a limit it says `max`.
            limits.extend(limit.trim().parse::<u64>());
        }
    }
    limits
}

/// The value of a line `name   N kB`, in bytes.
pub(crate) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let value: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    value.checked_mul(1024)
}

#[cfg(test)]
#[path = "memory_limit_tests.rs"]
mod tests;
