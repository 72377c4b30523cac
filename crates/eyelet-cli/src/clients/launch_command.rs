//! The command that an entry starts, and the directories that its arguments name.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::client_list::{Client, Scope, Shape, Starts};
use super::entry::{self, NAME};
use crate::failure::Failure;

/// The command that an entry starts, with its additional environment variables.
#[derive(Debug)]
pub(crate) struct LaunchCommand {
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
    /// The arguments with the client's placeholder for the project.
    pub(crate) written: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) is_off: bool,
}

/// Reads an entry as the client would.
pub(crate) fn launch_command(
    client: &Client,
    entry: &Value,
    project: &Path,
) -> Option<LaunchCommand> {
    let (command, arguments, variables) = match client.shape {
        Shape::Plain | Shape::Stdio | Shape::Copilot => ("command", Some("args"), "env"),
        Shape::Opencode => ("command", None, "environment"),
        Shape::Goose => ("cmd", Some("args"), "envs"),
    };
    let mut words = texts(entry.get(command)?);
    words.extend(arguments.and_then(|key| entry.get(key)).map(texts).unwrap_or_default());
    let written = words.get(1..).unwrap_or_default().to_vec();
    words.iter_mut().for_each(|word| *word = client.starts.with_project(word, project));
    let mut words = words.into_iter();
    let command = words.next()?;
    let variables = entry.get(variables).and_then(Value::as_object).into_iter().flatten();
    let is_off =
        entry.get("enabled") == Some(&json!(false)) || entry.get("disabled") == Some(&json!(true));
    Some(LaunchCommand {
        command,
        arguments: words.collect(),
        written,
        variables: variables
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect(),
        is_off,
    })
}

fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match value.as_array() {
        Some(values) => values.iter().filter_map(text).collect(),
        None => text(value).into_iter().collect(),
    }
}

/// A directory that the arguments name.
struct Root {
    written: String,
    path: PathBuf,
}

/// The directories that the arguments name; empty if the server uses the roots of its client.
fn roots(client: &Client, launch: &LaunchCommand, project: &Path) -> Vec<Root> {
    let named = |flag: &str| -> Vec<Root> {
        let words = || launch.written.iter().map(String::as_str);
        let values = words().zip(words().skip(1).chain([""])).filter_map(|(word, next)| {
            let value = word.strip_prefix(flag)?;
            if value.is_empty() { Some(next) } else { value.strip_prefix('=') }
        });
        // A relative path means an unknown directory if the client starts its servers elsewhere.
        let values = values
            .filter(|value| Path::new(value).is_absolute() || client.starts != Starts::Elsewhere);
        let root = |written: &str| {
            let path = project.join(client.starts.with_project(written, project));
            let path = fs::canonicalize(&path).unwrap_or(path);
            Root { written: written.to_owned(), path }
        };
        values.map(root).collect()
    };
    let roots = named("--root");
    if roots.is_empty() { named("--cwd") } else { roots }
}

/// The entry for a project in a file.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) name: String,
    /// The command that the entry starts, if the file has the entry.
    pub(crate) launch: Option<LaunchCommand>,
    /// How its arguments name the project, if they do.
    pub(crate) named_as: Option<String>,
    /// Whether they also name other directories.
    pub(crate) names_others: bool,
}

/// Which entry of the file is the one for this project, or which name a new one gets. `servers` are the
/// entries of the file. In a user's file, an entry that names only other directories belongs to those.
pub(crate) fn slot(
    client: &Client,
    servers: Option<&Map<String, Value>>,
    scope: Scope,
    project: &Path,
) -> Slot {
    let mut ours = None;
    for (name, entry) in servers.into_iter().flatten().filter(|(name, _)| is_ours(name)) {
        let launch = launch_command(client, entry, project);
        let roots = launch.as_ref().map(|launch| roots(client, launch, project));
        let roots = roots.unwrap_or_default();
        let slot = Slot {
            name: name.clone(),
            launch,
            names_others: roots.iter().any(|root| root.path != project),
            named_as: roots
                .iter()
                .find(|root| root.path == project)
                .map(|root| root.written.clone()),
        };
        match scope {
            Scope::Project if name == NAME => return slot,
            Scope::User if slot.named_as.is_some() => return slot,
            Scope::User if name == NAME && roots.is_empty() => ours = Some(slot),
            Scope::Project | Scope::User => {}
        }
    }
    ours.unwrap_or_else(|| Slot {
        name: free_name(servers, project),
        launch: None,
        named_as: None,
        names_others: false,
    })
}

/// The entry that lets the client use the server in this project, for `--check`.
pub(crate) fn serving(
    client: &Client,
    servers: Option<&Map<String, Value>>,
    scope: Scope,
    project: &Path,
) -> Serving {
    let mut found = Serving::None;
    for (name, entry) in servers.into_iter().flatten().filter(|(name, _)| is_ours(name)) {
        if scope == Scope::Project && name != NAME {
            continue;
        }
        let Some(launch) = launch_command(client, entry, project) else {
            if name == NAME {
                found = Serving::NoCommand;
            }
            continue;
        };
        let roots = roots(client, &launch, project);
        if roots.iter().any(|root| project.starts_with(&root.path)) {
            return Serving::Entry(name.clone(), launch);
        }
        match found {
            Serving::None | Serving::Others if roots.is_empty() && name == NAME => {
                found = Serving::Entry(name.clone(), launch);
            }
            Serving::None => found = Serving::Others,
            Serving::Others | Serving::NoCommand | Serving::Entry(..) => {}
        }
    }
    found
}

/// The entries of a file that concern a project.
#[derive(Debug)]
pub(crate) enum Serving {
    None,
    /// Only entries for other directories.
    Others,
    /// An entry that starts nothing.
    NoCommand,
    Entry(String, LaunchCommand),
}

fn is_ours(name: &str) -> bool {
    name.strip_prefix(NAME).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The server's name, or else one with the name of the project's directory.
fn free_name(servers: Option<&Map<String, Value>>, project: &Path) -> String {
    let is_free = |name: &String| servers.is_none_or(|servers| !servers.contains_key(name));
    let directory = project.file_name().unwrap_or_default().to_string_lossy();
    // Clients allow few characters in the names of servers.
    let allowed = |char: char| if char.is_ascii_alphanumeric() { char } else { '-' };
    let directory: String = directory.chars().map(allowed).take(40).collect();
    let named = format!("{NAME}-{}", directory.trim_matches('-')).trim_end_matches('-').to_owned();
    let numbered = (2_u32..).map(|number| format!("{named}-{number}"));
    let mut names = [NAME.to_owned(), named.clone()].into_iter().chain(numbered);
    names.find(is_free).unwrap_or(named)
}

/// The root that the entry must name.
pub(crate) fn required_root(
    client: &Client,
    slot: &Slot,
    scope: Scope,
    project: &Path,
) -> Result<Option<String>, Failure> {
    match (scope, client.starts) {
        (Scope::User, _) if slot.named_as.is_some() => Ok(slot.named_as.clone()),
        (Scope::User, _) if slot.name != NAME => entry::text(project).map(Some),
        (_, Starts::InProject) => Ok(None),
        (_, Starts::ElsewhereWithPlaceholder(word)) => Ok(Some(word.to_owned())),
        (_, Starts::Elsewhere) => entry::text(project).map(Some),
    }
}
