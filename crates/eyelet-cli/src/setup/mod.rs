//! `eyelet setup`: how a client starts the server, printed, written into its file, or checked.

mod check;
mod clients;
mod entry;
mod file;
mod format;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::args::Surroundings;
use crate::failure::Failure;
use crate::{config, show};
pub(crate) use clients::Home;
use clients::{CLIENTS, Client, Scope};

pub(crate) const AFTER_HELP: &str = "The project is the working directory, or what --cwd before \
    the command says. Exit status: 0 done, or set up; 1 not; 2 wrong command line.";

#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// The client that is to start the server
    #[arg(
        required_unless_present = "list",
        value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
    )]
    client: Option<String>,
    /// Put the entry into the client's file and leave the rest of it as it is; the old file is
    /// kept beside it
    #[arg(long)]
    write: bool,
    /// Say whether the client is set up and the server starts
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// List the clients and their files; * marks the file that is meant where --scope is not said
    #[arg(long, conflicts_with_all = ["client", "write", "check", "scope", "arguments"])]
    list: bool,
    /// The file in the project or the one in the home [default: see --list; --check looks into both]
    #[arg(long, value_enum)]
    scope: Option<Scope>,
    /// More arguments of the server, such as -- --deny '*.pem'
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

pub(crate) fn run(command: &Setup, before: &Surroundings) -> Result<ExitCode, Failure> {
    let project = project(before)?;
    let Some(client) = command.client.as_deref().and_then(clients::named) else {
        show::lines(&list(&project)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    if command.check {
        let scopes = command.scope.map_or_else(|| client.scopes(), |scope| vec![scope]);
        show::lines(&check::check(client, &scopes, &project)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let scope = command.scope.unwrap_or(client.usual);
    let place = client.file(scope, &project)?;
    let fields = entry::fields(client, &project, &command.arguments)?;
    if command.write {
        return write(client, scope, &place, &fields);
    }
    let snippet = client.format.snippet(client.servers, &fields);
    let name = client.name;
    show::lines(&snippet.map_err(|reason| file::failure(&place, &reason))?)?;
    let place = place.display();
    show::note(&format!("This belongs into {place}; `eyelet setup {name} --write` puts it there."));
    Ok(ExitCode::SUCCESS)
}

fn write(
    client: &Client,
    scope: Scope,
    place: &Path,
    fields: &[entry::Field],
) -> Result<ExitCode, Failure> {
    let old = file::read(place)?;
    let merged = client.format.merge(old.as_deref().unwrap_or_default(), client.servers, fields);
    let merged =
        merged.map_err(|reason| file::failure(place, &format!("is left as it is: {reason}")))?;
    let Some(new) = merged else {
        show::lines(&format!("{} has the entry already", place.display()))?;
        return Ok(ExitCode::SUCCESS);
    };
    let backup = file::replace(place, old.as_deref(), &new)?;
    let kept = backup.map(|kept| format!("; the old one is {}", kept.display()));
    show::lines(&format!("{} is written{}", place.display(), kept.unwrap_or_default()))?;
    client.note(scope).map(show::note);
    Ok(ExitCode::SUCCESS)
}

/// Every client with its files.
fn list(project: &Path) -> Result<String, Failure> {
    let wide = CLIENTS.iter().map(|client| client.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for client in CLIENTS {
        for scope in client.scopes() {
            let mark = if scope == client.usual { '*' } else { ' ' };
            let place = client.file(scope, project)?;
            let (name, scope, place) = (client.name, scope.as_str(), place.display());
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:wide$} {mark}{scope:7}  {place}");
        }
    }
    Ok(text)
}

/// The project is the working directory. What else is said of the surroundings is the server's
/// business: it must not pass in silence.
fn project(before: &Surroundings) -> Result<PathBuf, Failure> {
    if let Some(flag) = config::said_before(&["cwd"]) {
        let message = format!("{flag} is for the server: say it at the end, after `--`");
        return Err(Failure::usage(message));
    }
    let asked = before.cwd.as_deref().unwrap_or(Path::new("."));
    fs::canonicalize(asked).map_err(|error| {
        let asked = asked.display();
        Failure::usage(format!("the project `{asked}` cannot be opened: {error}"))
    })
}
