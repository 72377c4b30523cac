//! The supervisor on Linux, and the kernel features that it uses.

mod command;
mod descendants;
mod guard;
mod init;
mod landlock;
mod monitor;
mod namespaces;
mod privileges;
mod repositories;
mod resolve;
mod seccomp;
mod setup_failure;
mod snapshot;
mod sys;
mod tmp_paths;
mod undo;

pub(crate) use monitor::supervise;
