//! A command under a supervisor, which kills everything the command started.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use eyelet_sandbox::{
    KillReason, MemoryLimit, Message, Network, Policy, Received, Supervised, Tier,
};

use crate::exec::refusal::Refusal;
use crate::exec::sandbox_facts::{NetworkAccess, SandboxFacts};
use crate::exec::sandboxed::sandbox_request::SupervisedCommand;
use crate::exec::sandboxed::session_network::NetworkUse;
use crate::fs::directory::Directory;
use crate::text::blocked::Blocked;
use crate::text::escape;
use crate::text::reverted::{Fate, Reverted};
use crate::text::stderr_clues::Refuses;

/// How long the supervisor may take to exit when it has nothing left to do.
const EXIT_TIME: Duration = Duration::from_millis(500);

/// A supervisor and its messages so far. Dropping it early kills the command.
pub(crate) struct SupervisedProcess {
    supervised: Supervised,
    command: SupervisedCommand,
    is_started: bool,
    /// The tier in which the command runs, if it is sandboxed.
    tier: Option<Tier>,
    exit_code: Option<i32>,
    /// Why the supervisor killed the command.
    kill_reason: Option<String>,
    is_gone: bool,
    /// How many connections and look-ups of names the network namespace refused.
    refused_connections: u64,
    network_use: NetworkUse,
    /// None until the supervisor has checked the protected paths.
    reverted: Option<Vec<Reverted>>,
    /// Changes that were reverted while the command runs, for the next report.
    newly_reverted: Vec<Reverted>,
}

impl SupervisedProcess {
    /// Starts the command in `directory` through a supervisor. Returns its stdout and stderr too.
    pub(crate) fn start(
        command: &SupervisedCommand,
        directory: &Directory,
    ) -> io::Result<(Self, [Option<OwnedFd>; 2])> {
        // The checked handle refers to this directory even if another one takes its name.
        let handle = PathBuf::from(format!("/proc/self/fd/{}", directory.handle().as_raw_fd()));
        let network = &command.network;
        let network_use = network.enter();
        let supervisor = &command.supervisor;
        let mut supervised =
            supervisor.start_in_session(&command.request, &handle, &network.namespace)?;
        network.serve()?;
        let outputs = supervised.take_outputs();
        let supervisee = SupervisedProcess {
            supervised,
            command: command.clone(),
            is_started: false,
            tier: None,
            exit_code: None,
            kill_reason: None,
            is_gone: false,
            refused_connections: 0,
            network_use,
            reverted: None,
            newly_reverted: Vec::new(),
        };
        Ok((supervisee, outputs))
    }

