//! Protects this process from other processes of the same user.

/// Prevents other processes of this user from reading this one's memory, environment and open files. A
/// server calls it first in `main`.
pub fn shield_this_process() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // This is a second line of defence: if the system refuses, the sandbox still holds.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
