//! The monitor, which the caller starts: chooses the tier, watches the caller and the init process, and
//! restores protected paths when all processes of the command are gone.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, setsid,
};
use serde::de::DeserializeOwned;

use super::covers::Covers;
use super::file_id::FileId;
use super::init::{Init, Order, Setup, StopRequest, release_outputs, report, stop_request};
use super::memory::MemoryWatch;
use super::protection::{self, Protection, init_gone};
use super::setup_failure::SetupFailure;
use super::sys::{self, Forked};
use super::{descendants, namespaces, network_namespace, resolve};
use crate::closed_folder::{cannot_search, is_closed};
use crate::framing::{framed, read_framed, send_all};
use crate::lent_handles::{self, LentHandles};
use crate::machine::Machine;
use crate::message::{KillReason, Message, Reverted};
use crate::request::{Network, Policy, RawPath, SandboxRequest, Strictness, Tier, TierChoice};
use crate::shield::shield_this_process;

/// Runs a supervisor, which reads its request from stdin.
pub(crate) fn supervise() -> ! {
    // Stderr belongs to the command; a panic message must not appear there.
    std::panic::set_hook(Box::new(|_| {}));
    std::process::exit(i32::from(run().is_err()))
}

fn run() -> io::Result<()> {
    let control = UnixStream::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    sys::reset_signals();
    sys::close_others_on_exec()?;
    let signals = sys::signal_fd(&[Signal::TERM, Signal::INT, Signal::HUP])?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // Leave the caller's process group: Ctrl-C in its terminal must not signal the command.
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    let lent = lent_handles::receive(&control)?;
    let mut request: SandboxRequest = read_framed(&control)?;
    if request.program.is_none() {
        report(&control, &Message::Examined(examine(&request, &control)));
        return Ok(());
    }
    if request.policy != Policy::Full {
        request.hidden.extend(protection::store_folder().map(RawPath::from));
    }
    // A removed working directory is reported as such, not as a failure of the sandbox.
    let is_cwd_removed = || rustix::process::getcwd(Vec::new()) == Err(Errno::NOENT);
    let started =
        if is_cwd_removed() { Err(String::new()) } else { start(&request, &control, lent) };
    let reverted = match started {
        Ok(running) => running.watch(&control, &signals),
        Err(reason) => {
            report(
                &control,
                &match is_cwd_removed() {
                    true => Message::NotStarted(libc::ENOENT),
                    false => Message::Unavailable(reason),
                },
            );
            Vec::new()
        }
    };
    report(&control, &Message::Gone(reverted));
    Ok(())
}

/// A running command.
struct Running {
    init: Pid,
    channel: UnixStream,
    tier: Option<Tier>,
    protection: Option<Protection>,
    memory: MemoryWatch,
    covers: Option<Covers>,
}

/// Starts the init process in the best tier that is requested and possible.
fn start(
    request: &SandboxRequest,
    control: &UnixStream,
    mut lent: LentHandles,
) -> Result<Running, String> {
    let reason = |failure: SetupFailure| failure.reason;
    if request.policy == Policy::Full {
        return start_in(None, request, control, &mut lent).map_err(reason);
    }
    let tier = match request.tier {
        TierChoice::Only(tier) => tier,
        TierChoice::Best => {
            check(request, Tier::Namespaces)?;
            match start_in(Some(Tier::Namespaces), request, control, &mut lent) {
                Err(failure) if failure.is_refusal => Tier::Landlock,
                started => return started.map_err(reason),
            }
        }
    };
    check(request, tier)?;
    start_in(Some(tier), request, control, &mut lent).map_err(reason)
}

