//! Who takes part: a process, a call of the library in this one, or something that tells many numbers
//! at once.

use std::ffi::OsStr;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::memory;

/// Whose contender it is: every one of ours is compared with every peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Peer,
    /// Compared with nobody; its memory is what others' is measured from.
    Idle,
}

/// One who does the work.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    action: Action,
    /// The exit codes of one who did the work.
    fine: &'static [i32],
    /// Done before every run, and not timed.
    before: Option<Box<dyn Fn() -> Result<()>>>,
    /// How many runs in a row make one sample, which is their median.
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
        Contender { name, side, action, fine: &[0], before: None, repeats: 1 }
    }

    /// Has something done before every run, which is not timed.
    pub(crate) fn after(self, before: impl Fn() -> Result<()> + 'static) -> Self {
        Contender { before: Some(Box::new(before)), ..self }
    }

    /// For what takes milliseconds.
    pub(crate) fn repeated(self, repeats: usize) -> Self {
        Contender { repeats, ..self }
    }

    /// For a program that ends with code 1 where it has nothing to tell.
    pub(crate) fn may_find_nothing(self) -> Self {
        Contender { fine: &[0, 1], ..self }
    }

    fn is_fine(&self, status: ExitStatus) -> bool {
        status.code().is_some_and(|code| self.fine.contains(&code))
    }

    /// A call in this process: what a host that links the library waits for.
    pub(crate) fn call(name: &'static str, call: impl Fn() -> Result<()> + 'static) -> Self {
        Contender::timed(name, Side::Ours, move || {
            let start = Instant::now();
            call()?;
            Ok(start.elapsed())
        })
    }

    /// What happens in this process and tells itself how long it took.
    pub(crate) fn timed(
        name: &'static str,
        side: Side,
        call: impl Fn() -> Result<Duration> + 'static,
    ) -> Self {
        Contender::new(name, side, Action::Call(Box::new(call)))
    }

    /// One that takes many samples in a round, in the unit of its work.
    pub(crate) fn samples(
        name: &'static str,
        side: Side,
        take: impl Fn() -> Result<Vec<f64>> + 'static,
    ) -> Self {
        Contender::new(name, side, Action::Samples(Box::new(take)))
    }

    /// Does the work and tells what it took, in milliseconds where the work has no other unit.
    pub(crate) fn measure(&self) -> Result<Vec<f64>> {
        if let Action::Samples(take) = &self.action {
            self.prepare()?;
            return take();
        }
        let mut times = (0..self.repeats).map(|_| self.once()).collect::<Result<Vec<_>>>()?;
        times.sort();
        let median = times.get(times.len() / 2).ok_or("no run")?;
        Ok(vec![median.as_secs_f64() * 1000.0])
    }

    /// A process counts from before its start until it was waited for.
    fn once(&self) -> Result<Duration> {
        self.prepare()?;
        match &self.action {
            Action::Process(words) => {
                let mut command = command(words)?;
                // Everyone's output is made and written, and nobody waits for a reader.
                command.stdout(Stdio::null());
                let start = Instant::now();
                let status = command.status();
                let time = start.elapsed();
                let status = status.map_err(|error| format!("{}: {error}", self.name))?;
                if self.is_fine(status) {
                    Ok(time)
                } else {
                    Err(format!("{}: {status}", self.name))
                }
            }
            Action::Call(call) => call(),
            Action::Samples(_) => Err(format!("{} has no single time", self.name)),
        }
    }

    fn prepare(&self) -> Result<()> {
        self.before.as_ref().map_or(Ok(()), |before| before())
    }

    /// Does the work once before anything counts. Returns the most memory that its process had
    /// resident, in bytes; a call has none of its own.
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

/// The command of a program and its arguments, in an environment that is the same everywhere.
pub(crate) fn command<W: AsRef<OsStr>>(words: &[W]) -> Result<Command> {
    let (program, arguments) = words.split_first().ok_or("no program")?;
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    Ok(command)
}

/// What a command prints, once it has succeeded.
pub(crate) fn output<W: AsRef<OsStr>>(words: &[W]) -> Result<Vec<u8>> {
    let name = words.first().map_or("".into(), |word| word.as_ref().to_string_lossy());
    let output = command(words)?.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
}

/// The first line that a program says of its version.
pub(crate) fn version(program: &str) -> Result<String> {
    let said = output(&[program, "--version"])?;
    Ok(String::from_utf8_lossy(&said).lines().next().unwrap_or_default().to_owned())
}
