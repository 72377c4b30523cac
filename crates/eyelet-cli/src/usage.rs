//! A wrong command line, told in one line.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _, Parser as _};

use crate::args::Cli;
use crate::config;
use crate::failure::Failure;
use crate::show;

/// The command line; or the exit code, where it asked for help or was wrong and that is told.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    let said = Cli::command().try_get_matches().map_err(|error| told(&error))?;
    match config::with_layers(&said).map_err(Failure::report)? {
        Some(line) => Cli::try_parse_from(line),
        None => Cli::from_arg_matches(&said),
    }
    .map_err(|error| told(&error))
}

/// Tells what clap says, in one line where something is wrong.
fn told(error: &clap::Error) -> ExitCode {
    let kind = error.kind();
    if matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return show::tolerant(error.print())
            .map_or_else(|error| Failure::from(error).report(), |()| ExitCode::SUCCESS);
    }
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::usage("a command is missing; `eyelet --help` lists them").report();
    }
    Failure::usage(one_line(&error.to_string())).report()
}

/// Clap's paragraphs (what is wrong, tips, usage) joined to a sentence.
fn one_line(rendered: &str) -> String {
    let mut told = Vec::new();
    for paragraph in rendered.split("\n\n") {
        let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = words.trim_start_matches("error: ").trim_start_matches("tip: ");
        if let Some(usage) = words.strip_prefix("Usage: ") {
            told.push(format!("usage: {usage}"));
        } else if !words.is_empty() && !words.starts_with("For more information") {
            told.push(words.to_owned());
        }
    }
    if told.len() < 2 {
        told.push("`--help` tells more".to_owned());
    }
    told.join("; ")
}