/// Fails if this tier cannot enforce the request.
fn check(request: &SandboxRequest, tier: Tier) -> Result<(), String> {
    if request.denies_globs && tier == Tier::Landlock {
        return Err("deny globs cannot be enforced without namespaces".to_owned());
    }
    if !request.listen.is_empty() && (tier, request.network) != (Tier::Namespaces, Network::Off) {
        return Err("restricting the network to allowed hosts requires namespaces, which the system does not allow".to_owned());
    }
    if request.roots.iter().any(|root| root.path.parent().is_none()) {
        return Err("the root `/` cannot be sandboxed; use directories in it as roots".to_owned());
    }
    if tier == Tier::Landlock {
        // Commands can read everything in a root, and in the repository of a linked worktree.
        let is_readable = |path: &PathBuf| request.outermost_top(Tier::Namespaces, path).is_some();
        let hidden = request.hidden.iter().filter_map(|path| resolve::denied(&path.0).transpose());
        let hidden: io::Result<Vec<_>> = hidden.collect();
        let hidden = hidden.map_err(|error| format!("cannot resolve the denied paths: {error}"))?;
        if let Some(path) = hidden.into_iter().find(is_readable) {
            if is_closed(&path) {
                return Err(cannot_search(path.display()));
            }
            let path = path.display();
            return Err(format!(
                "cannot hide {path} without namespaces: the path is in a root, or in the main \
                 repository of a linked worktree"
            ));
        }
    }
    if request.strictness == Strictness::Strict {
        let mut gaps = machine(None).gaps(tier);
        gaps.retain(|gap| gap.is_refused_by_strict);
        if let Some(gap) = gaps.first() {
            return Err(format!("strict mode does not accept this gap: {}", gap.what));
        }
    }
    Ok(())
}

fn start_in(
    tier: Option<Tier>,
    request: &SandboxRequest,
    control: &UnixStream,
    lent: &mut LentHandles,
) -> Result<Running, SetupFailure> {
    let failed = |what| move |error: io::Error| SetupFailure::new(what, error);
    let is_writing = request.program.is_some() && request.policy == Policy::WorkspaceWrite;
    let watch = lent.watch.as_ref();
    let protected = tier.filter(|_| is_writing).map(|tier| Protection::start(request, tier, watch));
    let protection =
        protected.transpose().map_err(failed("cannot protect paths such as .git/config"))?;
    let mounts = protection.as_ref().map(|protection| protection.mounts().clone());
    let covers = match tier {
        Some(Tier::Namespaces) => Covers::new(request),
        Some(Tier::Landlock) | None => Ok(None),
    };
    let covers = match covers {
        Ok(covers) => covers,
        Err(error) => {
            abandon(protection);
            return Err(SetupFailure::new("cannot watch the denied paths", error));
        }
    };
    let flags = if tier == Some(Tier::Namespaces) { namespaces::clone_flags() } else { 0 };
    let mapped = (flags & libc::CLONE_NEWUSER != 0).then(namespaces::identity);
    let (channel, theirs) = UnixStream::pair()
        .map_err(failed("cannot create a socket pair for the supervisor's init process"))?;
    let control = control.try_clone();
    let control = control.map_err(failed("cannot duplicate the connection to the caller"))?;
    let forked = match (tier, request.network) {
        (Some(Tier::Namespaces), Network::Off) => {
            network_namespace::fork_init(request, flags, lent.namespaces.take(), &control)
        }
        _ => sys::fork_into(flags).map_err(|error| SetupFailure::no_namespaces(&error)),
    };
    let init = match forked {
        Ok(Forked::Child) => {
            drop((channel, covers));
            // Handles to files outside must not get into the namespaces.
            let protection = protection.filter(|_| tier == Some(Tier::Landlock));
            let mounts = mounts.unwrap_or_default();
            let (channel, inbox, forks) = (theirs, Vec::new(), None);
            Init { request, tier, protection, mounts, mapped, control, channel, inbox, forks }.run()
        }
        Ok(Forked::Parent(pid)) => pid,
        Err(failure) => {
            abandon(protection);
            return Err(failure);
        }
    };
    drop(theirs);
    match read_framed::<Setup>(&channel) {
        Ok(Ok(())) => {
            let _ = release_outputs();
            // Not earlier: the init process inherits this and could not write its own user map.
            shield_this_process();
            let memory = MemoryWatch::new(request.memory);
            Ok(Running { init, channel, tier, protection, memory, covers })
        }
        Ok(Err(failure)) => {
            descendants::wait_for(init);
            abandon(protection);
            Err(failure)
        }
        Err(error) => {
            let _ = kill_process(init, Signal::KILL);
            descendants::wait_for(init);
            abandon(protection);
            Err(SetupFailure::new("the supervisor's init process failed", error))
        }
    }
}

fn abandon(protection: Option<Protection>) {
    if let Some(protection) = protection {
        protection.abandon();
    }
}

