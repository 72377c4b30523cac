//! A process's line in `/proc`.

/// The state of a process, from `/proc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Whether it has exited and only waits to be reaped.
    pub is_dead: bool,
    /// Its parent's process ID.
    pub parent: i32,
    /// Its process group ID.
    pub group: i32,
}

impl ProcessStat {
    /// The process with this ID, if it exists.
    pub fn of(pid: i32) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // `pid (name) state parent group …`; the name may contain anything, even brackets.
        let after_name = stat.rsplit(|byte| *byte == b')').next()?;
        let text = String::from_utf8_lossy(after_name);
        let mut fields = text.split_ascii_whitespace();
        let is_dead = matches!(fields.next()?, "Z" | "X");
        let mut number = || fields.next()?.parse().ok();
        Some(ProcessStat { is_dead, parent: number()?, group: number()? })
    }
}
