//! What the system tells of a process in one line.

/// A process, as `/proc` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Whether it has ended, and only waits to be reaped.
    pub is_dead: bool,
    /// The number of its parent.
    pub parent: i32,
    /// The number of its group.
    pub group: i32,
}

impl ProcessStat {
    /// The process of this number, if there is one.
    pub fn of(pid: i32) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // `pid (name) state parent group …`; the name may hold anything, brackets among it.
        let after_name = stat.rsplit(|byte| *byte == b')').next()?;
        let text = String::from_utf8_lossy(after_name);
        let mut fields = text.split_ascii_whitespace();
        let is_dead = matches!(fields.next()?, "Z" | "X");
        let mut number = || fields.next()?.parse().ok();
        Some(ProcessStat { is_dead, parent: number()?, group: number()? })
    }
}
