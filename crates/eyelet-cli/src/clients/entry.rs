//! The entry that starts `eyelet mcp`, in each client's layout.

use std::env;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf, absolute};

use serde_json::{Map, Value, json};

use super::client_list::{Client, Shape, Starts};
use crate::failure::Failure;

/// The name of the server in every client. Further entries for other projects start with it.
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
    /// Required: otherwise the server does not start.
    Required,
    /// Added only if missing: the user may have chosen another value.
    IfMissing,
    /// Added if missing or lower.
    AtLeast,
}

/// What to change in the entry of this server.
pub(crate) struct Change<'c> {
    /// The key of the servers in the file.
    pub(crate) servers: &'c str,
    /// The name of the entry.
    pub(crate) name: &'c str,
    /// The fields that the entry lacks or has with another value.
    pub(crate) fields: Vec<&'c Field>,
    /// The fields to remove.
    pub(crate) removed: Vec<&'static str>,
}

/// The fields with which clients set environment variables. eyelet's own entries have none.
const VARIABLE_FIELDS: [&str; 4] = ["env", "environment", "envs", "envFile"];

/// The fields of an entry; `arguments` are the arguments of the program.
pub(crate) fn fields(
    client: &Client,
    name: &str,
    mut arguments: Vec<String>,
) -> Result<Vec<Field>, Failure> {
    let command = text(&command(client)?)?;
    let required = |key, value| Field { key, value, rule: Rule::Required };
    let if_missing = |key, value| Field { key, value, rule: Rule::IfMissing };
    let mut fields = match client.shape {
        Shape::Plain => {
            vec![required("command", json!(command)), required("args", json!(arguments))]
        }
        Shape::Stdio => vec![
            required("type", json!("stdio")),
            required("command", json!(command)),
            required("args", json!(arguments)),
        ],
        Shape::Copilot => vec![
            if_missing("type", json!("local")),
            required("command", json!(command)),
            required("args", json!(arguments)),
            if_missing("tools", json!(["*"])),
        ],
        Shape::Opencode => {
            arguments.insert(0, command);
            vec![
                required("type", json!("local")),
                required("command", json!(arguments)),
                if_missing("enabled", json!(true)),
            ]
        }
        Shape::Goose => vec![
            if_missing("enabled", json!(true)),
            required("type", json!("stdio")),
            if_missing("name", json!(name)),
            if_missing(
                "description",
                json!(
                    "Tools with bounded output: list_dir, find_files, grep_files, read, bash, jobs"
                ),
            ),
            required("cmd", json!(command)),
            required("args", json!(arguments)),
        ],
    };
    fields.extend(client.timeout.map(|(key, value)| Field {
        key,
        value: json!(value),
        rule: Rule::AtLeast,
    }));
    Ok(fields)
}

/// The fields that `entry` lacks or has with another value.
pub(crate) fn missing<'f>(fields: &'f [Field], entry: &Map<String, Value>) -> Vec<&'f Field> {
    let is_missing = |field: &&Field| match (entry.get(field.key), field.rule) {
        (None, _) => true,
        (Some(current), Rule::Required) => *current != field.value,
        (Some(_), Rule::IfMissing) => false,
        (Some(current), Rule::AtLeast) => {
            current.as_f64().is_some_and(|current| field.value.as_f64() > Some(current))
        }
    };
    fields.iter().filter(is_missing).collect()
}

/// The fields of an entry that set environment variables, and what each sets.
pub(crate) fn variables(entry: &Map<String, Value>) -> Vec<(&'static str, Vec<String>)> {
    let set = |field: &'static str| {
        let value = entry.get(field)?;
        let names = match value.as_object() {
            Some(variables) => variables.keys().cloned().collect(),
            None => vec![format!("{field} {value}")],
        };
        Some((field, names)).filter(|(_, names)| !names.is_empty())
    };
    VARIABLE_FIELDS.into_iter().filter_map(set).collect()
}

/// The command to run: `eyelet` if that name on the `PATH` is this program. Clients that are not started
/// from a shell may have another `PATH`, so they get the absolute path.
fn command(client: &Client) -> Result<PathBuf, Failure> {
    let executable = Executable::this()?;
    let on_path = on_path(NAME).filter(|found| executable.is_same(found));
    Ok(match (on_path, client.starts) {
        (Some(found), Starts::Elsewhere) => found,
        (Some(_), Starts::InProject | Starts::ElsewhereWithPlaceholder(_)) => PathBuf::from(NAME),
        (None, _) => executable.path,
    })
}

/// The entry for a client that starts the server in an unknown directory, in the most common layout. The
/// path of the program is the one that it was started with, symlinks included.
pub(crate) fn generic_entry<'r>(
    flags: impl IntoIterator<Item = OsString>,
    roots: impl Iterator<Item = &'r Path>,
) -> Result<Value, Failure> {
    /// The flags whose paths would mean something else in another directory.
    const PATHS: [&str; 3] = ["--root", "--cwd", "--record"];
    let executable = Executable::this()?;
    let started_as = env::args_os().next().map(PathBuf::from).and_then(|name| {
        if name.components().count() > 1 { absolute(&name).ok() } else { on_path(name.to_str()?) }
    });
    let started_as = started_as.filter(|path| executable.is_same(path));
    let command = text(&started_as.unwrap_or(executable.path))?;
    let mut arguments = Vec::new();
    let mut words = flags.into_iter();
    while let Some(word) = words.next() {
        let word = text(Path::new(&word))?;
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) if PATHS.contains(&flag) => (flag, Some(value.into())),
            _ if PATHS.contains(&word.as_str()) => (word.as_str(), words.next()),
            _ => (word.as_str(), None),
        };
        match (flag, value) {
            // The roots in force are added below.
            ("--root", _) => {}
            (flag, Some(path)) => {
                let path = absolute(path).unwrap_or_default();
                arguments.extend([flag.to_owned(), text(&path)?]);
            }
            _ => arguments.push(word),
        }
    }
    for root in roots {
        arguments.extend(["--root".to_owned(), text(root)?]);
    }
    Ok(json!({ "mcpServers": { NAME: { "command": command, "args": arguments } } }))
}

/// The entry for a client that connects over HTTP.
pub(crate) fn http_entry(url: &str, token: &str) -> Value {
    let headers = json!({ "Authorization": format!("Bearer {token}") });
    json!({ "mcpServers": { NAME: { "type": "http", "url": url, "headers": headers } } })
}

/// The file of the running program.
pub(crate) struct Executable {
    pub(crate) path: PathBuf,
    metadata: Metadata,
}

impl Executable {
    pub(crate) fn this() -> Result<Self, Failure> {
        let path = env::current_exe();
        let this = path.and_then(|path| Ok(Executable { metadata: path.metadata()?, path }));
        this.map_err(|error| {
            Failure::new(format!("cannot determine the path of the eyelet executable: {error}"))
        })
    }

    pub(crate) fn is_same(&self, path: &Path) -> bool {
        let id = |file: &Metadata| (file.dev(), file.ino());
        fs::metadata(path).is_ok_and(|found| id(&found) == id(&self.metadata))
    }
}

/// The first program of that name in the absolute directories of the `PATH`.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| is_program(file))
}

pub(crate) fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|about| about.is_file() && about.mode() & 0o111 != 0)
}

pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let path = path.display();
        Failure::usage(format!("{path} is not valid UTF-8; use a path that is"))
    })
}
