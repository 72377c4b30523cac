//! What each layer says.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args as _, Command, CommandFactory as _};
use serde_json::{Map, Value};

use super::{Joined, Kind, LAYERED, SETTINGS, Setting, is_list, kind};
use crate::args::{Cli, Mcp};
use crate::failure::Failure;
use crate::setup::Home;

/// A setting and its values, each with the layer that it comes from.
pub(super) struct InForce {
    pub(super) setting: &'static Setting,
    pub(super) values: Vec<Given>,
}

pub(super) struct Given {
    pub(super) arg: Arg,
    pub(super) text: OsString,
    pub(super) source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Flag,
    Variable,
    File(PathBuf),
}

/// The user's file.
pub(super) struct UserFile {
    pub(super) path: PathBuf,
    pub(super) found: bool,
    keys: Map<String, Value>,
}

/// The command line with what the lower layers add to it, where they add anything.
pub(crate) fn with_layers(said: &ArgMatches) -> Result<Option<Vec<OsString>>, Failure> {
    if !said.subcommand_name().is_some_and(|name| LAYERED.contains(&name)) {
        return Ok(None);
    }
    let (_, in_force) = of(said)?;
    let values = in_force.into_iter().flat_map(|value| value.values);
    let lower: Vec<_> = values.filter(|given| given.source != Source::Flag).collect();
    if lower.is_empty() {
        return Ok(None);
    }
    Ok(Some(env::args_os().chain(lower.iter().flat_map(Given::as_flag)).collect()))
}

/// What is in force for the command line of this process.
pub(super) fn in_force() -> Result<(Option<UserFile>, Vec<InForce>), Failure> {
    let said = Cli::command().try_get_matches();
    of(&said.map_err(|error| Failure::usage(error.to_string()))?)
}

fn of(said: &ArgMatches) -> Result<(Option<UserFile>, Vec<InForce>), Failure> {
    let Some((_, below)) = said.subcommand() else { return Ok((None, Vec::new())) };
    // Every layered command has the server's flags.
    let server = Mcp::augment_args(Command::new("mcp"));
    let args: Vec<_> = server.get_arguments().collect();
    check_variables()?;
    let file = UserFile::read()?;
    let mut in_force = Vec::new();
    for setting in SETTINGS {
        let Some(arg) = args.iter().find(|arg| arg.get_long() == Some(setting.flag)) else {
            continue;
        };
        let flags = [said, below].into_iter().flat_map(|matches| from_flags(arg, matches));
        let lower = [from_variable(setting, arg)?, from_file(setting, arg, file.as_ref())?];
        let mut values: Vec<_> = flags.collect();
        for layer in lower {
            if values.is_empty() || setting.joined == Joined::All {
                values.extend(layer);
            }
        }
        if !is_list(arg) {
            // Of two the later was meant.
            values.drain(..values.len().saturating_sub(1));
        }
        in_force.push(InForce { setting, values });
    }
    Ok((file, in_force))
}

/// The first flag before the command, beside some, that this process was given.
pub(crate) fn said_before(beside: &[&str]) -> Option<String> {
    let said = Cli::command().try_get_matches().ok()?;
    let command = Cli::command();
    let flags = command.get_arguments().filter_map(|arg| Some((arg, arg.get_long()?)));
    let mut others = flags.filter(|(_, flag)| !beside.contains(flag));
    let found = others.find(|(arg, _)| !from_flags(arg, &said).is_empty());
    found.map(|(_, flag)| format!("--{flag}"))
}

fn from_flags(arg: &Arg, said: &ArgMatches) -> Vec<Given> {
    let id = arg.get_id().as_str();
    let values = said.try_get_raw(id).ok().flatten();
    let is_said = values.is_some() && said.value_source(id) == Some(ValueSource::CommandLine);
    let values = values.filter(|_| is_said).into_iter().flatten();
    values.map(|text| Given::new(arg, text, &Source::Flag)).collect()
}

fn from_variable(setting: &Setting, arg: &Arg) -> Result<Vec<Given>, Failure> {
    let name = setting.variable();
    let Some(text) = env::var_os(&name) else { return Ok(Vec::new()) };
    let texts: Vec<_> = match is_list(arg) {
        true => text.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes).collect(),
        false => vec![text.as_os_str()],
    };
    // A variable that is empty says nothing.
    let texts = texts.into_iter().filter(|text| !text.is_empty());
    texts.map(|text| checked(arg, text, &Source::Variable, &name)).collect()
}

