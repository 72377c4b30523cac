//! The parent of a process, from `/proc`.

/// Returns the process ID of the parent of `pid`, or `None` if the process `pid` does not exist.
pub fn parent_process(pid: i32) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // `pid (name) state parent …`; the name may contain anything, even brackets.
    let after_name = stat.rsplit(|byte| *byte == b')').next()?;
    let text = String::from_utf8_lossy(after_name);
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}
