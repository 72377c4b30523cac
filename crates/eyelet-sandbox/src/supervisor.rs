//! The caller's side: starts a supervisor and sends it a request.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::framing::framed;
#[cfg(target_os = "linux")]
use crate::lent_handles;
use crate::machine::Machine;
use crate::message::Message;
use crate::request::{Network, Policy, SandboxRequest, Tier, TierChoice};
use crate::session_network::{NamespaceHandles, SessionNetwork};
use crate::supervised::{Received, Supervised};
#[cfg(target_os = "linux")]
use crate::watch_handle::WatchHandles;

/// The first argument of a program that is started as a supervisor.
pub(crate) const SUPERVISE: &str = "__supervise";

/// How long a supervisor may take to find out what the machine can enforce.
const EXAMINE_TIMEOUT: Duration = Duration::from_secs(5);

/// The program that supervises commands. Clones share the cached features of the machine.
#[derive(Clone, Debug)]
pub struct Supervisor {
    program: PathBuf,
    known: Arc<Known>,
}

#[derive(Debug, Default)]
struct Known {
    tier: OnceLock<Tier>,
    machine: OnceLock<Machine>,
    #[cfg(target_os = "linux")]
    watch_handles: Arc<WatchHandles>,
}

impl Supervisor {
    /// Uses this program as the supervisor. Its `main` must begin with
    /// [`crate::run_if_supervisor`]. The program is located through `/proc/self/exe`, which works
    /// even if the file has been replaced.
    pub fn this_program() -> Self {
        Supervisor::at("/proc/self/exe")
    }

    /// Uses another program as the supervisor. Its `main` must begin with
    /// [`crate::run_if_supervisor`].
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Supervisor { program: program.into(), known: Arc::default() }
    }

    /// Starts a supervisor in `directory` and sends it the request.
    ///
    /// No code of this process runs between fork and exec.
    ///
    /// # Errors
    /// Fails if the program cannot be started.
    pub fn start(&self, request: &SandboxRequest, directory: &Path) -> io::Result<Supervised> {
        self.start_with(self.in_known_tier(request), directory, None)
    }

    /// Starts a supervisor in `directory` and sends it the request, as [`Supervisor::start`] does. The
    /// commands of a session also share one network namespace, which the supervisor of the first
    /// command creates. Under [`Policy::Full`], with [`Network::On`] and in the second tier, the
    /// commands do not share a namespace.
    ///
    /// # Errors
    /// Fails if the program cannot be started or does not respond.
    pub fn start_in_session(
        &self,
        request: &SandboxRequest,
        directory: &Path,
        network: &SessionNetwork,
    ) -> io::Result<Supervised> {
        let request = self.in_known_tier(request);
        if !has_session_network(&request) {
            return self.start_with(request, directory, None);
        }
        let mut state = network.state();
        if let Some(namespaces) = state.namespaces.clone() {
            drop(state);
            return self.start_with(request, directory, Some(&namespaces));
        }
        // Commands that start meanwhile wait for the namespace.
        let mut started = self.start_with(request, directory, None)?;
        if let Some((has_user, handles)) = started.network_created()? {
            state.created(has_user, handles);
        }
        Ok(started)
    }

    /// Once the machine allowed a tier, later commands must not silently fall back to another.
    fn in_known_tier(&self, request: &SandboxRequest) -> SandboxRequest {
        let mut request = request.clone();
        if let (TierChoice::Best, Some(tier)) = (request.tier, self.known.tier.get()) {
            request.tier = TierChoice::Only(*tier);
        }
        request
    }

    #[cfg_attr(
        not(target_os = "linux"),
        expect(unused_variables, clippy::needless_pass_by_value, reason = "nothing is lent")
    )]
    fn start_with(
        &self,
        request: SandboxRequest,
        directory: &Path,
        namespaces: Option<&NamespaceHandles>,
    ) -> io::Result<Supervised> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut child = Command::new(&self.program)
            .arg(SUPERVISE)
            .env_clear()
            .current_dir(directory)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let outputs =
            [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        #[cfg_attr(not(target_os = "linux"), expect(unused_mut, reason = "nothing is lent"))]
        let mut started = Supervised::new(child, ours, outputs);
        #[cfg(target_os = "linux")]
        {
            started.lent = is_watched(&request)
                .then(|| self.known.watch_handles.take())
                .flatten()
                .map(|handle| (handle, Arc::clone(&self.known.watch_handles)));
            let handle = started.lent.as_ref().map(|(handle, _)| handle);
            if let Some(control) = &started.control {
                lent_handles::send(control, handle, namespaces)?;
            }
        }
        started.send(&framed(&request)?)?;
        Ok(started)
    }

    /// Stores the tier in which a command ran. Later commands that request [`TierChoice::Best`] run
    /// only in this tier. Calls after the first one have no effect.
    pub fn learn(&self, tier: Tier) {
        let _ = self.known.tier.set(tier);
    }

    /// Returns the tier in which sandboxed commands run, or `None` if the machine can enforce no
    /// tier. If the tier is not known yet, calls [`Supervisor::machine`]; if this call fails, also
    /// returns `None`.
    pub fn tier(&self) -> Option<Tier> {
        let known = self.known.tier.get().copied();
        known.or_else(|| self.machine().ok()?.tier())
    }

    /// Starts a supervisor to check the sandbox features of this machine, and returns these
    /// features. The result is cached.
    ///
    /// # Errors
    /// Returns the reason why the check failed.
    pub fn machine(&self) -> Result<Machine, String> {
        if !cfg!(target_os = "linux") {
            let reason = "the sandbox requires Linux; on other systems, use the policy `full`";
            return Err(reason.to_owned());
        }
        if let Some(machine) = self.known.machine.get() {
            return Ok(machine.clone());
        }
        let machine = self.examine().map_err(|error| error.to_string())?;
        Ok(self.known.machine.get_or_init(|| machine).clone())
    }

    fn examine(&self) -> io::Result<Machine> {
        let mut supervised = self.start(&SandboxRequest::examination(), Path::new("/"))?;
        let until = Instant::now() + EXAMINE_TIMEOUT;
        while Instant::now() < until {
            supervised.wait(until.saturating_duration_since(Instant::now()));
            match supervised.receive()? {
                Received::Message(Message::Examined(machine)) => {
                    supervised.wait_for_exit(until);
                    return Ok(machine);
                }
                Received::Message(Message::Unavailable(reason)) => {
                    return Err(io::Error::other(reason));
                }
                Received::Message(
                    Message::Started(_)
                    | Message::NotStarted(_)
                    | Message::Exited(_)
                    | Message::Killed(_)
                    | Message::ConnectionsRefused(_)
                    | Message::NetworkCreated { .. }
                    | Message::Restored(_)
                    | Message::Gone(_),
                )
                | Received::Nothing => {}
                Received::End => break,
            }
        }
        Err(io::Error::other("the supervisor process did not respond; try again"))
    }
}

/// Whether the command runs in the network namespace of its session.
fn has_session_network(request: &SandboxRequest) -> bool {
    request.policy != Policy::Full
        && request.network == Network::Off
        && request.tier != TierChoice::Only(Tier::Landlock)
}

/// Whether the supervisor watches protected paths.
#[cfg(target_os = "linux")]
fn is_watched(request: &SandboxRequest) -> bool {
    request.program.is_some() && request.policy == Policy::WorkspaceWrite
}
