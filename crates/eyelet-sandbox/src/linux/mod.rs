//! The supervisor on Linux, and the kernel features that it uses.

mod command;
mod covers;
mod descendants;
mod detached_mount;
mod file_id;
mod forks;
mod init;
mod landlock;
mod memory;
mod monitor;
mod namespaces;
mod network_counters;
mod network_namespace;
mod privileges;
mod protection;
mod resolve;
mod seccomp;
mod setup_failure;
mod sys;
mod tmp_paths;
mod worktree_mounts;

pub(crate) use monitor::supervise;
pub(crate) use sys::release_free_memory;
