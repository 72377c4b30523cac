//! Collects the values of each layer.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args as _, Command, CommandFactory as _};
use serde_json::{Map, Value};

use super::settings::{Kind, LAYERED, Merge, SETTINGS, Setting, is_list, kind};
use crate::failure::Failure;
use crate::flags::{Cli, McpFlags};
use crate::home::Home;

/// A setting and its effective values.
pub(crate) struct EffectiveSetting {
    pub(crate) setting: &'static Setting,
    pub(crate) values: Vec<LayerValue>,
}

/// A value and the layer that it comes from.
pub(crate) struct LayerValue {
    pub(crate) arg: Arg,
    pub(crate) text: OsString,
    pub(crate) source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Flag,
    Variable,
    File(PathBuf),
}

/// The user's file.
pub(crate) struct UserFile {
    pub(crate) path: PathBuf,
    pub(crate) found: bool,
    keys: Map<String, Value>,
}

/// The command line plus the flags from lower layers, or `None` if they add nothing.
pub(crate) fn with_layers(matches: &ArgMatches) -> Result<Option<Vec<OsString>>, Failure> {
    if !matches.subcommand_name().is_some_and(|name| LAYERED.contains(&name)) {
        return Ok(None);
    }
    let (_, settings) = effective_for(matches)?;
    let values = settings.into_iter().flat_map(|value| value.values);
    let lower: Vec<_> = values.filter(|value| value.source != Source::Flag).collect();
    if lower.is_empty() {
        return Ok(None);
    }
    Ok(Some(env::args_os().chain(lower.iter().flat_map(LayerValue::as_flag)).collect()))
}

/// The settings that come from `EYELET_*` variables, as flags.
pub(crate) fn variable_flags() -> Result<Vec<OsString>, Failure> {
    let (_, settings) = effective()?;
    let values = settings.into_iter().flat_map(|setting| setting.values);
    let values: Vec<_> = values.filter(|value| value.source == Source::Variable).collect();
    Ok(values.iter().flat_map(LayerValue::as_flag).collect())
}

/// The effective settings for this process's command line, and the user's file.
pub(crate) fn effective() -> Result<(Option<UserFile>, Vec<EffectiveSetting>), Failure> {
    let matches = Cli::command().try_get_matches();
    effective_for(&matches.map_err(|error| Failure::usage(error.to_string()))?)
}

fn effective_for(
    matches: &ArgMatches,
) -> Result<(Option<UserFile>, Vec<EffectiveSetting>), Failure> {
    let Some((_, subcommand)) = matches.subcommand() else { return Ok((None, Vec::new())) };
    // Every layered command has the server's flags.
    let server = McpFlags::augment_args(Command::new("mcp"));
    let args: Vec<_> = server.get_arguments().collect();
    check_variables()?;
    let file = UserFile::read()?;
    let mut settings = Vec::new();
    for setting in SETTINGS {
        let Some(arg) = args.iter().find(|arg| arg.get_long() == Some(setting.flag)) else {
            continue;
        };
        let flags = [matches, subcommand].into_iter().flat_map(|matches| from_flags(arg, matches));
        let lower = [from_variable(setting, arg)?, from_file(setting, arg, file.as_ref())?];
        let mut values: Vec<_> = flags.collect();
        for layer in lower {
            if values.is_empty() || setting.merge == Merge::All {
                values.extend(layer);
            }
        }
        if !is_list(arg) {
            // The last one wins.
            values.drain(..values.len().saturating_sub(1));
        }
        settings.push(EffectiveSetting { setting, values });
    }
    Ok((file, settings))
}

/// The first flag before the command on this process's command line, ignoring those in `except`.
pub(crate) fn flag_before_command(except: &[&str]) -> Option<String> {
    let matches = Cli::command().try_get_matches().ok()?;
    let command = Cli::command();
    let flags = command.get_arguments().filter_map(|arg| Some((arg, arg.get_long()?)));
    let mut others = flags.filter(|(_, flag)| !except.contains(flag));
    let found = others.find(|(arg, _)| !from_flags(arg, &matches).is_empty());
    found.map(|(_, flag)| format!("--{flag}"))
}

fn from_flags(arg: &Arg, matches: &ArgMatches) -> Vec<LayerValue> {
    let id = arg.get_id().as_str();
    let values = matches.try_get_raw(id).ok().flatten();
    let is_given = values.is_some() && matches.value_source(id) == Some(ValueSource::CommandLine);
    let values = values.filter(|_| is_given).into_iter().flatten();
    values.map(|text| LayerValue::new(arg, text, &Source::Flag)).collect()
}

