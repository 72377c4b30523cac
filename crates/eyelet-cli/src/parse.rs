//! Parses the command line, and reports a wrong one in one line.

use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser as _};

use crate::config;
use crate::failure::Failure;
use crate::flags::Cli;
use crate::print;

/// Parses the command line. Returns an exit code after printing help or an error.
pub(crate) fn command_line() -> Result<Cli, ExitCode> {
    let matches = Cli::command().try_get_matches().map_err(|error| report(&error))?;
    match config::with_layers(&matches).map_err(Failure::report)? {
        Some(line) => Cli::try_parse_from(line),
        None => Cli::from_arg_matches(&matches),
    }
    .map_err(|error| report(&error))
}

/// Prints clap's help, or its error in one line.
fn report(error: &clap::Error) -> ExitCode {
    let kind = error.kind();
    if matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return print::ignore_broken_pipe(error.print())
            .map_or_else(|error| Failure::from(error).report(), |()| ExitCode::SUCCESS);
    }
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::usage("no command given; run `eyelet help` to list the commands").report();
    }
    let message = one_line(&error.to_string());
    let is_bash = message.contains("; usage: eyelet bash ");
    let is_typo = error.get(ContextKind::SuggestedArg).is_some();
    if kind == ErrorKind::UnknownArgument && is_bash && !is_typo {
        let what = message.split("; ").next().unwrap_or_default();
        let advice = "quote the command as one argument, such as eyelet bash 'ls -la'";
        return Failure::usage(format!("{what}; {advice}")).report();
    }
    Failure::usage(message).report()
}

/// Joins clap's paragraphs (error, tips, usage) into one sentence.
fn one_line(rendered: &str) -> String {
    let mut parts = Vec::new();
    for paragraph in rendered.split("\n\n") {
        let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = words.trim_start_matches("error: ").trim_start_matches("tip: ");
        if let Some(usage) = words.strip_prefix("Usage: ") {
            parts.push(format!("usage: {usage}"));
        } else if !words.is_empty() && !words.starts_with("For more information") {
            parts.push(words.to_owned());
        }
    }
    if parts.len() < 2 {
        parts.push("see `--help`".to_owned());
    }
    parts.join("; ")
}
