//! Makes single system calls fail in tool calls: `strace` returns an error from the first, second, ... call.
//!
//! Whichever system call fails, the tool call must return in time, with the right reply or an error. A command must not
//! access anything outside its sandbox, and its changes to protected paths are restored or reported. All combinations
//! would take hours, so each run tests a different part of them within its time limit, evenly over the system calls.

mod commands;
mod file_tools;
mod long_output;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::test::{built, is_root};
use crate::workspace::Workspace;

/// The second user, because root passes most permission checks.
const USER: u32 = 65534;
/// The default duration of a run.
const SECONDS: u64 = 900;
/// The timeout of a call in seconds, well above its own `timeout_secs`.
const LONG: &str = "25";
/// The number of scenarios.
const SCENARIOS: usize = 4;
/// At most this many calls of the same system call fail, one per run.
const MOST: usize = 130;

const ERRORS: &[&str] = &[
    "EINTR", "EAGAIN", "EIO", "ENOSPC", "EMFILE", "ENFILE", "ENOMEM", "EACCES", "EPERM", "ENOSYS",
];

/// One failing system call and its error.
struct Fault {
    call: String,
    error: &'static str,
    number: usize,
}

/// A tool call to repeat, and the conditions that must hold each time.
trait Scenario {
    fn name(&self) -> String;
    /// Restores the initial state.
    fn reset(&self) -> Result<(), String>;
    fn command(&self) -> Vec<String>;
    /// The system calls to fail, and the errors.
    fn faults(&self) -> (&'static [&'static str], &'static [&'static str]);
    /// The conditions that do not hold.
    fn complaints(&self, seen: &Seen) -> Vec<String>;
}

/// The result of one call.
struct Seen {
    /// `None` if a signal killed the process.
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// The directory and the user of the calls.
#[derive(Clone)]
struct Stage {
    top: PathBuf,
    eyelet: PathBuf,
    user: Option<u32>,
}

pub(crate) fn check(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    let seconds = match words {
        [] => SECONDS,
        [seconds] => seconds
            .parse()
            .map_err(|error| format!("invalid number of seconds `{seconds}`: {error}"))?,
        [_, other, ..] => {
            return Err(format!(
                "unexpected argument `{other}`; usage: cargo xtask faults [SECONDS]"
            ));
        }
    };
    let strace = Command::new("strace").arg("-V").stdout(Stdio::null()).status();
    if !strace.is_ok_and(|status| status.success()) {
        return Err("strace is missing; install it with apt-get install strace".to_owned());
    }
    let built = match std::env::var_os("EYELET_TEST_BIN") {
        Some(file) => PathBuf::from(file),
        None => built(workspace)?.eyelet,
    };
    let users: &[Option<u32>] = if is_root() { &[None, Some(USER)] } else { &[None] };
    let shares = SCENARIOS * users.len();
    let share = Duration::from_secs(seconds) / u32::try_from(shares).unwrap_or(1);
    let mut bad = 0;
    for user in users {
        let stage = Stage::new(&built, *user)?;
        let scenarios: [Box<dyn Scenario>; SCENARIOS] = [
            Box::new(commands::Commands::new(&stage, &["--deny", "**/.env"])?),
            Box::new(commands::Commands::new(&stage, &["--force-tier2"])?),
            Box::new(long_output::LongOutput::new(&stage)),
            Box::new(file_tools::FileTools::new(&stage)?),
        ];
        for scenario in scenarios {
            bad += sweep(&stage, scenario.as_ref(), share)?;
        }
        fs::remove_dir_all(&stage.top)
            .map_err(|error| format!("{}: {error}", stage.top.display()))?;
    }
    if bad == 0 { Ok(()) } else { Err(format!("{bad} calls failed the checks")) }
}

/// Runs a scenario with faults for `time`. Returns the number of calls that failed the checks.
fn sweep(stage: &Stage, scenario: &dyn Scenario, time: Duration) -> Result<usize, String> {
    scenario.reset()?;
    let plain = scenario.complaints(&stage.run(&[], &scenario.command())?);
    if !plain.is_empty() {
        return Err(format!("{} fails without injected faults: {plain:?}", scenario.name()));
    }
    scenario.reset()?;
    let faults = faults(stage, scenario)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let first = usize::try_from(now).unwrap_or(0);
    let until = Instant::now() + time;
    let total: usize = faults.values().map(Vec::len).sum();
    let (mut runs, mut bad) = (0, 0);
    for fault in in_turn(&faults, first) {
        if Instant::now() >= until {
            break;
        }
        scenario.reset()?;
        let Fault { call, error, number } = fault;
        let inject = format!("inject={call}:error={error}:when={number}");
        let trace = format!("trace={call}");
        let quick = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"];
        let strace = [&quick[..], &["-e", &trace, "-e", &inject]].concat();
        let seen = stage.run(&strace, &scenario.command())?;
        let mut complaints = scenario.complaints(&seen);
        match seen.code {
            Some(124 | 137) => complaints.push("timed out".to_owned()),
            Some(101) | None => complaints.push(format!(
                "panicked or killed by a signal: exit code {:?}, {}",
                seen.code, seen.stderr
            )),
            Some(_) => {}
        }
        runs += 1;
        if !complaints.is_empty() {
            bad += 1;
            println!(
                "   with {error} from call {number} of {call}: {complaints:?}\n      reply: {}",
                seen.stdout.trim_end()
            );
        }
    }
    println!("   {}: {runs} of {total} faults tested, {bad} failed", scenario.name());
    if runs == 0 {
        return Err(format!(
            "{}: no fault was injected; strace may not be allowed",
            scenario.name()
        ));
    }
    Ok(bad)
}

/// One fault of each system call in turn, so that rare calls such as `renameat2` fail as often as `openat`.
fn in_turn(faults: &BTreeMap<String, Vec<Fault>>, first: usize) -> Vec<&Fault> {
    let most = faults.values().map(Vec::len).max().unwrap_or(0);
    let mut order = Vec::new();
    for index in 0..most {
        for faults in faults.values().filter(|faults| index < faults.len()) {
            // Steps of a large prime visit all faults and spread early ones over the list.
            order.extend(faults.get((first + index * 7919) % faults.len()));
        }
    }
    order
}

/// All possible faults, by system call: each as often as one process makes it.
fn faults(stage: &Stage, scenario: &dyn Scenario) -> Result<BTreeMap<String, Vec<Fault>>, String> {
    let logs = stage.folder("logs")?;
    let strace =
        ["strace".to_owned(), "-ff".to_owned(), "-o".to_owned(), format!("{}/log", logs.display())];
    let strace: Vec<_> = strace.iter().map(String::as_str).collect();
    stage.run(&strace, &scenario.command())?;
    let mut most: BTreeMap<String, usize> = BTreeMap::new();
    for entry in fs::read_dir(&logs).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let log = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let log = String::from_utf8_lossy(&log);
        for (name, _) in log.lines().filter_map(|line| line.split_once('(')) {
            *counts.entry(name).or_default() += 1;
        }
        for (name, count) in counts {
            let most = most.entry(name.to_owned()).or_default();
            *most = count.max(*most);
        }
    }
    let (calls, errors) = scenario.faults();
    let mut faults = BTreeMap::new();
    for (call, count) in most.into_iter().filter(|(call, _)| calls.contains(&call.as_str())) {
        let numbers = 1..=count.min(MOST);
        let with = |error: &'static str| {
            numbers.clone().map({
                let call = call.clone();
                move |number| Fault { call: call.clone(), error, number }
            })
        };
        let all: Vec<_> = errors.iter().copied().flat_map(with).collect();
        faults.insert(call, all);
    }
    Ok(faults)
}