fn from_variable(setting: &Setting, arg: &Arg) -> Result<Vec<LayerValue>, Failure> {
    let name = setting.variable();
    let Some(text) = env::var_os(&name) else { return Ok(Vec::new()) };
    let texts: Vec<_> = match is_list(arg) {
        true => text
            .as_bytes()
            .split(|byte| *byte == setting.separator())
            .map(OsStr::from_bytes)
            .collect(),
        false => vec![text.as_os_str()],
    };
    // An empty variable counts as unset.
    let texts = texts.into_iter().filter(|text| !text.is_empty());
    texts.map(|text| checked(arg, text, &Source::Variable, &name)).collect()
}

fn from_file(
    setting: &Setting,
    arg: &Arg,
    file: Option<&UserFile>,
) -> Result<Vec<LayerValue>, Failure> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let key = setting.key();
    let Some(value) = file.keys.get(&key) else { return Ok(Vec::new()) };
    let place = format!("{}: `{key}`", file.path.display());
    let texts = texts(arg, value).ok_or_else(|| {
        let wanted = expected(arg);
        Failure::usage(format!("{place}: expected {wanted}, got {value}"))
    })?;
    let source = Source::File(file.path.clone());
    texts.iter().map(|text| checked(arg, OsStr::new(text), &source, &place)).collect()
}

/// A value of the file in the form that the flag takes.
fn texts(arg: &Arg, value: &Value) -> Option<Vec<String>> {
    let one = |value: &Value| match (kind(arg), value) {
        (Kind::Switch, Value::Bool(flag)) => Some(flag.to_string()),
        (Kind::Number, Value::Number(number)) => Some(number.to_string()),
        (Kind::Text, Value::String(text)) => Some(text.clone()),
        (Kind::Switch | Kind::Number | Kind::Text, _) => None,
    };
    match value.as_array().filter(|_| is_list(arg)) {
        Some(values) => values.iter().map(one).collect(),
        None => one(value).map(|text| vec![text]),
    }
}

fn expected(arg: &Arg) -> &'static str {
    match (kind(arg), is_list(arg)) {
        (Kind::Switch, _) => "true or false",
        (Kind::Number, _) => "a whole number",
        (Kind::Text, true) => "a list of strings",
        (Kind::Text, false) => "a string",
    }
}

/// The value, if the flag accepts it.
fn checked(arg: &Arg, text: &OsStr, source: &Source, place: &str) -> Result<LayerValue, Failure> {
    let value = LayerValue::new(arg, text, source);
    let is_switch = kind(arg) == Kind::Switch;
    if is_switch && !(text == "true" || text == "false") {
        let text = text.to_string_lossy();
        return Err(Failure::usage(format!("{place}: expected true or false, got `{text}`")));
    }
    let alone = Command::new("value").no_binary_name(true).arg(arg.clone().hide(true));
    let parsed = alone.try_get_matches_from(value.as_flag());
    parsed.map(|_| value).map_err(|error| {
        let message = error.to_string();
        let message =
            message.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        Failure::usage(format!("{place}: {message}"))
    })
}

impl LayerValue {
    fn new(arg: &Arg, text: &OsStr, source: &Source) -> Self {
        LayerValue { arg: arg.clone(), text: text.to_owned(), source: source.clone() }
    }

    /// The value as a command-line flag; `None` for a switch that is off.
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
    /// Reads the file; `None` if its path cannot be determined.
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
            return Err(failed(format!("unknown key `{key}`; known keys: {}", known.join(", "))));
        }
        Ok(Some(UserFile { path, found: true, keys }))
    }
}

/// Rejects unknown `EYELET_` variables, which are probably misspelt.
fn check_variables() -> Result<(), Failure> {
    let names = env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let ours = |name: &String| name.starts_with("EYELET_") && !name.starts_with("EYELET_TEST_");
    let is_unknown = |name: &String| SETTINGS.iter().all(|setting| setting.variable() != *name);
    let Some(name) = names.filter(ours).find(is_unknown) else { return Ok(()) };
    let known: Vec<_> = SETTINGS.iter().map(Setting::variable).collect();
    Err(Failure::usage(format!("unknown variable {name}; known variables: {}", known.join(", "))))
}
