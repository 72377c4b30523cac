//! The command `eyelet`. It runs the tools for programs (`call`), for people (such as `list-dir`,
//! `grep-files`, `read` and `bash`) and for agents (`mcp`). Other subcommands describe the tools
//! and set up clients.
//!
//! `parse` parses the command line (`flags`, with defaults from `config`). Each file in `commands`
//! runs one subcommand: it builds a `TurnContext` (`context`), calls the router and prints the
//! answer (`print`). No module of this crate depends on how a tool works.
//!
//! This crate is also a library, so that the property tests of the repository can link it. The
//! library has no API for other programs.

mod apparmor;
mod changes;
mod clients;
mod commands;
mod config;
mod context;
mod failure;
mod flags;
mod home;
#[cfg(feature = "_internals")]
#[doc(hidden)]
pub mod internals;
mod interrupts;
mod lazy_args;
mod listen;
mod log;
mod parse;
mod print;
mod print_live;
mod print_matches;
mod registries;
mod server_arguments;
mod stats;

use std::process::ExitCode;

use failure::Failure;
use flags::{Cli, Command};
use lazy_args::LazyArgs;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    eyelet_sandbox::run_if_supervisor();
    eyelet_sandbox::shield_this_process();
    failure::report_panics_on_stderr();
    let cli = match parse::command_line() {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let exit = run(cli).unwrap_or_else(Failure::report);
    log::flush();
    exit
}

fn run(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Call(LazyArgs(flags)) => commands::call::run(&flags, &cli.context),
        Command::ListDir(LazyArgs(flags)) => commands::list_dir::run(&flags, &cli.context),
        Command::FindFiles(LazyArgs(flags)) => commands::find_files::run(&flags, &cli.context),
        Command::GrepFiles(LazyArgs(flags)) => commands::grep_files::run(&flags, &cli.context),
        Command::Read(LazyArgs(flags)) => commands::read::run(&flags, &cli.context),
        Command::Bash(LazyArgs(flags)) => commands::bash::run(&flags, &cli.context),
        Command::Mcp(LazyArgs(flags)) => commands::mcp::run(&flags, &cli.context),
        Command::Tools(LazyArgs(flags)) => commands::tools::run(&flags, &cli.context),
        Command::Stats(LazyArgs(flags)) => commands::stats::run(&flags),
        Command::Limits { json, markdown } => commands::limits::run(json, markdown),
        Command::Doctor { json } => commands::doctor::run(json),
        Command::Setup(LazyArgs(flags)) => commands::setup::run(&flags, &cli.context),
        Command::Config(LazyArgs(flags)) => commands::config::run(&flags),
        Command::Completions { shell } => commands::completions::run(shell),
        Command::Man => commands::man::run(),
    }
}
