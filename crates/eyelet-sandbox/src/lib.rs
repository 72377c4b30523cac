//! Runs one command so that it cannot outlive its call, and, where a policy says so, cannot reach
//! what it should not.
//!
//! # Layout
//!
//! The caller ([`Supervisor`], `client.rs`) starts its own program again as a supervisor and sends it
//! a [`SandboxRequest`] (`request.rs`) over a socket that stays open: its end is the command's end.
//! The supervisor (`linux/outer.rs`) starts a second process (`linux/inner.rs`) that sets up the
//! sandbox (`linux/namespaces.rs`) and becomes the ancestor of everything that the command
//! starts; the command itself gets its last restrictions right before it is executed
//! (`linux/command.rs`, `landlock.rs`, `seccomp.rs`, `privileges.rs`). Two processes, because one
//! can be killed: then the other ends the tree. `linux/guard.rs` has what was done to protected paths
//! undone (`linux/undo.rs`), `linux/repositories.rs` finds those of git. `doctor.rs` says what a
//! machine can enforce.
//!
//! A program that uses this begins its `main` with [`run_if_supervisor`].

mod client;
mod doctor;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod process_stat;
mod remove;
mod request;

pub use client::{Received, Supervised, Supervisor};
pub use doctor::{Gap, MAX_LOOKED_AT, MAX_REPOSITORIES, Machine};
#[cfg(target_os = "linux")]
pub use process_stat::ProcessStat;
pub use remove::remove_all;
pub use request::{
    Fate, Message, Network, Place, Policy, Program, Raw, RawPath, Reverted, SandboxRequest,
    Strictness, Tier, TierChoice,
};

/// Where this process was started as a supervisor, does that work and never returns. Call it first
/// in `main`, before threads are started and before anything is read or printed.
pub fn run_if_supervisor() {
    let mut arguments = std::env::args_os();
    if arguments.nth(1).is_some_and(|first| first == client::SUPERVISE) {
        supervise();
    }
}

#[cfg(target_os = "linux")]
fn supervise() -> ! {
    linux::supervise()
}

/// The caller reads the end of the line as a refusal.
#[cfg(not(target_os = "linux"))]
fn supervise() -> ! {
    std::process::exit(1)
}

/// Keeps other processes of this user from looking into this one: its memory, its environment and
/// its open files. For a server, first thing in `main`.
pub fn shield_this_process() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Where the system refuses, nothing is lost but a second line of defence.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
