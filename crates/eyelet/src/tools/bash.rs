//! `bash`: runs a command, shows a limited part of its output and saves longer output to files.
//!
//! Each stream has its own window. Output that does not fit is saved while the command runs, and
//! the report names the file. A command may become a background job (`bash_job.rs`).

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::bash_job::{self, JobStart, When};
use super::bash_outcome::{ended, refused, unusable};
pub use super::bash_report::{BashReport, JobState, JobStatus};
use super::input_schema::{flag, name, object, string, whole_number};
use crate::args;
use crate::argument_names::{OtherName, OtherNames, deserialize_with_names};
use crate::context::TurnContext;
use crate::error::{ErrorCode, Hint, ToolError};
use crate::exec::command_spec::{CommandSpec, Lifetime};
use crate::exec::output_window::{OutputWindow, SaveTarget};
use crate::exec::run_command;
use crate::exec::sandboxed::sandbox_request::SupervisedCommand;
use crate::fs::directory::Directory;
use crate::limits::Limit;
use crate::names::{named, named_argument};
use crate::paths::confined_path::OpenFailure;
use crate::sandbox_policy::SandboxPolicy;
pub use crate::saved_output::output_store::{MAX_AGE_SECS, MAX_FILE_BYTES, MAX_SESSION_BYTES};
use crate::text::command_reply::MAX_NOTE_BYTES;
use crate::text::escape;
use crate::text::head_tail::Keep;
use crate::tool::{Load, Tool, ToolDefinition};

/// The maximum number of bytes that a reply shows of each output stream.
pub const MAX_STREAM_BYTES: usize = 50 * 1024;
/// The default time limit of a command, in seconds.
pub const DEFAULT_TIMEOUT_SECS: u64 = 120;
/// The maximum time limit of a command, in seconds.
pub const MAX_TIMEOUT_SECS: u64 = 600;
/// The default and maximum time limit of a background job, in seconds: a day.
pub const MAX_JOB_SECS: u64 = 24 * 60 * 60;
/// How many seconds a call with `background` waits before it returns. If the command fails within
/// this time, the reply reports the failure.
pub const BACKGROUND_WAIT_SECS: u64 = 2;
/// The maximum length of a command in bytes: the maximum that Linux allows for an argument of a
/// program.
pub const MAX_COMMAND_BYTES: usize = 128 * 1024 - 1;

/// The tool `bash`.
#[derive(Clone, Copy, Debug)]
pub struct Bash;

/// The arguments of `bash`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct BashArgs {
    /// The shell command to run.
    pub command: String,
    /// The time limit of the command, in seconds.
    #[serde(default, deserialize_with = "args::number")]
    pub timeout_secs: Option<u64>,
    /// The working directory, absolute or relative to the working directory of the turn.
    #[serde(default, deserialize_with = "args::blank_as_none")]
    pub cwd: Option<String>,
    /// Which part of a long output stream the reply shows.
    #[serde(default, deserialize_with = "args::blank_name_as_none")]
    pub keep: Option<Keep>,
    /// Whether to start a background job.
    #[serde(default, deserialize_with = "args::flag")]
    pub background: Option<bool>,
    /// The action when the command reaches its time limit: kill it, or continue it as a background
    /// job.
    #[serde(default, deserialize_with = "args::blank_name_as_none")]
    pub on_timeout: Option<OnTimeout>,
}

/// The action when a command reaches its time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnTimeout {
    /// eyelet kills the command.
    #[default]
    Kill,
    /// The command becomes a background job.
    Background,
}

named!(OnTimeout, "action at the time limit", { Kill = "kill", Background = "background" });
named_argument!(OnTimeout);

impl<'de> Deserialize<'de> for BashArgs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Other tools of this name describe the command, and count time in milliseconds.
        const NAMES: OtherNames = &[
            ("description", OtherName::Ignored),
            ("timeout", OtherName::Refused("use timeout_secs, in seconds")),
        ];
        deserialize_with_names(deserializer, NAMES, BashArgs::deserialize)
    }
}

impl BashArgs {
    /// Creates arguments that run `command`, with the default for every other argument.
    pub fn new(command: impl Into<String>) -> Self {
        BashArgs { command: command.into(), ..BashArgs::default() }
    }
}

