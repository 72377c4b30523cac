//! One call: which tool, with what, and in which surroundings.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::bound::budget::ReplyBudget;
use crate::error::{ErrorCode, ToolError};
use crate::sandbox::SandboxSettings;
use crate::world::confine::Root;
use crate::world::hidden::Hidden;
use crate::world::spill::Spill;

/// One call as a door hands it to the router.
#[derive(Debug)]
pub struct ToolInvocation<'a> {
    /// The tool's name.
    pub tool_name: &'a str,
    /// Its arguments.
    pub payload: ToolPayload,
    /// The surroundings in which it runs.
    pub turn: &'a TurnContext,
}

impl<'a> ToolInvocation<'a> {
    /// A call of `tool_name` with `arguments` as JSON text.
    pub fn new(tool_name: &'a str, arguments: impl Into<String>, turn: &'a TurnContext) -> Self {
        let payload = ToolPayload::Function { arguments: arguments.into() };
        ToolInvocation { tool_name, payload, turn }
    }
}

/// How the arguments of a call come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolPayload {
    /// As the JSON text that a model wrote.
    Function {
        /// A JSON object.
        arguments: String,
    },
}

/// What a command may do. There is no default: a host has to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxPolicy {
    /// No command runs.
    Off,
    /// Reads, and writes nothing but its private temp folder.
    ReadOnly,
    /// Writes in the roots and its private temp folder.
    WorkspaceWrite,
    /// Everything that the caller may do: no sandbox.
    Full,
}

impl SandboxPolicy {
    /// The policy as it stands on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            SandboxPolicy::Off => "off",
            SandboxPolicy::ReadOnly => "read-only",
            SandboxPolicy::WorkspaceWrite => "workspace-write",
            SandboxPolicy::Full => "full",
        }
    }
}

/// What the tools that take a path may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everything that the process may, but for what is hidden.
    Everything,
    /// The roots, and nothing where there are none.
    Roots,
}

/// What looks for the pattern of `grep_files`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchEngine {
    /// Ripgrep's own libraries, in this process.
    #[default]
    Embedded,
    /// The program `rg` from the `PATH` of the [`Environment`].
    Rg,
}

/// Tells a running call to stop. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Stops the calls that hold this flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether the flag is up.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// How far a running call has come, in what its tool counts. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// How many there are so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// So many more.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