fn from_file(setting: &Setting, arg: &Arg, file: Option<&UserFile>) -> Result<Vec<Given>, Failure> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let key = setting.key();
    let Some(value) = file.keys.get(&key) else { return Ok(Vec::new()) };
    let place = format!("{}: `{key}`", file.path.display());
    let texts = texts(arg, value).ok_or_else(|| {
        let wanted = wanted(arg);
        Failure::usage(format!("{place} needs {wanted}, not {value}"))
    })?;
    let source = Source::File(file.path.clone());
    texts.iter().map(|text| checked(arg, OsStr::new(text), &source, &place)).collect()
}

/// A value of the file as a flag would have it.
fn texts(arg: &Arg, value: &Value) -> Option<Vec<String>> {
    let one = |value: &Value| match (kind(arg), value) {
        (Kind::Switch, Value::Bool(flag)) => Some(flag.to_string()),
        (Kind::Number, Value::Number(number)) => Some(number.to_string()),
        (Kind::Text, Value::String(text)) => Some(text.clone()),
        (Kind::Switch | Kind::Number | Kind::Text, _) => None,
    };
    match value {
        Value::Array(values) if is_list(arg) => values.iter().map(one).collect(),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => one(value).map(|text| vec![text]),
    }
}

fn wanted(arg: &Arg) -> &'static str {
    match (kind(arg), is_list(arg)) {
        (Kind::Switch, _) => "true or false",
        (Kind::Number, _) => "a whole number",
        (Kind::Text, true) => "a list of texts",
        (Kind::Text, false) => "a text",
    }
}

/// The value, where the flag would take it.
fn checked(arg: &Arg, text: &OsStr, source: &Source, place: &str) -> Result<Given, Failure> {
    let given = Given::new(arg, text, source);
    let is_switch = kind(arg) == Kind::Switch;
    if is_switch && !(text == "true" || text == "false") {
        let text = text.to_string_lossy();
        return Err(Failure::usage(format!("{place} needs true or false, not `{text}`")));
    }
    let alone = Command::new("value").no_binary_name(true).arg(arg.clone().hide(true));
    let parsed = alone.try_get_matches_from(given.as_flag());
    parsed.map(|_| given).map_err(|error| {
        let told = error.to_string();
        let told = told.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        Failure::usage(format!("{place}: {told}"))
    })
}

impl Given {
    fn new(arg: &Arg, text: &OsStr, source: &Source) -> Self {
        Given { arg: arg.clone(), text: text.to_owned(), source: source.clone() }
    }

    /// A switch that is off is one that is not said.
    fn as_flag(&self) -> Option<OsString> {
        let mut flag = OsString::from(format!("--{}", self.arg.get_long()?));
        if kind(&self.arg) == Kind::Switch {
            return (self.text == "true").then_some(flag);
        }
        flag.push("=");
        flag.push(&self.text);
        Some(flag)
    }
}

impl UserFile {
    /// The file, where the environment says where it would be.
    fn read() -> Result<Option<Self>, Failure> {
        let Ok(home) = Home::find() else { return Ok(None) };
        let path = home.config().join("eyelet/config.toml");
        let failed = |why: String| Failure::usage(format!("{}: {why}", path.display()));
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Some(UserFile { path, found: false, keys: Map::new() }));
            }
            Err(error) => return Err(failed(error.to_string())),
        };
        let keys: Map<String, Value> = toml_edit::de::from_str(&text).map_err(|error| {
            let before = text.get(..error.span().unwrap_or_default().start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            failed(format!("line {line}: {}", error.message()))
        })?;
        let is_unknown = |key: &&String| SETTINGS.iter().all(|setting| setting.key() != **key);
        if let Some(key) = keys.keys().find(is_unknown) {
            let known: Vec<_> = SETTINGS.iter().map(Setting::key).collect();
            return Err(failed(format!("unknown key `{key}`; known are {}", known.join(", "))));
        }
        Ok(Some(UserFile { path, found: true, keys }))
    }
}

/// A misspelt variable must not pass in silence.
fn check_variables() -> Result<(), Failure> {
    let names = env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let ours = |name: &String| name.starts_with("EYELET_") && !name.starts_with("EYELET_TEST_");
    let is_unknown = |name: &String| SETTINGS.iter().all(|setting| setting.variable() != *name);
    let Some(name) = names.filter(ours).find(is_unknown) else { return Ok(()) };
    let known: Vec<_> = SETTINGS.iter().map(Setting::variable).collect();
    Err(Failure::usage(format!("unknown variable {name}; known are {}", known.join(", "))))
}
