//! The outer process, which the caller started: it chooses the tier, watches the line to the caller and
//! the inner process, and looks after protected paths when nothing of the command is left.

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
use super::inner::{Asked, Inner, Setup, SetupFailure, asked, silence, tell};
use super::sys::{self, Forked};
use super::{landlock, namespaces, reach, tree};
use crate::doctor::Machine;
use crate::request::{
    Message, Policy, Reverted, SandboxRequest, Strictness, Tier, TierChoice, read_framed,
};

/// How long what does not die at once is waited for.
const KILL_TIME: Duration = Duration::from_secs(1);

/// Does a supervisor's work, from the request on the standard input to the end.
pub(crate) fn supervise() -> ! {
    // The standard error is the command's; nothing of ours may stand there.
    std::panic::set_hook(Box::new(|_| {}));
    std::process::exit(i32::from(run().is_err()))
}

fn run() -> io::Result<()> {
    let control = UnixStream::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    sys::reset_signals();
    sys::close_others_on_exec()?;
    let signals = sys::signals_as_handle(&[Signal::TERM, Signal::INT, Signal::HUP])?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // Not in the caller's group: what is typed there is not meant for the command.
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    let request: SandboxRequest = read_framed(&control)?;
    if request.program.is_none() {
        tell(&control, &Message::Examined(examine(&request, &control)));
        return Ok(());
    }
    // The working directory may have been removed since it was chosen; no sandbox is to blame.
    let is_nowhere = || rustix::process::getcwd(Vec::new()) == Err(Errno::NOENT);
    let started = if is_nowhere() { Err(String::new()) } else { start(&request, &control) };
    let reverted = match started {
        Ok(running) => running.watch(&request, &control, &signals),
        Err(_) if is_nowhere() => {
            tell(&control, &Message::NotStarted(libc::ENOENT));
            Vec::new()
        }
        Err(reason) => {
            tell(&control, &Message::Unavailable(reason));
            Vec::new()
        }
    };
    tell(&control, &Message::Gone(reverted));
    Ok(())
}

/// A command under way.
struct Running {
    inner: Pid,
    channel: UnixStream,
    tier: Option<Tier>,
    guard: Option<Guard>,
}

/// Starts the inner process in the tier that is asked for and possible.
fn start(request: &SandboxRequest, control: &UnixStream) -> Result<Running, String> {
    let told = |failure: SetupFailure| failure.reason;
    if request.policy == Policy::Full {
        return start_in(None, request, control).map_err(told);
    }
    let tier = match request.tier {
        TierChoice::Only(tier) => tier,
        TierChoice::Best => {
            check(request, Tier::Namespaces)?;
            match start_in(Some(Tier::Namespaces), request, control) {
                Err(failure) if failure.is_refusal => Tier::Landlock,
                started => return started.map_err(told),
            }
        }
    };
    check(request, tier)?;
    start_in(Some(tier), request, control).map_err(told)
}

/// What is asked for and cannot be had in this tier.
fn check(request: &SandboxRequest, tier: Tier) -> Result<(), String> {
    if request.denies_globs && tier == Tier::Landlock {
        return Err("--deny cannot be enforced without namespaces".to_owned());
    }
    if request.roots.iter().any(|root| root.path.parent().is_none()) {
        return Err("a root of `/` leaves nothing to protect".to_owned());
    }
    if tier == Tier::Landlock {
        let is_in_a_root = |path: &std::path::PathBuf| {
            request.roots.iter().any(|root| path.starts_with(&root.path))
        };
        let hidden = request.hidden.iter().filter_map(|path| reach::real(&path.0).transpose());
        let hidden: io::Result<Vec<_>> = hidden.collect();
        let hidden = hidden.map_err(|error| format!("what is hidden: {error}"))?;
        if let Some(path) = hidden.into_iter().find(is_in_a_root) {
            let path = path.display();
            return Err(format!("{path} lies in a root and cannot be hidden without namespaces"));
        }
    }
    if request.strictness == Strictness::Strict {
        let mut gaps = machine(None).gaps(tier);
        gaps.retain(|gap| gap.is_refused_by_strict);
        if let Some(gap) = gaps.first() {
            return Err(format!("--strict does not accept that {}", gap.what));
        }
    }
    Ok(())
}

