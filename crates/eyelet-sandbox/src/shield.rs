//! Protects this process from other processes of the same user.

/// Prevents other processes of this user from reading the memory, environment and open files of
/// this process. A server calls this function first in `main`.
pub fn shield_this_process() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // This is a second line of defence: if the system refuses, the sandbox still holds.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
