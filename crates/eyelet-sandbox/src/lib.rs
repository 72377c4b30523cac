//! Runs a command, in a sandbox if the policy requires one, and kills every process of the command
//! when the call ends.
//!
//! # Layout
//!
//! - The caller ([`Supervisor`], `supervisor.rs`, `supervised.rs`) starts its own program again as a supervisor, and sends
//!   it a [`SandboxRequest`] (`request.rs`, `framing.rs`) over a socket. When the socket closes, the
//!   supervisor kills the command. Its reports are in `message.rs`.
//! - The supervisor is two processes: if one is killed, the other cleans up. The monitor
//!   (`linux/monitor.rs`) chooses the tier and watches the caller. It forks the init process
//!   (`linux/init.rs`), which enters the sandbox (`linux/namespaces.rs`) and is the ancestor of every
//!   process of the command.
//! - Commands of one session share a network namespace (`session_network.rs`, `linux/network_namespace.rs`).
//!   Its handles are passed over the socket (`handle_passing.rs`, `lent_handles.rs`).
//! - The command's process restricts itself right before it executes the program (`linux/command.rs`,
//!   `landlock.rs`, `seccomp.rs`, `privileges.rs`).
//! - `linux/protection/` records protected paths, such as the config and hooks of git repositories, and restores
//!   them.
//! - `linux/memory.rs` watches the memory of the command, and `linux/forks.rs` watches its forks.
//! - `linked_worktree.rs` decides whether commands may write to the repository of a worktree.
//! - `machine.rs` lists the sandbox features of a machine.
//!
//! A program that uses this crate must begin its `main` with [`run_if_supervisor`].

mod closed_folder;
mod framing;
mod git_folders;
#[cfg(target_os = "linux")]
mod handle_passing;
#[cfg(target_os = "linux")]
mod lent_handles;
mod linked_worktree;
#[cfg(target_os = "linux")]
mod linux;
mod machine;
mod memory_limit;
mod message;
#[cfg(target_os = "linux")]
mod parent_process;
mod remove;
mod request;
mod session_network;
mod shield;
mod supervised;
mod supervisor;
#[cfg(target_os = "linux")]
mod watch_handle;

pub use closed_folder::{cannot_search, closed_folder, is_refused, is_unexpected, search_failed};
pub use git_folders::{GitFolders, git_folders};
pub use linked_worktree::linked_worktree;
pub use machine::{Gap, Machine};
pub use memory_limit::{InvalidMemoryLimit, MemoryLimit};
pub use message::{Fate, KillReason, Message, Reverted};
#[cfg(target_os = "linux")]
pub use parent_process::parent_process;
pub use remove::remove_all;
pub use request::{
    LinkedWorktree, Network, Place, Policy, Program, Raw, RawPath, SandboxRequest, Strictness,
    Tier, TierChoice,
};
pub use session_network::SessionNetwork;
pub use shield::shield_this_process;
pub use supervised::{Received, Supervised};
pub use supervisor::Supervisor;

/// If this process was started as a supervisor, this function supervises the command and never
/// returns. Call this function first in `main`, before starting threads, reading input or printing.
pub fn run_if_supervisor() {
    let mut arguments = std::env::args_os();
    if arguments.nth(1).is_some_and(|first| first == supervisor::SUPERVISE) {
        supervise();
    }
}

/// Returns free memory of this process to the system, because the allocator of glibc keeps memory
/// that threads have freed. The call takes milliseconds, so call it only after much memory was
/// freed.
pub fn release_free_memory() {
    #[cfg(target_os = "linux")]
    linux::release_free_memory();
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

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
