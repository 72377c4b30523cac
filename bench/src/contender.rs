//! A contender: a process, a library call in this process, or a function that returns many samples
//! at once.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::memory;

/// Each contender of ours is compared with each peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Ours,
    Peer,
    /// Not compared; the baseline for the memory of others.
    Idle,
}

/// A program or function that does the task.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    action: Action,
    /// Exit codes that count as success.
    success_codes: &'static [i32],
    /// Runs before each run, outside the timing.
    before: Option<Box<dyn Fn() -> Result<()>>>,
    /// Fails if the contender does not return the right answer.
    answer: Option<Box<dyn Fn() -> Result<()>>>,
    /// A sample is the median of this many consecutive runs.
    repeats: usize,
}

enum Action {
    Process(Vec<String>),
    Call(Box<dyn Fn() -> Result<Duration>>),
    Samples(Box<dyn Fn() -> Result<Vec<f64>>>),
}

impl Contender {
    pub(crate) fn process<W: AsRef<str>>(
        name: &'static str,
        side: Side,
        words: impl IntoIterator<Item = W>,
    ) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        Contender::new(name, side, Action::Process(words))
    }

    fn new(name: &'static str, side: Side, action: Action) -> Self {
        Contender {
            name,
            side,
            action,
            success_codes: &[0],
            before: None,
            answer: None,
            repeats: 1,
        }
    }

    /// Runs `before` before each run, outside the timing.
    pub(crate) fn after(self, before: impl Fn() -> Result<()> + 'static) -> Self {
        Contender { before: Some(Box::new(before)), ..self }
    }

    /// Measures a peer only if `answer` succeeds: it fails if the answer of the peer is wrong.
    pub(crate) fn if_answers(self, answer: impl Fn() -> Result<()> + 'static) -> Self {
        Contender { answer: Some(Box::new(answer)), ..self }
    }

    pub(crate) fn compare_answer(&self) -> Result<()> {
        self.answer.as_ref().map_or(Ok(()), |answer| answer())
    }

    /// For runs that take only milliseconds.
    pub(crate) fn repeated(self, repeats: usize) -> Self {
        Contender { repeats, ..self }
    }

    /// For a program that exits with code 1 if it finds nothing.
    pub(crate) fn may_find_nothing(self) -> Self {
        Contender { success_codes: &[0, 1], ..self }
    }

    fn is_success(&self, status: ExitStatus) -> bool {
        status.code().is_some_and(|code| self.success_codes.contains(&code))
    }

    /// A call in this process, as a host that links the library makes it.
    pub(crate) fn call(name: &'static str, call: impl Fn() -> Result<()> + 'static) -> Self {
        Contender::timed(name, Side::Ours, move || {
            let start = Instant::now();
            call()?;
            Ok(start.elapsed())
        })
    }

    /// A function in this process that measures its own time.
    pub(crate) fn timed(
        name: &'static str,
        side: Side,
        call: impl Fn() -> Result<Duration> + 'static,
    ) -> Self {
        Contender::new(name, side, Action::Call(Box::new(call)))
    }

    /// A function that returns many samples per round, in the unit of its task.
    pub(crate) fn samples(
        name: &'static str,
        side: Side,
        take: impl Fn() -> Result<Vec<f64>> + 'static,
    ) -> Self {
        Contender::new(name, side, Action::Samples(Box::new(take)))
    }

    /// Does the task and returns the samples, in milliseconds unless the task has another unit.
    pub(crate) fn measure(&self) -> Result<Vec<f64>> {
        if let Action::Samples(take) = &self.action {
            self.prepare()?;
            return take();
        }
        let mut times = (0..self.repeats).map(|_| self.once()).collect::<Result<Vec<_>>>()?;
        times.sort();
        let median = times.get(times.len() / 2).ok_or("no runs")?;
        Ok(vec![median.as_secs_f64() * 1000.0])
    }

    /// A process is timed from before it is spawned until it has been waited for.
    fn once(&self) -> Result<Duration> {
        self.prepare()?;
        match &self.action {
            Action::Process(words) => {
                let mut command = command(words)?;
                // Each program writes its output, and none waits for a reader.
                command.stdout(discard()?);
                let start = Instant::now();
                let status = command.status();
                let time = start.elapsed();
                let status = status.map_err(|error| format!("{}: {error}", self.name))?;
                if self.is_success(status) {
                    Ok(time)
                } else {
                    Err(format!("{}: {status}", self.name))
                }
            }
            Action::Call(call) => call(),
            Action::Samples(_) => Err(format!("{}: returns many samples, not one time", self.name)),
        }
    }

    fn prepare(&self) -> Result<()> {
        self.before.as_ref().map_or(Ok(()), |before| before())
    }

    /// Does the task once before the timed rounds. Returns the peak resident set size of its process
    /// in bytes, or `None` for a call in this process.
    pub(crate) fn warm_up(&self) -> Result<Option<u64>> {
        match &self.action {
            Action::Process(words) => {
                self.prepare()?;
                memory::peak_of(words).map(Some)
            }
            Action::Call(_) | Action::Samples(_) => self.measure().map(|_| None),
        }
    }
}

/// A stdout that discards everything. Some programs stop at the first match if their stdout is `/dev/null`.
pub(crate) fn discard() -> Result<Stdio> {
    let zero = OpenOptions::new().write(true).open("/dev/zero");
    zero.map(Stdio::from).map_err(|error| format!("/dev/zero: {error}"))
}

/// A command with the same environment for each contender.
pub(crate) fn command<W: AsRef<OsStr>>(words: &[W]) -> Result<Command> {
    let (program, arguments) = words.split_first().ok_or("no program")?;
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    Ok(command)
}

/// The stdout of a command. Fails unless the command succeeds.
pub(crate) fn output<W: AsRef<OsStr>>(words: &[W]) -> Result<Vec<u8>> {
    let name = words.first().map_or("".into(), |word| word.as_ref().to_string_lossy());
    let output = command(words)?.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
}

/// The first line of `PROGRAM --version`, with the program's name.
pub(crate) fn version(program: &str) -> Result<String> {
    let printed = output(&[program, "--version"])?;
    let printed = String::from_utf8_lossy(&printed);
    let line = printed.lines().next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or(program);
    Ok(if line.contains(name) { line.to_owned() } else { format!("{name} {line}") })
}
