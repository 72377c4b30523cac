//! `eyelet setup`: prints, writes, removes or checks the entry that makes a client start the server.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;

use crate::clients::{self, CLIENTS, Client, Format, Scope, Slot, Starts};
use crate::failure::Failure;
use crate::flags::{ContextFlags, SetupFlags};
use crate::server_arguments::{self, ServerArguments, starts_server};
use crate::{changes, config, print};

pub(crate) fn run(flags: &SetupFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let project = project(before)?;
    let Some(client) = flags.client.as_deref().and_then(clients::client_named) else {
        print::lines(&list(&project)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    if flags.check {
        let scopes = flags.scope.map_or_else(|| client.scopes(), |scope| vec![scope]);
        print::lines(&clients::check(client, &scopes, &project, starts_server)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let scope = flags.scope.unwrap_or(client.default_scope);
    let place = client.file(scope, &project)?;
    let target = Target { client, scope, place, project };
    if flags.remove {
        return target.remove();
    }
    if flags.write {
        return target.write(&flags.arguments);
    }
    target.print(&flags.arguments)
}

/// The file to change, and for which project.
struct Target {
    client: &'static Client,
    scope: Scope,
    place: PathBuf,
    project: PathBuf,
}

impl Target {
    /// Prints the entry that `write` would write. If the file cannot be read, that is the user's only way.
    fn print(&self, new: &[String]) -> Result<ExitCode, Failure> {
        let old = clients::read(&self.place).ok().flatten().unwrap_or_default();
        let (slot, arguments) = self.entry(&old, new)?;
        let (client, place) = (self.client, self.place.display());
        let fields = clients::fields(client, &slot.name, arguments.words)?;
        let snippet = client.format.snippet(client.servers, &slot.name, &fields);
        print::lines(&snippet.map_err(Failure::new)?)?;
        print::note(&match client.format {
            Format::Json | Format::Toml => {
                format!("Add this entry to {place}, or run `eyelet setup {} --write`.", client.name)
            }
            Format::Yaml => format!(
                "Add this entry to {place}; if the file already has the line `{}:`, add the other lines below this line.",
                client.servers
            ),
        });
        Ok(ExitCode::SUCCESS)
    }

    fn write(&self, new: &[String]) -> Result<ExitCode, Failure> {
        let (client, scope, shown) = (self.client, self.scope, self.place.display());
        let old = clients::read(&self.place)?;
        let text = old.as_deref().unwrap_or_default();
        let (slot, arguments) = self.entry(text, new)?;
        let fields = clients::fields(client, &slot.name, arguments.words)?;
        let merged = client.format.merge(text, scope, client.servers, &slot.name, &fields);
        let merged = merged.map_err(|reason| {
            Failure::new(format!(
                "cannot add the entry to {shown}: {reason}; run `eyelet setup {}` and add the \
                 printed entry by hand",
                client.name
            ))
        })?;
        let Some(new) = merged.text else {
            print::lines(&format!("{shown} already has the entry"))?;
            return Ok(ExitCode::SUCCESS);
        };
        let done =
            if slot.launch.is_some() { "changed the entry in" } else { "added the entry to" };
        self.replace(old.as_deref(), &new, &slot.name, done)?;
        if !merged.variables.is_empty() {
            let names = merged.variables.join(", ");
            print::note(&format!(
                "Removed the environment variables of the project's entry: {names}"
            ));
        }
        if !arguments.dropped.is_empty() {
            let flags = arguments.dropped.join(", ");
            print::note(&format!(
                "Removed these arguments of the old entry: {flags}. To keep one, repeat it after `--`."
            ));
        }
        client.note(scope).map(print::note);
        Ok(ExitCode::SUCCESS)
    }

    fn remove(&self) -> Result<ExitCode, Failure> {
        let (client, scope, shown) = (self.client, self.scope, self.place.display());
        let old = clients::read(&self.place)?;
        let text = old.as_deref().unwrap_or_default();
        let failed = |reason| {
            Failure::new(format!(
                "cannot remove the entry from {shown}: {reason}; remove it by hand"
            ))
        };
        let file = client.format.read(text).map_err(failed)?;
        let servers = file.get(client.servers).and_then(Value::as_object);
        let slot = clients::slot(client, servers, scope, &self.project);
        let is_there = servers.is_some_and(|servers| servers.contains_key(&slot.name));
        // Without a root, these clients use the entry for no project.
        let is_unnamed = client.starts == Starts::Elsewhere && slot.named_as.is_none();
        if !is_there || is_unnamed {
            let project = self.project.display();
            print::lines(&format!("{shown} has no entry for {project}"))?;
            return Ok(ExitCode::SUCCESS);
        }
        let shared = slot.launch.as_ref().zip(slot.named_as.as_ref());
        let shared = shared.filter(|_| scope == Scope::User && slot.names_others);
        let new = match shared {
            // The entry also serves other directories.
            Some((launch, root)) => {
                let words = server_arguments::without_root(&launch.written, root);
                let mut fields = clients::fields(client, &slot.name, words)?;
                // Change only the list of arguments.
                fields.retain(|field| field.value.is_array());
                let merged = client.format.merge(text, scope, client.servers, &slot.name, &fields);
                merged.map_err(failed)?.text.unwrap_or_else(|| text.to_owned())
            }
            None => client.format.remove(text, client.servers, &slot.name).map_err(failed)?,
        };
        let done = match shared {
            Some(_) => "removed this project's root from the entry in",
            None => "removed the entry from",
        };
        self.replace(old.as_deref(), &new, &slot.name, done)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Which entry of the file is the one for this project, and the arguments that it should have.
    fn entry(&self, text: &str, new: &[String]) -> Result<(Slot, ServerArguments), Failure> {
        let (client, scope, project) = (self.client, self.scope, &self.project);
        let file = client.format.read(text).unwrap_or_default();
        let servers = file.get(client.servers).and_then(Value::as_object);
        let slot = clients::slot(client, servers, scope, project);
        let root = clients::required_root(client, &slot, scope, project)?;
        let old = slot.launch.as_ref().map(|launch| launch.written.as_slice()).unwrap_or_default();
        let arguments = server_arguments::merge(old, scope, root.as_deref(), new);
        Ok((slot, arguments))
    }

    /// Replaces the file, and prints the changed lines and a message.
    fn replace(&self, old: Option<&str>, new: &str, name: &str, done: &str) -> Result<(), Failure> {
        let client = self.client;
        let backup = clients::replace(&self.place, old, new)?;
        let backup =
            backup.map(|backup| format!("; the old file is saved to {}", backup.display()));
        let entry = |text: &str| {
            let file = client.format.read(text).unwrap_or_default();
            file.get(client.servers).and_then(|servers| servers.get(name)).cloned()
        };
        let old = old.unwrap_or_default();
        print::lines(&changes::diff(old, new, || (entry(old), entry(new))))?;
        let backup = backup.unwrap_or_default();
        print::lines(&format!("{done} {}{backup}", self.place.display()))?;
        Ok(())
    }
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
