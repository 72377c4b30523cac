//! A command under a supervisor, which kills everything the command started.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use eyelet_sandbox::{Fate, Message, Place, Policy, Received, Reverted, Supervised};

use crate::exec::refusal::Refusal;
use crate::exec::sandbox_request::SupervisedCommand;
use crate::fs::directory::Directory;

/// How long the supervisor may take to exit when it has nothing left to do.
const EXIT_TIME: Duration = Duration::from_millis(500);

/// A supervisor and its messages so far. Dropping it early kills the command.
pub(crate) struct SupervisedProcess {
    supervised: Supervised,
    command: SupervisedCommand,
    is_started: bool,
    exit_code: Option<i32>,
    is_gone: bool,
    /// None until the supervisor has checked the protected paths.
    reverted: Option<Vec<Reverted>>,
}

impl SupervisedProcess {
    /// Starts the command in `directory` through a supervisor. Returns its stdout and stderr too.
    pub(crate) fn start(
        command: &SupervisedCommand,
        directory: &Directory,
    ) -> io::Result<(Self, [Option<OwnedFd>; 2])> {
        // The checked handle refers to this directory even if another one takes its name.
        let handle = PathBuf::from(format!("/proc/self/fd/{}", directory.handle().as_raw_fd()));
        let mut supervised = command.supervisor.start(&command.request, &handle)?;
        let outputs = supervised.take_outputs();
        let supervisee = SupervisedProcess {
            supervised,
            command: command.clone(),
            is_started: false,
            exit_code: None,
            is_gone: false,
            reverted: None,
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

    /// What happened to protected paths.
    pub(crate) fn take_reverted(&mut self) -> Vec<Reverted> {
        let request = &self.command.request;
        let reported = self.reverted.take();
        let unseen = || match request.policy {
            Policy::WorkspaceWrite => request.roots.iter().map(unseen).collect(),
            Policy::ReadOnly | Policy::Full => Vec::new(),
        };
        reported.unwrap_or_else(unseen)
    }

    fn receive_messages(&mut self) -> Result<(), Refusal> {
        while !self.is_gone {
            match self.supervised.receive()? {
                Received::Message(Message::Started(tier)) => {
                    self.is_started = true;
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
                Received::Message(Message::Gone(reverted)) => {
                    self.reverted = Some(reverted);
                    self.is_gone = true;
                }
                Received::Message(Message::Examined(_)) => {}
                Received::Nothing => return Ok(()),
                Received::End => self.is_gone = true,
            }
        }
        Ok(())
    }
}

fn unseen(root: &Place) -> Reverted {
    Reverted { path: root.path.clone().into(), fate: Fate::Unseen }
}
