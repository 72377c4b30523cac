//! `eyelet setup`: prints the entry that makes a client start the server, writes it, or checks it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::clients::{self, CLIENTS, Client, Field, Format, Scope};
use crate::failure::Failure;
use crate::flags::{ContextFlags, SetupFlags};
use crate::{config, print};

pub(crate) fn run(flags: &SetupFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let project = project(before)?;
    let Some(client) = flags.client.as_deref().and_then(clients::client_named) else {
        print::lines(&list(&project)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    if flags.check {
        let scopes = flags.scope.map_or_else(|| client.scopes(), |scope| vec![scope]);
        print::lines(&clients::check(client, &scopes, &project)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let scope = flags.scope.unwrap_or(client.default_scope);
    let place = client.file(scope, &project)?;
    let fields = clients::fields(client, &project, &flags.arguments)?;
    if flags.write {
        return write(client, scope, &place, &fields);
    }
    let snippet = client.format.snippet(client.servers, &fields);
    let name = client.name;
    print::lines(&snippet.map_err(Failure::new)?)?;
    let place = place.display();
    print::note(&match client.format {
        Format::Json | Format::Toml => {
            format!("Add this entry to {place}, or run `eyelet setup {name} --write`.")
        }
        Format::Yaml => format!(
            "Add this entry to {place}; if the file already has `{}`, add only the lines below it.",
            client.servers
        ),
    });
    Ok(ExitCode::SUCCESS)
}

fn write(
    client: &Client,
    scope: Scope,
    place: &Path,
    fields: &[Field],
) -> Result<ExitCode, Failure> {
    let shown = place.display();
    let old = clients::read(place)?;
    let merged = client.format.merge(old.as_deref().unwrap_or_default(), client.servers, fields);
    let merged = merged.map_err(|reason| {
        Failure::new(format!(
            "cannot add the entry to {shown}: {reason}; run `eyelet setup {}` and add the printed \
             entry by hand",
            client.name
        ))
    })?;
    let Some(new) = merged else {
        print::lines(&format!("{shown} already has the entry"))?;
        return Ok(ExitCode::SUCCESS);
    };
    let backup = clients::replace(place, old.as_deref(), &new)?;
    let backup = backup.map(|backup| format!("; the old file is saved to {}", backup.display()));
    print::lines(&format!("added the entry to {shown}{}", backup.unwrap_or_default()))?;
    client.note(scope).map(print::note);
    Ok(ExitCode::SUCCESS)
}

/// Lists every client with its files.
fn list(project: &Path) -> Result<String, Failure> {
    let wide = CLIENTS.iter().map(|client| client.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for client in CLIENTS {
        for scope in client.scopes() {
            let mark = if scope == client.default_scope { '*' } else { ' ' };
            let place = client.file(scope, project)?;
            let (name, scope, place) = (client.name, scope.as_str(), place.display());
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:wide$} {mark}{scope:7}  {place}");
        }
    }
    Ok(text)
}

/// The project is the working directory. Other context flags before the command are rejected: they are
/// meant for the server and would have no effect here.
fn project(before: &ContextFlags) -> Result<PathBuf, Failure> {
    if let Some(flag) = config::flag_before_command(&["cwd"]) {
        let message = format!("{flag} is a server flag; put it at the end, after `--`");
        return Err(Failure::usage(message));
    }
    let given = before.cwd.as_deref().unwrap_or(Path::new("."));
    fs::canonicalize(given).map_err(|error| {
        let given = given.display();
        Failure::usage(format!("cannot open the project directory `{given}`: {error}"))
    })
}
