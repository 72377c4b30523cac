//! Protects this process from other processes of the same user.

/// Prevents other processes of this user from reading the memory, environment and open files of
/// this process. Call this function at the start of `main`, right after
/// [`run_if_supervisor`](crate::run_if_supervisor).
pub fn shield_this_process() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // This is a second line of defence: if the system refuses, the sandbox still holds.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
