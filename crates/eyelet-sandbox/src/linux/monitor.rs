//! The monitor, which the caller starts: chooses the tier, watches the caller and the init process, and
//! restores protected paths when all processes of the command are gone.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, setsid,
};

use super::guard::Guard;
use super::init::{Init, Setup, StopRequest, release_outputs, report, stop_request};
use super::setup_failure::SetupFailure;
use super::sys::{self, Forked};
use super::{descendants, namespaces, resolve};
use crate::framing::read_framed;
use crate::machine::Machine;
use crate::message::{Message, Reverted};
use crate::request::{Policy, SandboxRequest, Strictness, Tier, TierChoice};
use crate::shield::shield_this_process;

/// How long to wait for killed processes to exit.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

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
    let request: SandboxRequest = read_framed(&control)?;
    if request.program.is_none() {
        report(&control, &Message::Examined(examine(&request, &control)));
        return Ok(());
    }
    // A removed working directory is reported as such, not as a failure of the sandbox.
    let is_cwd_removed = || rustix::process::getcwd(Vec::new()) == Err(Errno::NOENT);
    let started = if is_cwd_removed() { Err(String::new()) } else { start(&request, &control) };
    let reverted = match started {
        Ok(running) => running.watch(&request, &control, &signals),
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
    guard: Option<Guard>,
}

/// Starts the init process in the best tier that is requested and possible.
fn start(request: &SandboxRequest, control: &UnixStream) -> Result<Running, String> {
    let reason = |failure: SetupFailure| failure.reason;
    if request.policy == Policy::Full {
        return start_in(None, request, control).map_err(reason);
    }
    let tier = match request.tier {
        TierChoice::Only(tier) => tier,
        TierChoice::Best => {
            check(request, Tier::Namespaces)?;
            match start_in(Some(Tier::Namespaces), request, control) {
                Err(failure) if failure.is_refusal => Tier::Landlock,
                started => return started.map_err(reason),
            }
        }
    };
    check(request, tier)?;
    start_in(Some(tier), request, control).map_err(reason)
}

/// Fails if this tier cannot enforce the request.
fn check(request: &SandboxRequest, tier: Tier) -> Result<(), String> {
    if request.denies_globs && tier == Tier::Landlock {
        return Err("deny globs cannot be enforced without namespaces".to_owned());
    }
    if request.roots.iter().any(|root| root.path.parent().is_none()) {
        return Err("the root `/` would make every file writable".to_owned());
    }
    if tier == Tier::Landlock {
        let is_in_a_root = |path: &std::path::PathBuf| {
            request.roots.iter().any(|root| path.starts_with(&root.path))
        };
        let hidden = request.hidden.iter().filter_map(|path| resolve::real(&path.0).transpose());
        let hidden: io::Result<Vec<_>> = hidden.collect();
        let hidden = hidden.map_err(|error| format!("cannot resolve the denied paths: {error}"))?;
        if let Some(path) = hidden.into_iter().find(is_in_a_root) {
            let path = path.display();
            return Err(format!("{path} is inside a root and cannot be hidden without namespaces"));
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
) -> Result<Running, SetupFailure> {
    let failed = |what| move |error: io::Error| SetupFailure::new(what, error);
    let guarded = tier.filter(|_| request.program.is_some());
    let guard = guarded.map(|tier| Guard::new(request, tier)).transpose();
    let guard = guard.map_err(failed("cannot record the protected paths"))?;
    let flags = if tier == Some(Tier::Namespaces) { namespaces::clone_flags(request) } else { 0 };
    let mapped = (flags & libc::CLONE_NEWUSER != 0).then(namespaces::identity);
    let (channel, theirs) =
        UnixStream::pair().map_err(failed("cannot connect to the init process"))?;
    let control = control.try_clone();
    let control = control.map_err(failed("cannot duplicate the connection to the caller"))?;
    let init = match sys::fork_into(flags) {
        Ok(Forked::Child) => {
            drop(channel);
            // Handles to files outside must not get into the namespaces.
            let guard = guard.filter(|_| tier == Some(Tier::Landlock));
            Init { request, tier, guard, mapped, control, channel: theirs }.run()
        }
        Ok(Forked::Parent(pid)) => pid,
        Err(error) => return Err(SetupFailure::no_namespaces(&error)),
    };
    drop(theirs);
    match read_framed::<Setup>(&channel) {
        Ok(Ok(())) => {
            let _ = release_outputs();
            // Not earlier: the init process inherits this and could not write its own user map.
            shield_this_process();
            Ok(Running { init, channel, tier, guard })
        }
        Ok(Err(failure)) => {
            reap(init);
            Err(failure)
        }
        Err(error) => {
            let _ = kill_process(init, Signal::KILL);
            reap(init);
            Err(SetupFailure::new("the init process failed", error))
        }
    }
}

impl Running {
    /// Waits until all processes of the command are gone, then restores protected paths. Kills the
    /// command if watching it fails.
    fn watch(
        self,
        request: &SandboxRequest,
        control: &UnixStream,
        signals: &OwnedFd,
    ) -> Vec<Reverted> {
        // Without a handle, the command is killed at once.
        let handle = pidfd_open(self.init, PidfdFlags::empty()).ok();
        while let Some(handle) = &handle {
            let mut fds = [
                PollFd::new(control, PollFlags::IN),
                PollFd::new(signals, PollFlags::IN),
                PollFd::new(handle, PollFlags::IN),
            ];
            let _ = rustix::event::poll(&mut fds, None);
            let has_exited = fds.last().is_some_and(|fd| fd.revents().contains(PollFlags::IN));
            if has_exited || sys::next_signal(signals.as_fd()).is_some() {
                break;
            }
            match stop_request(control) {
                StopRequest::None => {}
                StopRequest::Terminate => {
                    let _ = rustix::net::send(&self.channel, &[0], SendFlags::NOSIGNAL);
                }
                StopRequest::Disconnected => break,
            }
        }
        // Kill what is left. In the first tier the death of the init process kills its whole namespace.
        if self.tier == Some(Tier::Namespaces) {
            let _ = kill_process(self.init, Signal::KILL);
            reap(self.init);
        }
        descendants::kill_all(KILL_TIMEOUT);
        match (self.guard, self.tier) {
            (Some(guard), Some(tier)) => guard.restore(request, tier),
            (_, _) => Vec::new(),
        }
    }
}

fn reap(pid: Pid) {
    use rustix::process::{WaitOptions, waitpid};
    while matches!(waitpid(Some(pid), WaitOptions::empty()), Err(Errno::INTR)) {}
}

/// Enters the first tier without a command, to find out whether the system allows it.
fn examine(request: &SandboxRequest, control: &UnixStream) -> Machine {
    let refused = match start_in(Some(Tier::Namespaces), request, control) {
        Ok(running) => {
            reap(running.init);
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
