//! The context of a call: working directory, roots, policy, environment and limits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cancel::{CancelFlag, StopCheck};
use crate::environment::Environment;
use crate::error::ToolError;
use crate::paths::deny_list::DenyList;
use crate::paths::root::Root;
use crate::progress::Progress;
use crate::sandbox_settings::{SandboxPolicy, SandboxSettings};
use crate::saved_output::output_store::OutputStore;
use crate::text::reply_budget::ReplyBudget;

/// Which paths `list_dir`, `grep_files` and `read` may open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathScope {
    /// Every path that the process may open, except denied ones.
    Everything,
    /// Only paths inside the roots; no path if there are no roots.
    Roots,
}

/// The search engine of `grep_files`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchEngine {
    /// Ripgrep's libraries, in this process.
    #[default]
    Embedded,
    /// The program `rg` from the `PATH` of the [`Environment`].
    Rg,
}

/// The context of a call: where it runs, what it may open, how long it may take.
///
/// Cheap to clone: a host keeps one and gives each call its own deadline and cancel flag.
#[derive(Clone, Debug)]
pub struct TurnContext {
    pub(crate) cwd: Arc<Path>,
    pub(crate) roots: Arc<[Arc<Root>]>,
    pub(crate) path_scope: PathScope,
    pub(crate) deny_list: Arc<DenyList>,
    pub(crate) sandbox: SandboxPolicy,
    pub(crate) settings: Option<Arc<SandboxSettings>>,
    pub(crate) search_engine: SearchEngine,
    pub(crate) environment: Arc<Environment>,
    pub(crate) output_store: Option<Arc<OutputStore>>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: CancelFlag,
    pub(crate) reply_budget: Option<ReplyBudget>,
    pub(crate) progress: Progress,
}

impl TurnContext {
    /// Creates a context for the working directory `cwd`, without roots, environment or saved output.
    ///
    /// # Errors
    /// `invalid_input` if `cwd` is not absolute.
    pub fn new(cwd: impl AsRef<Path>, sandbox: SandboxPolicy) -> Result<Self, ToolError> {
        Ok(TurnContext {
            cwd: absolute_directory(cwd.as_ref())?,
            roots: Arc::new([]),
            path_scope: PathScope::Everything,
            deny_list: Arc::default(),
            sandbox,
            settings: None,
            search_engine: SearchEngine::default(),
            environment: Arc::default(),
            output_store: None,
            deadline: None,
            cancel: CancelFlag::default(),
            reply_budget: None,
            progress: Progress::default(),
        })
    }

    /// Adds a root and restricts path access to the roots.
    #[must_use]
    pub fn with_root(mut self, root: Root) -> Self {
        self.path_scope = PathScope::Roots;
        self.roots = self.roots.iter().cloned().chain([Arc::new(root)]).collect();
        self
    }

    /// Sets the supervisor of commands and how the policy is enforced. Without it only the policy
    /// `full` runs commands, in a process group of this process.
    #[must_use]
    pub fn with_sandbox_settings(mut self, settings: Arc<SandboxSettings>) -> Self {
        self.settings = Some(settings);
        self
    }

    /// Whether the temp directory of commands is removed at the end of the call.
    pub(crate) fn has_temp_for_one_call(&self) -> bool {
        let temp = self.settings.as_ref().and_then(|settings| settings.private_temp.as_ref());
        temp.is_some_and(|temp| temp.is_for_one_call())
    }

    /// Sets which paths `list_dir`, `grep_files` and `read` may open. Commands are not affected.
    #[must_use]
    pub fn with_path_scope(mut self, path_scope: PathScope) -> Self {
        self.path_scope = path_scope;
        self
    }

    /// Sets the deny list. It applies inside and outside the roots.
    #[must_use]
    pub fn with_deny_list(mut self, deny_list: DenyList) -> Self {
        self.deny_list = Arc::new(deny_list);
        self
    }

    /// Replaces the roots and restricts path access to them. Without roots, no path is accessible.
    #[must_use]
    pub fn confined_to(mut self, roots: impl IntoIterator<Item = Arc<Root>>) -> Self {
        self.roots = roots.into_iter().collect();
        self.path_scope = PathScope::Roots;
        self
    }

    /// Sets the working directory.
    ///
    /// # Errors
    /// `invalid_input` if `cwd` is not absolute.
    pub fn with_cwd(mut self, cwd: impl AsRef<Path>) -> Result<Self, ToolError> {
        self.cwd = absolute_directory(cwd.as_ref())?;
        Ok(self)
    }

    /// Sets the search engine of `grep_files`.
    #[must_use]
    pub fn with_search_engine(mut self, engine: SearchEngine) -> Self {
        self.search_engine = engine;
        self
    }

    /// Sets the environment of commands. eyelet reads `HOME` and `PATH` from it too.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = Arc::new(environment);
        self
    }

    /// Sets the store in which `bash` saves output that is too long to show.
    #[must_use]
    pub fn with_output_store(mut self, output_store: Arc<OutputStore>) -> Self {
        self.output_store = Some(output_store);
        self
    }

    /// Sets a deadline for calls, in addition to the time limit of each tool.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the flag that cancels calls.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancelFlag) -> Self {
        self.cancel = cancel;
        self
    }

    /// Limits the size of text replies. Tools then return less and say how to continue.
    #[must_use]
    pub fn with_reply_budget(mut self, budget: ReplyBudget) -> Self {
        self.reply_budget = Some(budget);
        self
    }

    /// Sets the counter to which calls report their progress.
    #[must_use]
    pub fn with_progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }

    /// The counter to which calls report their progress.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The flag that a long-running tool must check.
    pub fn cancel_flag(&self) -> &CancelFlag {
        &self.cancel
    }

    /// The working directory.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The roots.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.path())
    }

    /// The policy for commands.
    pub fn sandbox(&self) -> SandboxPolicy {
        self.sandbox
    }

    /// Stops a call after `limit`, at the deadline, or when it is cancelled.
    pub(crate) fn stop_check(&self, limit: Duration) -> StopCheck {
        StopCheck::new(limit, self.deadline, self.cancel.clone())
    }

    /// `path` made absolute against the working directory, without accessing the file system: drops
    /// `.` and doubled slashes, keeps `..`.
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
