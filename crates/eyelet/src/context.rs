//! The context of a call: working directory, roots, policy, environment and limits.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::cancel::{CancelFlag, StopCheck};
use crate::environment::Environment;
use crate::error::{Hint, ToolError};
use crate::exec::find_program::HelperProgram;
use crate::exec::jobs::Jobs;
use crate::exec::sandboxed::settings::SandboxSettings;
use crate::live_output::{LiveOutput, OutputKind};
use crate::names::named;
use crate::paths::deny_list::DenyList;
use crate::paths::root::Root;
use crate::progress::Progress;
use crate::sandbox_policy::SandboxPolicy;
use crate::saved_output::output_store::OutputStore;
use crate::text::reply_budget::ReplyBudget;

/// Which paths `list_dir`, `find_files`, `grep_files` and `read` may open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathScope {
    /// The tools may open every path that the process may open, except denied paths.
    Everything,
    /// The tools may open only paths inside the roots, or no path at all if there are no roots.
    Roots,
}

named!(PathScope, "path scope", { Everything = "everything", Roots = "roots" });

/// The search engine of `grep_files`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchEngine {
    /// Searches in this process with ripgrep's libraries.
    #[default]
    Embedded,
    /// Runs the program `rg` from the `PATH` of the [`Environment`]. Unless the policy is `full`,
    /// eyelet does not run an `rg` that is in a root or a temp directory, where commands could
    /// replace it.
    Rg,
}

named!(SearchEngine, "search engine", { Embedded = "embedded", Rg = "rg" });

/// The context of a call: where it runs, what it may open, how long it may take.
///
/// A `TurnContext` is cheap to clone. A host keeps one context, and clones it for each call to set
/// the deadline and cancel flag of the call.
#[derive(Clone, Debug)]
pub struct TurnContext {
    pub(crate) cwd: Arc<Path>,
    pub(crate) roots: Arc<[Arc<Root>]>,
    /// Why there are no roots, if the host gave a reason.
    pub(crate) no_roots_reason: Option<Arc<str>>,
    pub(crate) path_scope: PathScope,
    pub(crate) deny_list: Arc<DenyList>,
    pub(crate) sandbox: SandboxPolicy,
    pub(crate) settings: Option<Arc<SandboxSettings>>,
    pub(crate) search_engine: SearchEngine,
    pub(crate) environment: Arc<Environment>,
    /// Every `rg` on the `PATH` of the environment, once they are located.
    rg: Arc<OnceLock<Vec<HelperProgram>>>,
    pub(crate) output_store: Option<Arc<OutputStore>>,
    pub(crate) jobs: Option<Arc<Jobs>>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: CancelFlag,
    pub(crate) reply_budget: Option<ReplyBudget>,
    pub(crate) progress: Progress,
    pub(crate) live_output: Option<LiveOutput>,
    pub(crate) hint_text: fn(&Hint) -> String,
}

impl TurnContext {
    /// Creates a context for the working directory `cwd`, without roots and without a store for saved
    /// output. Commands get the variables of [`Environment::default`].
    ///
    /// # Errors
    /// `invalid_input` if `cwd` is not absolute.
    pub fn new(cwd: impl AsRef<Path>, sandbox: SandboxPolicy) -> Result<Self, ToolError> {
        Ok(TurnContext {
            cwd: absolute_directory(cwd.as_ref())?,
            roots: Arc::new([]),
            no_roots_reason: None,
            path_scope: PathScope::Everything,
            deny_list: Arc::default(),
            sandbox,
            settings: None,
            search_engine: SearchEngine::default(),
            environment: Arc::default(),
            rg: Arc::default(),
            output_store: None,
            jobs: None,
            deadline: None,
            cancel: CancelFlag::default(),
            reply_budget: None,
            progress: Progress::default(),
            live_output: None,
            hint_text: Hint::to_string,
        })
    }

    /// Adds a root and restricts path access to the roots.
    #[must_use]
    pub fn with_root(mut self, root: Root) -> Self {
        self.path_scope = PathScope::Roots;
        self.roots = self.roots.iter().cloned().chain([Arc::new(root)]).collect();
        self
    }

    /// Sets which paths `list_dir`, `find_files`, `grep_files` and `read` may open. Commands are not
    /// affected.
    #[must_use]
    pub fn with_path_scope(mut self, path_scope: PathScope) -> Self {
        self.path_scope = path_scope;
        self
    }

    /// Sets the deny list. The list applies inside and outside the roots.
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

    /// Makes all paths inaccessible. Errors then give `reason`, such as `no project is open`.
    #[must_use]
    pub fn without_roots(mut self, reason: impl Into<Arc<str>>) -> Self {
        self.no_roots_reason = Some(reason.into());
        self.confined_to([])
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

    /// Sets the environment of commands. eyelet itself reads `HOME` and `PATH` from this
    /// environment.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = Arc::new(environment);
        self.rg = Arc::default();
        self
    }

    /// Sets the store in which `bash` saves output that is too long to show.
    #[must_use]
    pub fn with_output_store(mut self, output_store: Arc<OutputStore>) -> Self {
        self.output_store = Some(output_store);
        self
    }

    /// Sets the list of background jobs that the calls of a session share. Without this list, `bash`
    /// refuses to start background jobs.
    #[must_use]
    pub fn with_jobs(mut self, jobs: Arc<Jobs>) -> Self {
        self.jobs = Some(jobs);
        self
    }

