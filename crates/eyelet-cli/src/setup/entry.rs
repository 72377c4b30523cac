//! The entry that starts `eyelet mcp`, in each client's shape.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::clients::{Client, Shape, Starts};
use crate::failure::{FAILED, Failure};

/// The name of the server in every client.
pub(crate) const NAME: &str = "eyelet";

/// A field of an entry.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) value: Value,
    rule: Rule,
}

#[derive(Clone, Copy, Debug)]
enum Rule {
    /// It has to be so, or the server does not start.
    Always,
    /// It is put into a new entry; a person may have chosen otherwise.
    WhereAbsent,
}

/// The fields of the entry for a project, with what is said to the server beside `mcp`.
pub(crate) fn fields(
    client: &Client,
    project: &Path,
    more: &[String],
) -> Result<Vec<Field>, Failure> {
    let command = text(&command(client)?)?;
    let mut arguments = vec!["mcp".to_owned()];
    match client.starts {
        Starts::InProject => {}
        Starts::Where(word) => arguments.extend(["--root".to_owned(), word.to_owned()]),
        Starts::Elsewhere => arguments.extend(["--root".to_owned(), text(project)?]),
    }
    arguments.extend(more.iter().cloned());
    let always = |key, value| Field { key, value, rule: Rule::Always };
    let absent = |key, value| Field { key, value, rule: Rule::WhereAbsent };
    let fields = match client.shape {
        Shape::Plain => vec![always("command", json!(command)), always("args", json!(arguments))],
        Shape::Stdio => vec![
            always("type", json!("stdio")),
            always("command", json!(command)),
            always("args", json!(arguments)),
        ],
        Shape::Copilot => vec![
            absent("type", json!("local")),
            always("command", json!(command)),
            always("args", json!(arguments)),
            absent("tools", json!(["*"])),
        ],
        Shape::Opencode => {
            arguments.insert(0, command);
            vec![
                always("type", json!("local")),
                always("command", json!(arguments)),
                absent("enabled", json!(true)),
            ]
        }
        Shape::Goose => vec![
            absent("enabled", json!(true)),
            always("type", json!("stdio")),
            absent("name", json!(NAME)),
            absent("description", json!("Bounded tools: list_dir, grep_files, read, bash")),
            always("cmd", json!(command)),
            always("args", json!(arguments)),
            absent("timeout", json!(660)),
        ],
    };
    Ok(fields)
}

/// The fields that an entry lacks or has otherwise.
pub(crate) fn missing<'f>(fields: &'f [Field], entry: &Map<String, Value>) -> Vec<&'f Field> {
    let is_missing = |field: &&Field| match (entry.get(field.key), field.rule) {
        (None, _) => true,
        (Some(there), Rule::Always) => *there != field.value,
        (Some(_), Rule::WhereAbsent) => false,
    };
    fields.iter().filter(is_missing).collect()
}

/// What an entry starts: the program, its arguments, and variables beside the client's own.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) is_off: bool,
}

/// Reads an entry as the client does.
pub(crate) fn started(client: &Client, entry: &Value, project: &Path) -> Option<Started> {
    let (command, arguments, variables) = match client.shape {
        Shape::Plain | Shape::Stdio | Shape::Copilot => ("command", Some("args"), "env"),
        Shape::Opencode => ("command", None, "environment"),
        Shape::Goose => ("cmd", Some("args"), "envs"),
    };
    let mut words = texts(entry.get(command)?);
    words.extend(arguments.and_then(|key| entry.get(key)).map(texts).unwrap_or_default());
    if let Starts::Where(word) = client.starts {
        let project = project.to_string_lossy();
        words.iter_mut().for_each(|text| *text = text.replace(word, &project));
    }
    let mut words = words.into_iter();
    let command = words.next()?;
    let variables = entry.get(variables).and_then(Value::as_object).into_iter().flatten();
    let is_off =
        entry.get("enabled") == Some(&json!(false)) || entry.get("disabled") == Some(&json!(true));
    Some(Started {
        command,
        arguments: words.collect(),
        variables: variables
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect(),
        is_off,
    })
}

fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match value {
        Value::Array(values) => values.iter().filter_map(text).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            text(value).into_iter().collect()
        }
    }
}

/// What the client is to run: `eyelet` where the `PATH` leads to this very program. A client that
/// is not started from a shell may have another `PATH`, so that it gets the whole path.
fn command(client: &Client) -> Result<PathBuf, Failure> {
    let this = env::current_exe().and_then(|this| this.metadata().map(|about| (this, about)));
    let (this, about) = this.map_err(|error| Failure {
        message: format!("where this program stands cannot be told: {error}"),
        exit: FAILED,
    })?;
    let is_this = |found: &PathBuf| {
        let found = fs::metadata(found);
        found.is_ok_and(|found| (found.dev(), found.ino()) == (about.dev(), about.ino()))
    };
    let on_path = on_path(NAME).filter(is_this);
    Ok(match (on_path, client.starts) {
        (Some(found), Starts::Elsewhere) => found,
        (Some(_), Starts::InProject | Starts::Where(_)) => PathBuf::from(NAME),
        (None, _) => this,
    })
}

/// The first file of that name in the absolute folders of the `PATH`.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| is_program(file))
}

pub(crate) fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|about| about.is_file() && about.mode() & 0o111 != 0)
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let path = path.display();
        Failure::usage(format!("{path} is not UTF-8, which no client's file can hold"))
    })
}
