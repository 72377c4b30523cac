//! Runs one command, kills every process it started when the call ends, and sandboxes it if the policy
//! requires that.
//!
//! # Layout
//!
//! - The caller ([`Supervisor`], `supervisor.rs`) starts its own program again as a supervisor, and sends
//!   it a [`SandboxRequest`] (`request.rs`, `framing.rs`) over a socket. When the socket closes, the
//!   supervisor kills the command. Its reports are in `message.rs`.
//! - The supervisor is two processes: if one is killed, the other cleans up. The monitor
//!   (`linux/monitor.rs`) chooses the tier and watches the caller. It forks the init process
//!   (`linux/init.rs`), which enters the sandbox (`linux/namespaces.rs`) and is the ancestor of every
//!   process of the command.
//! - The command's process restricts itself right before it executes the program (`linux/command.rs`,
//!   `landlock.rs`, `seccomp.rs`, `privileges.rs`).
//! - `linux/guard.rs` finds changes to protected paths, `linux/undo.rs` reverts them, and
//!   `linux/repositories.rs` finds the git repositories among them.
//! - `machine.rs` describes what a machine can enforce.
//!
//! A program that uses this crate begins its `main` with [`run_if_supervisor`].

mod framing;
#[cfg(target_os = "linux")]
mod linux;
mod machine;
mod message;
#[cfg(target_os = "linux")]
mod process_stat;
mod remove;
mod request;
mod shield;
mod supervisor;

pub use machine::{Gap, MAX_LOOKED_AT, MAX_REPOSITORIES, Machine};
pub use message::{Fate, Message, Reverted};
#[cfg(target_os = "linux")]
pub use process_stat::ProcessStat;
pub use remove::remove_all;
pub use request::{
    Network, Place, Policy, Program, Raw, RawPath, SandboxRequest, Strictness, Tier, TierChoice,
};
pub use shield::shield_this_process;
pub use supervisor::{Received, Supervised, Supervisor};

/// If this process was started as a supervisor, supervises the command and never returns. Call it first
/// in `main`, before starting threads, reading input or printing.
pub fn run_if_supervisor() {
    let mut arguments = std::env::args_os();
    if arguments.nth(1).is_some_and(|first| first == supervisor::SUPERVISE) {
        supervise();
    }
}

#[cfg(target_os = "linux")]
fn supervise() -> ! {
    linux::supervise()
}

/// The caller treats the closed connection as a refusal.
#[cfg(not(target_os = "linux"))]
fn supervise() -> ! {
    std::process::exit(1)
}