/// Environment variables, as the host gives them. The library never reads the process's own.
#[derive(Clone, Debug, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// The value of a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// Every variable.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(key, value)| (key.as_os_str(), value.as_os_str()))
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Environment(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

/// The surroundings of a call: where it runs, what it may reach, how long it may take.
///
/// Cheap to clone; a host keeps one and gives each call its own deadline and cancel flag.
#[derive(Clone, Debug)]
pub struct TurnContext {
    pub(crate) cwd: Arc<Path>,
    pub(crate) roots: Arc<[Arc<Root>]>,
    pub(crate) reach: Reach,
    pub(crate) hidden: Arc<Hidden>,
    pub(crate) sandbox: SandboxPolicy,
    pub(crate) settings: Option<Arc<SandboxSettings>>,
    pub(crate) search_engine: SearchEngine,
    pub(crate) environment: Arc<Environment>,
    pub(crate) spill: Option<Arc<Spill>>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: CancelFlag,
    pub(crate) reply_budget: Option<ReplyBudget>,
    pub(crate) is_data_alone: bool,
    pub(crate) progress: Progress,
}

impl TurnContext {
    /// A turn in the directory `cwd`, not confined, with an empty environment and no spill folder.
    ///
    /// # Errors
    /// `invalid_input` where `cwd` is not absolute.
    pub fn new(cwd: impl AsRef<Path>, sandbox: SandboxPolicy) -> Result<Self, ToolError> {
        Ok(TurnContext {
            cwd: absolute_directory(cwd.as_ref())?,
            roots: Arc::new([]),
            reach: Reach::Everything,
            hidden: Arc::default(),
            sandbox,
            settings: None,
            search_engine: SearchEngine::default(),
            environment: Arc::default(),
            spill: None,
            deadline: None,
            cancel: CancelFlag::default(),
            reply_budget: None,
            is_data_alone: false,
            progress: Progress::default(),
        })
    }

    /// Confines the turn to `root`, beside the roots it already has.
    #[must_use]
    pub fn with_root(mut self, root: Root) -> Self {
        self.reach = Reach::Roots;
        self.roots = self.roots.iter().cloned().chain([Arc::new(root)]).collect();
        self
    }

    /// Who supervises commands, and how the policy is enforced. Without it only the policy `full`
    /// runs them, in a process group of this process.
    #[must_use]
    pub fn with_sandbox_settings(mut self, settings: Arc<SandboxSettings>) -> Self {
        self.settings = Some(settings);
        self
    }

    /// Whether what commands leave in their temp folder is gone once the answer is there.
    pub(crate) fn has_temp_for_one_call(&self) -> bool {
        let temp = self.settings.as_ref().and_then(|settings| settings.private_temp.as_ref());
        temp.is_some_and(|temp| temp.is_for_one_call())
    }

    /// What `list_dir`, `grep_files` and `read` may reach: the roots, of which there may be none,
    /// or everything. A command is not concerned.
    #[must_use]
    pub fn with_reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// What is never shown, roots or not.
    #[must_use]
    pub fn with_hidden(mut self, hidden: Hidden) -> Self {
        self.hidden = Arc::new(hidden);
        self
    }

    /// Confines the turn to exactly these roots: where there is none, no path is reached.
    #[must_use]
    pub fn confined_to(mut self, roots: impl IntoIterator<Item = Arc<Root>>) -> Self {
        self.roots = roots.into_iter().collect();
        self.reach = Reach::Roots;
        self
    }

    /// The same surroundings with another working directory.
    ///
    /// # Errors
    /// `invalid_input` where `cwd` is not absolute.
    pub fn with_cwd(mut self, cwd: impl AsRef<Path>) -> Result<Self, ToolError> {
        self.cwd = absolute_directory(cwd.as_ref())?;
        Ok(self)
    }

    /// The engine that `grep_files` uses.
    #[must_use]
    pub fn with_search_engine(mut self, engine: SearchEngine) -> Self {
        self.search_engine = engine;
        self
    }

    /// The variables that commands get, and where `HOME` and `PATH` are looked up.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = Arc::new(environment);
        self
    }

    /// Where `bash` keeps the streams that it does not show whole.
    #[must_use]
    pub fn with_spill(mut self, spill: Arc<Spill>) -> Self {
        self.spill = Some(spill);
        self
    }

    /// When calls have to be over, whatever their own time limits.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The flag that stops calls.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancelFlag) -> Self {
        self.cancel = cancel;
        self
    }

    /// What the text of an answer may hold: tools show less, and say how to go on.
    #[must_use]
    pub fn with_reply_budget(mut self, budget: ReplyBudget) -> Self {
        self.reply_budget = Some(budget);
        self
    }

    /// Only the data of answers is asked for: what the text alone tells need not be found out.
    #[must_use]
    pub fn with_data_alone(mut self) -> Self {
        self.is_data_alone = true;
        self
    }

    /// Where calls count how far they have come.
    #[must_use]
    pub fn with_progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Where a tool counts how far it has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The flag at which a tool that takes long has to look.
    pub fn cancel_flag(&self) -> &CancelFlag {
        &self.cancel
    }

    /// The working directory.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The directories that calls may be confined to.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.path())
    }

    /// The policy for commands.
    pub fn sandbox(&self) -> SandboxPolicy {
        self.sandbox
    }

    /// A watch that runs out after `limit`, at the deadline, or when the call is cancelled.
    pub(crate) fn watch(&self, limit: Duration) -> Watch {
        let now = Instant::now();
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(now));
        let limit = left.map_or(limit, |left| left.min(limit));
        Watch { until: now.checked_add(limit), limit, cancel: self.cancel.clone() }
    }

    /// The folder for `name` that was given absolute or relative to the working directory, as a
    /// plain string operation: `.` and doubled slashes are dropped, `..` is kept.
    pub(crate) fn absolute(&self, path: &str) -> PathBuf {
        self.cwd.join(path).components().collect()
    }
}

fn absolute_directory(cwd: &Path) -> Result<Arc<Path>, ToolError> {
    if cwd.is_absolute() {
        return Ok(cwd.into());
    }
    Err(ToolError::invalid_input("cwd must be an absolute path"))
}

/// Why work stops before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    TimedOut,
    Cancelled,
}

impl Stop {
    /// The error of a call that cannot answer with what it has.
    pub(crate) fn error(self, what: &str, watch: &Watch) -> ToolError {
        match self {
            Stop::TimedOut => {
                let seconds = watch.limit.as_secs() + u64::from(watch.limit.subsec_nanos() > 0);
                let message = format!("{what} timed out after {seconds} seconds");
                ToolError::new(ErrorCode::TimedOut, message)
            }
            Stop::Cancelled => {
                ToolError::new(ErrorCode::Cancelled, format!("{what} was cancelled"))
            }
        }
    }
}

/// The deadline and the cancel flag of one call, to be looked at while it works.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    until: Option<Instant>,
    /// The time in force: the tool's own, or what the deadline left of it.
    limit: Duration,
    cancel: CancelFlag,
}

impl Watch {
    /// Whether to go on.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        match self.until {
            Some(until) if Instant::now() >= until => Err(Stop::TimedOut),
            Some(_) | None => Ok(()),
        }
    }

    /// The time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }
}