    /// Becomes readable when there is a message.
    pub(crate) fn handle(&self) -> Option<BorrowedFd<'_>> {
        self.supervised.handle()
    }

    pub(crate) fn ask_to_end(&self) {
        self.supervised.ask_to_end();
    }

    pub(crate) fn ask_to_interrupt(&self) {
        self.supervised.ask_to_interrupt();
    }

    /// Whether the command has ended.
    pub(crate) fn has_ended(&mut self) -> Result<bool, Refusal> {
        self.receive_messages()?;
        Ok(self.exit_code.is_some() || self.is_gone)
    }

    /// Whether the command and everything it started are gone.
    pub(crate) fn is_gone(&mut self) -> Result<bool, Refusal> {
        self.receive_messages()?;
        Ok(self.is_gone)
    }

    /// Releases the supervisor. Returns the command's exit code, or the supervisor's if it was
    /// killed.
    pub(crate) fn finish(&mut self) -> Option<i32> {
        self.supervised.let_go();
        let status = self.supervised.wait_for_exit(Instant::now() + EXIT_TIME);
        let own = status.and_then(|status| status.signal()).map(|signal| 128 + signal);
        self.exit_code.or(own)
    }

    /// The error if the supervisor died before it confirmed the start. Output proves that the
    /// command ran all the same.
    pub(crate) fn start_unconfirmed(&self) -> Option<Refusal> {
        let reason = "the supervisor was killed before it reported the start of the command";
        (!self.is_started).then(|| Refusal::Unavailable(reason.to_owned()))
    }

    /// Why the supervisor killed the command, if it did.
    pub(crate) fn take_kill_reason(&mut self) -> Option<String> {
        self.kill_reason.take()
    }

    /// The path relative to its root, for display.
    fn below_root(&self, path: &Path) -> String {
        let mut roots = self.command.request.roots.iter();
        let below = roots.find_map(|root| path.strip_prefix(&root.path).ok());
        escape::name(below.unwrap_or(path).as_os_str()).into_owned()
    }

    /// How the command was sandboxed, if it was.
    pub(crate) fn sandbox_facts(&self) -> Option<SandboxFacts> {
        let request = &self.command.request;
        let roots = request.roots.iter().map(|root| root.path.clone()).collect();
        let (mut writable, mut read_only): (Vec<PathBuf>, Vec<PathBuf>) = match request.policy {
            Policy::WorkspaceWrite | Policy::Full => (roots, Vec::new()),
            Policy::ReadOnly => (Vec::new(), roots),
        };
        read_only.extend(request.home.iter().map(|home| home.path.clone()));
        writable.extend(request.caches.iter().map(|cache| cache.path.clone()));
        writable.extend(request.private_temp.iter().map(|temp| temp.path.clone()));
        let refuses = match self.tier? {
            Tier::Namespaces => {
                // The private temp directory is mounted there.
                writable.push("/tmp".into());
                Refuses::ByMounts
            }
            Tier::Landlock => Refuses::ByRules,
        };
        Some(SandboxFacts {
            refuses,
            network: if request.network == Network::On {
                NetworkAccess::Everything
            } else if self.network_use.has_allowed_hosts() {
                NetworkAccess::AllowedHosts
            } else {
                NetworkAccess::Nothing
            },
            writable,
            read_only,
            hidden: request.hidden.iter().map(|path| path.0.clone()).collect(),
        })
    }

    /// The refused actions that the kernel or the proxy counted.
    pub(crate) fn blocked(&self) -> Vec<Blocked> {
        self.network_use.blocked(self.refused_connections)
    }

    /// The reverted changes to protected paths.
    pub(crate) fn take_reverted(&mut self) -> Vec<Reverted> {
        let request = &self.command.request;
        let reported = self.reverted.take();
        let unseen = || match request.policy {
            Policy::WorkspaceWrite => request.roots.iter().map(|root| unseen(&root.path)).collect(),
            Policy::ReadOnly | Policy::Full => Vec::new(),
        };
        reported.unwrap_or_else(unseen)
    }

    /// The changes to protected paths that were reverted since the last time, while the command runs.
    pub(crate) fn newly_reverted(&mut self) -> Vec<Reverted> {
        std::mem::take(&mut self.newly_reverted)
    }

    fn receive_messages(&mut self) -> Result<(), Refusal> {
        while !self.is_gone {
            match self.supervised.receive()? {
                Received::Message(Message::Started(tier)) => {
                    self.is_started = true;
                    self.tier = tier;
                    if let Some(tier) = tier {
                        self.command.supervisor.learn(tier);
                    }
                }
                Received::Message(Message::Unavailable(reason)) => {
                    return Err(Refusal::Unavailable(reason));
                }
                Received::Message(Message::NotStarted(number)) => {
                    return Err(Refusal::Io(io::Error::from_raw_os_error(number)));
                }
                Received::Message(Message::Exited(code)) => self.exit_code = Some(code),
                Received::Message(Message::Killed(reason)) => {
                    self.is_started = true;
                    self.kill_reason = Some(match reason {
                        KillReason::KeptChanging(path) => {
                            format!("protected path {} kept changing", self.below_root(&path.0))
                        }
                        KillReason::Unprotected(error) => {
                            format!("cannot keep the protected or denied paths safe: {error}")
                        }
                        KillReason::MemoryLimit(bytes) => {
                            format!("memory limit {}", MemoryLimit::in_words(bytes))
                        }
                    });
                }
                Received::Message(Message::ConnectionsRefused(count)) => {
                    self.refused_connections = count;
                }
                Received::Message(Message::Restored(reverted)) => {
                    self.newly_reverted.extend(reverted.into_iter().map(from_message));
                }
                Received::Message(Message::Gone(reverted)) => {
                    self.reverted = Some(reverted.into_iter().map(from_message).collect());
                    self.is_gone = true;
                }
                Received::Message(Message::Examined(_) | Message::NetworkCreated { .. }) => {}
                Received::Nothing => return Ok(()),
                Received::End => self.is_gone = true,
            }
        }
        Ok(())
    }
}

fn unseen(root: &Path) -> Reverted {
    Reverted { path: root.to_owned(), fate: Fate::Unseen }
}

fn from_message(reverted: eyelet_sandbox::Reverted) -> Reverted {
    let fate = match reverted.fate {
        eyelet_sandbox::Fate::Conflict { to, removed } => Fate::Conflict { to: to.0, removed },
        eyelet_sandbox::Fate::PutBack => Fate::PutBack,
        eyelet_sandbox::Fate::Deleted => Fate::Deleted,
        eyelet_sandbox::Fate::Failed => Fate::Failed,
        eyelet_sandbox::Fate::Unseen => Fate::Unseen,
    };
    Reverted { path: reverted.path.0, fate }
}