impl Running {
    /// Waits until all processes of the command are gone, then restores protected paths. Kills the
    /// command if watching it fails.
    fn watch(mut self, control: &UnixStream, signals: &OwnedFd) -> Vec<Reverted> {
        // Without a handle, the command is killed at once.
        let handle = pidfd_open(self.init, PidfdFlags::empty()).ok();
        while let Some(handle) = &handle {
            let reverted = self.protection.as_mut().map(Protection::newly_reverted);
            if let Some(reverted) = reverted.filter(|reverted| !reverted.is_empty()) {
                report(control, &Message::Restored(reverted));
            }
            let mut fds = vec![
                PollFd::new(handle, PollFlags::IN),
                PollFd::new(control, PollFlags::IN),
                PollFd::new(signals, PollFlags::IN),
            ];
            let watched = self.protection.as_ref();
            fds.extend(
                watched.map(|watched| PollFd::from_borrowed_fd(watched.handle(), PollFlags::IN)),
            );
            let covers = self.covers.as_ref();
            fds.extend(
                covers.map(|covers| PollFd::from_borrowed_fd(covers.handle(), PollFlags::IN)),
            );
            let timeout = watched.and_then(Protection::next_check);
            let timeout = timeout.into_iter().chain([self.memory.next_check()]).min();
            let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
            let _ = rustix::event::poll(&mut fds, timeout.as_ref());
            let has_exited = fds.first().is_some_and(|fd| fd.revents().contains(PollFlags::IN));
            if has_exited || sys::next_signal(signals.as_fd()).is_some() {
                break;
            }
            let reason = match self.cover().and_then(|()| self.restore()) {
                Ok(None) => None,
                Ok(Some(path)) => Some(KillReason::KeptChanging(path.into())),
                // The paths are restored once the command is dead.
                Err(error) => Some(KillReason::Unprotected(error.to_string())),
            };
            let memory = || self.memory.exceeded(self.init).map(KillReason::MemoryLimit);
            if let Some(reason) = reason.or_else(memory) {
                report(control, &Message::Killed(reason));
                break;
            }
            match stop_request(control) {
                StopRequest::None => {}
                StopRequest::Interrupt => {
                    let _ = order(&self.channel, &Order::Interrupt);
                }
                StopRequest::Terminate => {
                    let _ = order(&self.channel, &Order::Terminate);
                }
                StopRequest::Disconnected => break,
            }
        }
        // Kill what is left. In the first tier the death of the init process kills its whole namespace.
        if self.tier == Some(Tier::Namespaces) {
            let _ = kill_process(self.init, Signal::KILL);
            descendants::wait_for(self.init);
        }
        descendants::kill_all();
        self.protection.map(Protection::finish).unwrap_or_default()
    }

    /// Covers denied paths again that were replaced.
    fn cover(&mut self) -> io::Result<()> {
        for path in self.covers.as_mut().map(Covers::lost).transpose()?.unwrap_or_default() {
            // If the init process has exited, so has the command.
            let Ok(covered) = ask(&self.channel, &Order::Cover(path.into())) else { break };
            let covered: Result<(), String> = covered;
            covered.map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Restores protected paths while the command runs. Returns the path for which it has to be killed.
    fn restore(&mut self) -> io::Result<Option<PathBuf>> {
        let Some(protection) = &mut self.protection else { return Ok(None) };
        let channel = &self.channel;
        protection.on_change(&mut |path| {
            let mounted: Result<FileId, String> =
                ask(channel, &Order::MountReadOnly(path.into())).map_err(|_| init_gone())?;
            mounted.map_err(io::Error::other)
        })
    }
}

/// Sends an order to the init process.
fn order(channel: &UnixStream, order: &Order) -> io::Result<()> {
    Ok(send_all(channel, &framed(order)?)?)
}

/// Sends an order to the init process, and waits for the answer.
fn ask<T: DeserializeOwned>(channel: &UnixStream, what: &Order) -> io::Result<T> {
    order(channel, what)?;
    read_framed(channel)
}

/// Enters the first tier without a command, to find out whether the system allows it.
fn examine(request: &SandboxRequest, control: &UnixStream) -> Machine {
    let refused =
        match start_in(Some(Tier::Namespaces), request, control, &mut LentHandles::default()) {
            Ok(running) => {
                descendants::wait_for(running.init);
                None
            }
            Err(failure) => Some(failure.reason),
        };
    machine(refused)
}

fn machine(namespaces_refused: Option<String>) -> Machine {
    let system = rustix::system::uname();
    Machine {
        kernel: system.release().to_string_lossy().into_owned(),
        is_root: rustix::process::geteuid().is_root(),
        namespaces_refused,
        landlock_abi: sys::landlock_version().unwrap_or(0),
        has_seccomp: rustix::thread::secure_computing_mode().is_ok(),
        has_own_pid_limit: namespaces::has_own_pid_limit(),
    }
}
