//! The command's own process, until it executes the program.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::Signal;

use super::{forks, landlock, privileges, seccomp, sys, tmp_paths::TmpPaths};
use crate::framing::framed;
use crate::handle_passing;
use crate::message::Message;
use crate::request::{Program, SandboxRequest, Tier};

/// Restricts this process and executes the program. Sends the handle that reports its forks to `parent`, and then why
/// it failed. The system closes `parent` on success.
pub(super) fn execute(
    request: &SandboxRequest,
    tier: Option<Tier>,
    program: &Program,
    mut parent: UnixStream,
) -> ! {
    let failure = match prepare(request, tier) {
        Ok(forks) => {
            let _ = handle_passing::send_one(&parent, forks.as_ref());
            drop(forks);
            let error = command(request, tier, program).exec();
            Message::NotStarted(error.raw_os_error().unwrap_or(libc::EIO))
        }
        Err(reason) => {
            let _ = handle_passing::send_one(&parent, None);
            Message::Unavailable(reason)
        }
    };
    if let Ok(message) = framed(&failure) {
        let _ = parent.write_all(&message);
    }
    std::process::exit(1)
}

fn prepare(request: &SandboxRequest, tier: Option<Tier>) -> Result<Option<OwnedFd>, String> {
    let because = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    // A session of its own: no terminal, and a process group that can be signalled.
    rustix::process::setsid()
        .map_err(|error| format!("cannot create a process session: {error}"))?;
    sys::reset_signals();
    privileges::limit_core().map_err(because("cannot disable core dumps"))?;
    // Both supervisor processes may be killed at once; then at least this one dies too.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("cannot set the parent death signal: {error}"))?;
    let Some(tier) = tier else { return Ok(None) };
    privileges::limit_processes(tier).map_err(because("cannot limit the number of processes"))?;
    landlock::apply(request, tier)?;
    privileges::drop_capabilities(request).map_err(because("cannot drop capabilities"))?;
    seccomp::apply(tier, request.network)
        .map_err(|error| format!("cannot apply the seccomp filter: {error}"))?;
    match tier {
        // The end of the process namespace kills every process at once.
        Tier::Namespaces => Ok(None),
        Tier::Landlock => forks::ask_first().map_err(because("cannot watch the command's forks")),
    }
}

fn command(request: &SandboxRequest, tier: Option<Tier>, program: &Program) -> Command {
    let mut command = Command::new(&program.file);
    command.args(program.arguments.iter().map(|argument| &argument.0));
    command.env_clear();
    command.envs(program.environment.iter().map(|(name, value)| (&name.0, &value.0)));
    if let Some(temp) = tier.and_then(|tier| TmpPaths::new(request, tier).private_temp()) {
        command.env("TMPDIR", temp);
    }
    command
}
