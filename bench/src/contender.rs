//! Who takes part: a process, a call of the library in this one, or something that tells many numbers
//! at once.

use std::ffi::OsStr;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use crate::Result;
use crate::memory;

/// Whose contender it is: every one of ours is compared with every peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Peer,
}

/// One who does the work.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    action: Action,
    /// The exit codes of one who did the work.
    fine: &'static [i32],
}

enum Action {
    Process(Vec<String>),
    Call(Box<dyn Fn() -> Result<()>>),
    Samples(Box<dyn Fn() -> Result<Vec<f64>>>),
}

impl Contender {
    pub(crate) fn process<W: AsRef<str>>(
        name: &'static str,
        side: Side,
        words: impl IntoIterator<Item = W>,
    ) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        Contender { name, side, action: Action::Process(words), fine: &[0] }
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
        Contender { name, side: Side::Ours, action: Action::Call(Box::new(call)), fine: &[0] }
    }

    /// One that takes many samples in a round, in the unit of its work.
    pub(crate) fn samples(
        name: &'static str,
        side: Side,
        take: impl Fn() -> Result<Vec<f64>> + 'static,
    ) -> Self {
        Contender { name, side, action: Action::Samples(Box::new(take)), fine: &[0] }
    }

    /// Does the work once and tells what it took, in milliseconds where the work has no other unit. A
    /// process counts from before its start until it was waited for.
    pub(crate) fn measure(&self) -> Result<Vec<f64>> {
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
                    Ok(vec![time.as_secs_f64() * 1000.0])
                } else {
                    Err(format!("{}: {status}", self.name))
                }
            }
            Action::Call(call) => {
                let start = Instant::now();
                call()?;
                Ok(vec![start.elapsed().as_secs_f64() * 1000.0])
            }
            Action::Samples(take) => take(),
        }
    }

    /// Does the work once before anything counts. Returns the most memory that its process had
    /// resident, in bytes; a call has none of its own.
    pub(crate) fn warm_up(&self) -> Result<Option<u64>> {
        match &self.action {
            Action::Process(words) => memory::peak_of(words).map(Some),
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
