//! Runs commands, reads their output and kills the processes they leave behind.

#![expect(clippy::disallowed_methods, reason = "starts processes")]

pub(crate) mod blocked;
pub(crate) mod command_spec;
pub(crate) mod find_program;
pub(crate) mod job;
pub(crate) mod job_slots;
pub(crate) mod jobs;
pub(crate) mod outcome;
pub(crate) mod output_stream;
pub(crate) mod output_window;
pub(crate) mod process_group;
pub(crate) mod refusal;
pub(crate) mod run_command;
pub(crate) mod sandbox_facts;
#[cfg(feature = "sandbox")]
pub(crate) mod sandboxed;
#[cfg(not(feature = "sandbox"))]
#[path = "unsandboxed.rs"]
pub(crate) mod sandboxed;