    /// A copy whose calls cannot start jobs.
    pub(crate) fn without_jobs(&self) -> Self {
        TurnContext { jobs: None, ..self.clone() }
    }

    /// Returns a copy of this context for another client. The copy has its own directory for saved
    /// output, temp directory and jobs. When the copy and all its clones are dropped, eyelet
    /// removes both directories and kills the jobs.
    #[must_use]
    pub fn for_another_session(&self) -> Self {
        let mut other = self.clone();
        let output_store = self.output_store.as_ref();
        other.output_store = output_store.map(|store| Arc::new(store.for_another_session()));
        let settings = self.settings.as_ref();
        other.settings = settings.map(|settings| Arc::new(settings.for_another_session()));
        other.jobs = self.jobs.as_ref().map(|jobs| Arc::new(jobs.for_another_session()));
        other
    }

    /// Kills the session's jobs, and removes its saved output and its temp directory at once, even
    /// if clones of this context are still in use.
    pub fn end_session(&self) {
        if let Some(jobs) = &self.jobs {
            jobs.stop_all();
        }
        if let Some(output_store) = &self.output_store {
            output_store.close();
        }
        if let Some(settings) = &self.settings {
            settings.end_session();
        }
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

    /// Limits the size of text replies. Tools then return smaller pages and say how to continue.
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

    /// Passes the complete output of commands to `take` while the commands run; the order of each
    /// stream is preserved. `take` returns how many bytes it accepted. eyelet soon passes the
    /// remaining bytes again. `take` must not block for long, because eyelet checks the time limit
    /// and the cancel flag between two calls of `take`. If the host needs no more output, `take`
    /// cancels the call and accepts all bytes.
    ///
    /// The report of the call stays the same. `take` does not receive the output of commands that may
    /// become background jobs.
    #[must_use]
    pub fn with_live_output(
        mut self,
        take: impl Fn(OutputKind, &[u8]) -> usize + Send + Sync + 'static,
    ) -> Self {
        self.live_output = Some(LiveOutput::new(take));
        self
    }

    /// Renders the hints in reports with `render` instead of `Display`. An interface with
    /// command-line flags uses this method to name its flags.
    #[must_use]
    pub fn with_hint_text(mut self, render: fn(&Hint) -> String) -> Self {
        self.hint_text = render;
        self
    }

    /// Returns the counter to which calls report their progress.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Returns the flag that cancels the call. A long-running tool must check this flag.
    pub fn cancel_flag(&self) -> &CancelFlag {
        &self.cancel
    }

    /// Returns the working directory.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the deny list.
    pub fn deny_list(&self) -> &DenyList {
        &self.deny_list
    }

    /// Locates the programs that calls run outside the sandbox, such as `rg`. A server calls this
    /// before the first tool call, because a command could later put another program named `rg` into a
    /// directory of `PATH`. If a host does not call this, the first search locates the programs.
    pub fn locate_programs(&self) {
        if self.search_engine == SearchEngine::Rg {
            self.rg();
        }
    }

    /// Every `rg` on the `PATH`.
    pub(crate) fn rg(&self) -> &[HelperProgram] {
        self.rg.get_or_init(|| HelperProgram::find_all("rg", &self.environment))
    }

    /// Returns the paths of the roots.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.path())
    }

    /// Returns the sandbox policy for commands.
    pub fn sandbox(&self) -> SandboxPolicy {
        self.sandbox
    }

    /// Returns sentences that tell a model what commands may do.
    pub fn commands_in_words(&self) -> String {
        let network = self.settings.as_ref().and_then(|settings| settings.network_in_words());
        let no_network =
            || "without network access, not even to the machine's localhost,".to_owned();
        let network = network.unwrap_or_else(no_network);
        let also = match self.settings.as_ref().is_some_and(|settings| settings.has_writable()) {
            true => ", directories that the user added",
            false => "",
        };
        let rules = match self.sandbox {
            SandboxPolicy::Off => return "Commands are disabled.".to_owned(),
            SandboxPolicy::ReadOnly => {
                format!("Commands run in a sandbox {network} and can write only to $TMPDIR.")
            }
            SandboxPolicy::WorkspaceWrite => format!(
                "Commands run in a sandbox {network} and can write only to the project{also} and $TMPDIR."
            ),
            SandboxPolicy::Full => "Commands run without a sandbox.".to_owned(),
        };
        format!("{rules} cd and export do not persist between calls.")
    }

    /// From where the ports of a job can be reached, in words for a model.
    pub(crate) fn ports_in_words(&self) -> &'static str {
        let has_network = |settings: &Arc<SandboxSettings>| settings.has_callers_network();
        let is_free = self.sandbox == SandboxPolicy::Full;
        // Without namespaces, a command has no sockets at all.
        match is_free || self.settings.as_ref().is_some_and(has_network) {
            true => " Its ports are open on this machine.",
            false => " Only commands of this session can reach its ports.",
        }
    }

    /// Returns the time at which calls have to end, if the host set a deadline.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the size limit of text replies, if the host set one.
    pub fn reply_budget(&self) -> Option<ReplyBudget> {
        self.reply_budget
    }

    /// Starts the time limit of a call. The tool calls [`StopCheck::check`] repeatedly while it works.
    /// The check fails once `limit` or the deadline of the call has passed, or the call is cancelled.
    pub fn stop_check(&self, limit: Duration) -> StopCheck {
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