impl Tool for Bash {
    type Args = BashArgs;
    type Report = BashReport;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("bash", format!(
                "Runs a command with bash -c and returns its exit code, stdout and stderr. Shows at \
                 most {MAX_STREAM_BYTES} bytes of each stream (keep selects which part); longer \
                 output is saved to a file that read can show. A command has no input or terminal; all \
                 its processes are killed when it ends or reaches timeout_secs. To list, search or read \
                 files, use the other tools."
            ))
        .with_title("Run a command")
        .with_input_schema(input_schema(""))
        .with_load(Load::Command)
        .with_counts("bytes printed")
        .with_limits(limits())
    }

    fn definition_in(&self, turn: &TurnContext) -> ToolDefinition {
        let mut definition = self.definition();
        definition.description.push(' ');
        definition.description.push_str(&turn.commands_in_words());
        definition.input_schema = input_schema(turn.ports_in_words());
        definition
    }

    fn run(&self, args: BashArgs, turn: &TurnContext) -> Result<BashReport, ToolError> {
        check_command(&args.command)?;
        if args.timeout_secs == Some(0) {
            return Err(ToolError::invalid_input("timeout_secs must be greater than zero"));
        }
        let job = job_start(&args)?;
        let timeout_secs = timeout_of_call(&args);
        check_policy(turn.sandbox())?;
        let cwd = args.cwd.as_deref().or(turn.cwd().to_str()).unwrap_or_default();
        let path = turn.resolve_for_command(cwd)?;
        let shown = escape::name(path.shown().as_os_str());
        let directory = Directory::open(&path).map_err(|failure| match failure {
            OpenFailure::Refused(error) => error,
            OpenFailure::Io(error) => unusable(&shown, &error),
            OpenFailure::NotAFile => unusable(&shown, &std::io::ErrorKind::NotADirectory.into()),
        })?;
        let supervised = SupervisedCommand::new(turn, &args.command, path.shown());
        let supervised = supervised.map_err(|refusal| refused(refusal, turn))?;
        let lifetime = job.map_or(Lifetime::Call, |_| Lifetime::MaybeJob);
        let (keep, window, save_to) = shown_part(args.keep, lifetime, turn);
        let spec = CommandSpec {
            command: args.command,
            directory,
            directory_shown: path.shown().to_owned(),
            environment: Arc::clone(&turn.environment),
            supervised,
            keep,
            window,
            save_to,
            progress: turn.progress.clone(),
            live_output: turn.live_output.clone().filter(|_| lifetime == Lifetime::Call),
            lifetime,
        };
        let mut report = match job {
            Some(job) => bash_job::run(spec, job, turn)?,
            None => {
                let stop_check = turn.stop_check(Duration::from_secs(timeout_secs));
                // The turn's deadline may come first.
                let allowed = stop_check.remaining().as_secs_f64().round() as u64;
                let outcome = run_command::run(&spec, stop_check, None);
                BashReport::new(ended(&spec, outcome, turn)?, timeout_secs.min(allowed), turn)
            }
        };
        bash_job::add_untold(&mut report, turn);
        Ok(report)
    }
}

/// `ports` says from where the ports of a job can be reached.
fn input_schema(ports: &str) -> serde_json::Value {
    object(
        "command",
        json!({
            "command": string("Command line."),
            "timeout_secs": whole_number(&format!(
                "Default {DEFAULT_TIMEOUT_SECS}, maximum {MAX_TIMEOUT_SECS}; {MAX_JOB_SECS} in the background."
            )),
            "cwd": string("Default: the working directory."),
            "keep": name(Keep::NAMES, "Start, end, or half of each."),
            "background": flag(&format!(
                "Return after {BACKGROUND_WAIT_SECS} seconds; the command continues as a job (see jobs).{ports}"
            )),
            "on_timeout": name(OnTimeout::NAMES, "Default kill; background makes it a job.")
        }),
    )
}

