//! Linux: the supervisor and what it asks of the kernel.

mod command;
mod guard;
mod inner;
mod landlock;
mod layout;
mod namespaces;
mod outer;
mod privileges;
mod reach;
mod repositories;
mod seccomp;
mod snapshot;
mod sys;
mod tree;
mod undo;

pub(crate) use outer::supervise;
