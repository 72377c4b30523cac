//! `jobs`: lists the background jobs of `bash`, reports on one, waits for it or kills it.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use super::bash::{BashReport, JobStatus};
use super::input_schema::{flag, optional_object, whole_number};
use super::{bash_job, bash_report};
use crate::args;
use crate::cancel::{Stop, StopCheck};
use crate::context::TurnContext;
use crate::error::ToolError;
use crate::exec::jobs::{Entry, Jobs};
use crate::facts::Facts;
use crate::limits::Limit;
use crate::output::Report;
use crate::text::escape;
use crate::tool::{Load, Tool, ToolDefinition};

/// The maximum of `wait_secs`, in seconds.
pub const MAX_WAIT_SECS: u64 = 600;
/// The maximum number of characters that the list shows of a command.
pub const MAX_COMMAND_CHARS: usize = 200;
/// How long a killed job may take to end: as long as its supervisor may take, and a margin.
const STOP_TIME: Duration = Duration::from_secs(30);

/// The tool `jobs`.
#[derive(Clone, Copy, Debug)]
pub struct JobsTool;

/// The arguments of `jobs`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobsArgs {
    /// The number of a job. Without a number, the tool lists all jobs.
    #[serde(default, deserialize_with = "args::number")]
    pub job: Option<u64>,
    /// How many seconds to wait for the end of the job.
    #[serde(default, deserialize_with = "args::number")]
    pub wait_secs: Option<u64>,
    /// Whether to kill the job.
    #[serde(default, deserialize_with = "args::flag")]
    pub stop: Option<bool>,
}

/// The result of `jobs`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobsReport {
    /// The jobs of the session; running jobs come first.
    List(Vec<ListedJob>),
    /// The report on one job.
    One(Box<BashReport>),
}

/// A background job in the list of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ListedJob {
    /// The number of the job in its session.
    pub id: u64,
    /// The status of the job: running, or how the job ended.
    pub status: JobStatus,
    /// The exit code of the command of the job. 137 if the sandbox killed the job, -1 if the job
    /// timed out or was killed for another reason. `None` while the job runs.
    pub exit_code: Option<i32>,
    /// How many seconds the job has run. After the job has ended, the number no longer changes.
    pub elapsed_secs: u64,
    /// The command of the job on one line, escaped and shortened.
    pub command: String,
}

impl Tool for JobsTool {
    type Args = JobsArgs;
    type Report = JobsReport;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "jobs",
            "Lists the background jobs of bash. With job, returns the status and last output of that job; read \
             shows the files with all output.",
        )
        .with_title("Background jobs")
        .with_input_schema(optional_object(json!({
            "job": whole_number("Number of a job."),
            "wait_secs": whole_number(&format!("Wait for its end; maximum {MAX_WAIT_SECS}.")),
            "stop": flag("Kill the job.")
        })))
        .with_load(Load::Wait)
        .with_counts("bytes printed")
        .with_limits(vec![
            Limit::new("maximum of `wait_secs`", MAX_WAIT_SECS, "seconds")
                .beyond("a larger value is reduced to this one"),
        ])
    }

    fn run(&self, args: JobsArgs, turn: &TurnContext) -> Result<JobsReport, ToolError> {
        let jobs = bash_job::jobs_of(turn)?;
        let Some(id) = args.job else {
            if args.wait_secs.is_some() || args.stop == Some(true) {
                return Err(ToolError::invalid_input(
                    "wait_secs and stop require job, the number of a job",
                ));
            }
            return Ok(JobsReport::List(list(jobs)));
        };
        let entry = jobs.find(id)?;
        if args.stop == Some(true) {
            entry.job.cancel.cancel();
            wait(&entry, &turn.stop_check(STOP_TIME), turn)?;
        } else if let Some(seconds) = args.wait_secs.filter(|seconds| *seconds > 0) {
            if !entry.job.has_ended() {
                let _waiting = jobs.begin_wait()?;
                let time = Duration::from_secs(seconds.min(MAX_WAIT_SECS));
                wait(&entry, &turn.stop_check(time), turn)?;
            }
        }
        let mut report = bash_job::report(&entry, turn)?;
        bash_job::add_untold(&mut report, turn);
        Ok(JobsReport::One(Box::new(report)))
    }
}

/// Waits until the job has ended or the time is up. Fails if the call is cancelled; the job continues.
fn wait(entry: &Entry, stop_check: &StopCheck, turn: &TurnContext) -> Result<(), ToolError> {
    match entry.job.wait(stop_check, || turn.progress.follow(&entry.job.progress)) {
        Ok(_) | Err(Stop::TimedOut) => Ok(()),
        Err(Stop::Cancelled) => Err(Stop::Cancelled.error("the wait for the job", stop_check)),
    }
}

/// The jobs, running ones first, otherwise by number.
fn list(jobs: &Jobs) -> Vec<ListedJob> {
    let mut listed: Vec<_> = jobs.entries().iter().map(listed).collect();
    listed.sort_by_key(|job| job.status != JobStatus::Running);
    listed
}

fn listed(entry: &Entry) -> ListedJob {
    let (status, exit_code) = match entry.job.end().map(|end| end.result) {
        None => (JobStatus::Running, None),
        Some(Ok(ended)) => {
            let (status, exit_code) = bash_report::status(&ended.outcome.end);
            (status, Some(exit_code))
        }
        Some(Err(_)) => (JobStatus::Killed, Some(-1)),
    };
    let elapsed_secs = entry.job.time().as_secs();
    let command = escape::text(entry.command.trim());
    let command = command.chars().take(MAX_COMMAND_CHARS).collect();
    ListedJob { id: entry.id, status, exit_code, elapsed_secs, command }
}

impl ListedJob {
    /// The line of the list.
    fn line(&self) -> String {
        let ListedJob { id, status, elapsed_secs, command, .. } = self;
        match (status, self.exit_code) {
            (JobStatus::Running, _) | (_, None) => {
                format!("{id} {status} {elapsed_secs} s {command}")
            }
            (JobStatus::Exited, Some(code)) => {
                format!("{id} {status} {code} after {elapsed_secs} s {command}")
            }
            (JobStatus::Killed | JobStatus::TimedOut, Some(_)) => {
                format!("{id} {status} after {elapsed_secs} s {command}")
            }
        }
    }
}

impl Report for JobsReport {
    fn content(&self) -> String {
        match self {
            JobsReport::List(jobs) if jobs.is_empty() => "no jobs".to_owned(),
            JobsReport::List(jobs) => {
                let lines: Vec<_> = jobs.iter().map(ListedJob::line).collect();
                lines.join("\n")
            }
            JobsReport::One(report) => report.content(),
        }
    }

    fn success(&self) -> bool {
        match self {
            JobsReport::List(_) => true,
            JobsReport::One(report) => report.success(),
        }
    }

    fn withheld_bytes(&self) -> u64 {
        match self {
            JobsReport::List(_) => 0,
            JobsReport::One(report) => report.withheld_bytes(),
        }
    }

    fn facts(&self) -> Facts {
        match self {
            JobsReport::List(_) => Facts::default(),
            JobsReport::One(report) => report.facts(),
        }
    }
}

impl Serialize for JobsReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Data<'a> {
            jobs: &'a [ListedJob],
        }
        match self {
            JobsReport::List(jobs) => Data { jobs }.serialize(serializer),
            JobsReport::One(report) => report.serialize(serializer),
        }
    }
}