/// When the command becomes a job; none if it ends with its call.
fn job_start(args: &BashArgs) -> Result<Option<JobStart>, ToolError> {
    let seconds = Duration::from_secs;
    if args.background == Some(true) {
        if args.on_timeout.is_some() {
            return Err(ToolError::invalid_input(
                "on_timeout cannot be combined with background; a job ends at timeout_secs",
            ));
        }
        let limit = seconds(args.timeout_secs.unwrap_or(MAX_JOB_SECS).min(MAX_JOB_SECS));
        let when = When::Soon(seconds(BACKGROUND_WAIT_SECS).min(limit));
        return Ok(Some(JobStart { when, limit }));
    }
    Ok(match args.on_timeout.unwrap_or_default() {
        OnTimeout::Kill => None,
        OnTimeout::Background => {
            let when = When::AtTimeout(seconds(timeout_of_call(args)));
            Some(JobStart { when, limit: seconds(MAX_JOB_SECS) })
        }
    })
}

/// The time limit of a command that ends with its call, in seconds.
fn timeout_of_call(args: &BashArgs) -> u64 {
    args.timeout_secs.unwrap_or(DEFAULT_TIMEOUT_SECS).min(MAX_TIMEOUT_SECS)
}

fn limits() -> Vec<Limit> {
    vec![
        Limit::new("output shown for each of stdout and stderr", MAX_STREAM_BYTES as u64, "bytes")
            .beyond(
                "truncated at a character boundary; saved in full to a file named in the reply",
            ),
        Limit::new("default of `timeout_secs`", DEFAULT_TIMEOUT_SECS, "seconds")
            .beyond("eyelet kills the command and returns its output so far; `timed_out` is true"),
        Limit::new("maximum of `timeout_secs`", MAX_TIMEOUT_SECS, "seconds")
            .beyond("a larger value is reduced to this one"),
        Limit::new("run time of a background job", MAX_JOB_SECS, "seconds")
            .beyond("the job is killed; its output stays available"),
        Limit::new("time until a call with `background` returns", BACKGROUND_WAIT_SECS, "seconds")
            .beyond("the command continues as a job"),
        Limit::new("length of `command`", MAX_COMMAND_BYTES as u64, "bytes")
            .beyond("fails with `too_large`; write the command to a file and run the file"),
        Limit::new("size of a file of saved output", MAX_FILE_BYTES, "bytes")
            .beyond("only the start is saved; the reply says how many bytes were saved"),
        Limit::new("size of all saved output of a session", MAX_SESSION_BYTES, "bytes")
            .beyond("the oldest files are removed"),
        Limit::new("age of output saved at the command line", MAX_AGE_SECS as u64 / 3600, "hours")
            .beyond("the next run of eyelet removes the output"),
    ]
}

fn check_command(command: &str) -> Result<(), ToolError> {
    if command.trim().is_empty() {
        return Err(ToolError::invalid_input("command must not be empty"));
    }
    if command.contains('\0') {
        return Err(ToolError::invalid_input("command must not contain a NUL character"));
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Err(ToolError::new(
            ErrorCode::TooLarge,
            format!(
                "command is too long: {} bytes, the limit is {MAX_COMMAND_BYTES}; write it to a \
                 file in parts and run the file",
                command.len()
            ),
        ));
    }
    Ok(())
}

/// Without a reply budget, shows the start of each stream. With one, shows the start and the end:
/// the start alone would often hide how the command ended.
fn shown_part(
    requested: Option<Keep>,
    lifetime: Lifetime,
    turn: &TurnContext,
) -> (Keep, OutputWindow, SaveTarget) {
    let save_to = turn.output_store.clone().ok_or("no directory for saved output is configured");
    let Some(budget) = turn.reply_budget else {
        return (requested.unwrap_or_default(), OutputWindow::Each(MAX_STREAM_BYTES), save_to);
    };
    let notes = match turn.sandbox() {
        SandboxPolicy::WorkspaceWrite => 2,
        SandboxPolicy::ReadOnly => 1,
        SandboxPolicy::Off | SandboxPolicy::Full => 0,
    };
    let of_job = match lifetime {
        Lifetime::Call => 0,
        Lifetime::MaybeJob => 1,
    };
    let note_bytes = (notes + of_job) * MAX_NOTE_BYTES;
    let (window, save_to) = OutputWindow::within(budget, save_to, note_bytes);
    (requested.unwrap_or(Keep::Both), window, save_to)
}

fn check_policy(policy: SandboxPolicy) -> Result<(), ToolError> {
    if policy == SandboxPolicy::Off {
        let message = "bash is disabled by the sandbox policy `off`";
        return Err(
            ToolError::new(ErrorCode::SandboxUnavailable, message).with_hint(Hint::AllowCommands)
        );
    }
    Ok(())
}