fn start_in(
    tier: Option<Tier>,
    request: &SandboxRequest,
    control: &UnixStream,
) -> Result<Running, SetupFailure> {
    let failed = |what: &str, error: io::Error, is_refusal| SetupFailure {
        reason: format!("{what}: {error}"),
        is_refusal,
    };
    let guard = match tier.filter(|_| request.program.is_some()) {
        Some(tier) => Some(
            Guard::new(request, tier).map_err(|error| failed("protected paths", error, false))?,
        ),
        None => None,
    };
    let kinds = if tier == Some(Tier::Namespaces) { namespaces::kinds(request) } else { 0 };
    let mapped = (kinds & libc::CLONE_NEWUSER != 0).then(namespaces::identity);
    let (channel, theirs) =
        UnixStream::pair().map_err(|error| failed("a line to the inner process", error, false))?;
    let control =
        control.try_clone().map_err(|error| failed("the line to the caller", error, false))?;
    let inner = match sys::fork_into(kinds) {
        Ok(Forked::Child) => {
            drop(channel);
            // Handles of what is outside do not go into namespaces.
            let guard = guard.filter(|_| tier == Some(Tier::Landlock));
            Inner { request, tier, guard, mapped, control, channel: theirs }.run()
        }
        Ok(Forked::Parent(pid)) => pid,
        Err(error) => {
            let is_refusal = namespaces::is_refusal(&error);
            return Err(failed("new namespaces", error, is_refusal));
        }
    };
    drop(theirs);
    match read_framed::<Setup>(&channel) {
        Ok(Ok(())) => {
            let _ = silence();
            // Not before: the inner process could not have written its own user map.
            crate::shield_this_process();
            Ok(Running { inner, channel, tier, guard })
        }
        Ok(Err(failure)) => {
            reap(inner);
            Err(failure)
        }
        Err(error) => {
            let _ = kill_process(inner, Signal::KILL);
            reap(inner);
            Err(failed("the inner process", error, false))
        }
    }
}

impl Running {
    /// Watches until nothing of the command is left. Whatever fails, it is ended and undone.
    fn watch(
        self,
        request: &SandboxRequest,
        control: &UnixStream,
        signals: &OwnedFd,
    ) -> Vec<Reverted> {
        // One that cannot be watched is ended at once.
        let handle = pidfd_open(self.inner, PidfdFlags::empty()).ok();
        while let Some(handle) = &handle {
            let mut fds = [
                PollFd::new(control, PollFlags::IN),
                PollFd::new(signals, PollFlags::IN),
                PollFd::new(handle, PollFlags::IN),
            ];
            let _ = rustix::event::poll(&mut fds, None);
            let has_ended = fds.last().is_some_and(|fd| fd.revents().contains(PollFlags::IN));
            if has_ended {
                break;
            }
            if sys::next_signal(signals.as_fd()).is_some() {
                break;
            }
            match asked(control) {
                Asked::Nothing => {}
                Asked::End => {
                    let _ = rustix::net::send(&self.channel, &[0], SendFlags::NOSIGNAL);
                }
                Asked::EndNow => break,
            }
        }
        // Ended by itself, it has left nothing; else everything goes now, the inner process first in
        // its own namespace, where that takes all others along.
        if self.tier == Some(Tier::Namespaces) {
            let _ = kill_process(self.inner, Signal::KILL);
            reap(self.inner);
        }
        tree::end_all(KILL_TIME);
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

/// Sets up the first tier, with nothing in it, to see whether the system allows it.
fn examine(request: &SandboxRequest, control: &UnixStream) -> Machine {
    let refused = match start_in(Some(Tier::Namespaces), request, control) {
        Ok(running) => {
            reap(running.inner);
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
        landlock_abi: landlock::kernel_abi().unwrap_or(0),
        has_seccomp: rustix::thread::secure_computing_mode().is_ok(),
        has_own_pid_limit: namespaces::has_own_pid_limit(),
    }
}
