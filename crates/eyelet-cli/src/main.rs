//! The command `eyelet`: the tools for a program (`call`), for a person (`list-dir`, `grep-files`,
//! `read`, `bash`), for an agent (`mcp`), and what is to be known about them.
//!
//! The command line is parsed (`args`), a turn is built (`turn`), the router is called (`call`,
//! `person`), the answer is written (`show`). Nothing here knows how a tool works.

mod args;
mod call;
mod config;
mod doctor;
mod failure;
mod limits;
mod mcp;
mod on_demand;
mod pages;
mod person;
mod setup;
mod show;
mod turn;
mod usage;

use std::process::ExitCode;

use args::{Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    eyelet_sandbox::run_if_supervisor();
    eyelet_sandbox::shield_this_process();
    failure::tell_panics_on_stderr();
    let cli = match usage::parse() {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    run(cli).unwrap_or_else(Failure::report)
}

fn run(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Call(command) => call::run(&command, &cli.surroundings),
        Command::ListDir(command) => person::list_dir(&command, &cli.surroundings),
        Command::GrepFiles(command) => person::grep_files(&command, &cli.surroundings),
        Command::Read(command) => person::read(&command, &cli.surroundings),
        Command::Bash(command) => person::bash(&command, &cli.surroundings),
        Command::Mcp(command) => mcp::run(&command, &cli.surroundings),
        Command::Tools { format } => pages::tools(format.into()),
        Command::Limits { form } => limits::run(form.chosen()),
        Command::Doctor { json: true } => doctor::run(doctor::Form::Json),
        Command::Doctor { json: false } => doctor::run(doctor::Form::Text),
        Command::Setup(command) => setup::run(&command, &cli.surroundings),
        Command::Config(command) => config::run(&command),
        Command::Completions { shell } => pages::completions(shell),
        Command::Man => pages::man(),
    }
}