impl Stage {
    fn new(built: &Path, user: Option<u32>) -> Result<Self, String> {
        // Not below `/tmp`, because sandboxed commands have a private one.
        let name = format!("eyelet-faults-{}-{}", std::process::id(), user.unwrap_or(0));
        let top = Path::new("/var/tmp").join(name);
        let eyelet = top.join("eyelet");
        let stage = Stage { top, eyelet, user };
        fs::create_dir(&stage.top).map_err(|error| format!("{}: {error}", stage.top.display()))?;
        stage.give(&stage.top)?;
        fs::copy(built, &stage.eyelet).map_err(|error| format!("{}: {error}", built.display()))?;
        stage.give(&stage.eyelet)?;
        Ok(stage)
    }

    /// Creates an empty directory of this name.
    fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.top.join(name);
        let failed = |error| format!("{}: {error}", path.display());
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            Ok(()) | Err(_) => {}
        }
        fs::create_dir(&path).map_err(failed)?;
        self.give(&path)?;
        Ok(path)
    }

    fn file(&self, path: &Path, content: &str) -> Result<(), String> {
        let failed = |error| format!("{}: {error}", path.display());
        let made: Vec<_> = path.ancestors().skip(1).take_while(|folder| !folder.exists()).collect();
        for folder in made.into_iter().rev() {
            fs::create_dir(folder).map_err(failed)?;
            self.give(folder)?;
        }
        fs::write(path, content).map_err(failed)?;
        self.give(path)
    }

    fn give(&self, path: &Path) -> Result<(), String> {
        let given = std::os::unix::fs::chown(path, self.user, self.user);
        given.map_err(|error| format!("{}: {error}", path.display()))
    }

    fn run(&self, before: &[&str], command: &[String]) -> Result<Seen, String> {
        let mut run = Command::new("timeout");
        run.args(["-k", "1", LONG]).args(before).args(command).stdin(Stdio::null()).env_clear();
        run.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        run.env("HOME", self.top.join("home")).env("TMPDIR", self.top.join("tmp"));
        run.current_dir(&self.top);
        if let Some(user) = self.user {
            run.gid(user).uid(user);
        }
        let output = run.output().map_err(|error| format!("cannot start `timeout`: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().filter(|_| output.status.signal().is_none());
        Ok(Seen { code, stdout: text(&output.stdout), stderr: text(&output.stderr) })
    }
}
