//! Who is left in a process group whose leader has ended and is not yet reaped.
//!
//! Until it is reaped the group's number cannot pass to anyone else, so signals cannot go astray;
//! but on Linux the leader itself still counts as a member then, and `kill` does not tell.

use rustix::process::{Pid, Signal};

/// Sends a signal to everyone in the group.
pub(super) fn signal(leader: Pid, signal: Signal) {
    // Nobody left, or someone who has changed their user: nothing that could be done about it.
    let _ = rustix::process::kill_process_group(leader, signal);
}

/// Whether anyone but the dead leader is in the group.
#[cfg(not(target_os = "linux"))]
pub(super) fn has_others(leader: Pid) -> bool {
    rustix::process::test_kill_process_group(leader).is_ok()
}

/// Whether anyone but the dead leader is in the group; yes where it cannot be told.
#[cfg(target_os = "linux")]
pub(super) fn has_others(leader: Pid) -> bool {
    // More than this many are found faster by listing `/proc`.
    const FEW: i32 = 256;
    let leader = leader.as_raw_nonzero().get();
    // Numbers are given out in rising order: members have one after the leader's.
    let newest = std::fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| text.split_ascii_whitespace().last()?.parse::<i32>().ok());
    match newest {
        Some(newest) if (0..FEW).contains(&(newest - leader)) => {
            (leader + 1..=newest).any(|pid| is_member(pid, leader))
        }
        Some(_) | None => match std::fs::read_dir("/proc") {
            Ok(entries) => entries
                .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
                .any(|pid| is_member(pid, leader)),
            Err(_) => true,
        },
    }
}

#[cfg(target_os = "linux")]
fn is_member(pid: i32, leader: i32) -> bool {
    let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { return false };
    // `pid (name) state parent group …`; the name may hold anything, brackets among it.
    let after_name = stat.rsplit(|byte| *byte == b')').next().unwrap_or_default();
    let text = String::from_utf8_lossy(after_name);
    let mut fields = text.split_ascii_whitespace();
    let is_dead = fields.next().is_none_or(|state| matches!(state, "Z" | "X"));
    !is_dead && fields.nth(1).and_then(|group| group.parse().ok()) == Some(leader)
}
