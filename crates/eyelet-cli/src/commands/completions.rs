//! `eyelet completions`: prints a shell completion script.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::flags::Cli;
use crate::print;

pub(crate) fn run(shell: Shell) -> Result<ExitCode, Failure> {
    // Generated in memory first, because the generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "eyelet", &mut script);
    print::lines(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
