//! The layers of the server's configuration: flags, then `EYELET_*` variables, then the user's
//! file. No file of a project is read, so that none can widen anything.
//!
//! A lower layer is turned into flags and parsed with those that were said: what a value may be is
//! said once, where the flag is defined.

mod layers;

use std::any::TypeId;
use std::process::ExitCode;

use clap::{Arg, ArgAction, Args};
use serde_json::{Value, json};

use crate::args::Mcp;
use crate::failure::Failure;
use crate::show;
use layers::{InForce, Source};
pub(crate) use layers::{said_before, with_layers};

/// A flag that the lower layers may set as well: `spill-bytes`, `EYELET_SPILL_BYTES`, `spill_bytes`.
#[derive(Debug)]
struct Setting {
    flag: &'static str,
    joined: Joined,
    /// What holds where no layer says anything.
    otherwise: &'static str,
}

/// What of several layers counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joined {
    /// The highest that says anything.
    Highest,
    /// All of them: a layer cannot take away what a lower one hides.
    All,
}

/// Everything that can be configured. A new flag joins with a line here.
const SETTINGS: &[Setting] = &[
    Setting { flag: "root", joined: Joined::Highest, otherwise: "the working directory" },
    Setting { flag: "read-anywhere", joined: Joined::Highest, otherwise: "false" },
    Setting { flag: "deny", joined: Joined::All, otherwise: "nothing" },
    Setting { flag: "search-engine", joined: Joined::Highest, otherwise: "embedded" },
    Setting { flag: "spill-bytes", joined: Joined::Highest, otherwise: "as `eyelet limits` says" },
    Setting { flag: "sandbox", joined: Joined::Highest, otherwise: "workspace-write" },
    Setting { flag: "network", joined: Joined::Highest, otherwise: "false" },
    Setting { flag: "env", joined: Joined::Highest, otherwise: "nothing" },
    Setting { flag: "strict", joined: Joined::Highest, otherwise: "false" },
    Setting { flag: "tools", joined: Joined::Highest, otherwise: "all" },
    Setting { flag: "reply", joined: Joined::Highest, otherwise: "text" },
    Setting {
        flag: "reply-bytes",
        joined: Joined::Highest,
        otherwise: "what the client shows whole",
    },
];

pub(crate) const AFTER_HELP: &str = "The server (`eyelet mcp`) takes a value from a flag, else from \
    a variable, else from $XDG_CONFIG_HOME/eyelet/config.toml (~/.config/eyelet/config.toml): \
    --spill-bytes, EYELET_SPILL_BYTES, spill_bytes = N. Lists are joined with `:` in a variable. \
    What --deny hides adds up over all of them. Nothing is read from the project. For `call` and \
    the commands for a person only flags count.";

/// The commands whose flags the lower layers fill. A person who calls a tool has said all that
/// counts on the command line.
const LAYERED: [&str; 2] = ["mcp", "config"];

impl Setting {
    fn key(&self) -> String {
        self.flag.replace('-', "_")
    }

    fn variable(&self) -> String {
        format!("EYELET_{}", self.key().to_uppercase())
    }
}

/// The flags are those of the server; they are read by name, wherever they stand.
#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) server: Mcp,
}

pub(crate) fn run(command: &Config) -> Result<ExitCode, Failure> {
    let (file, in_force) = layers::in_force()?;
    if command.json {
        let values: Vec<_> = in_force.iter().map(as_json).collect();
        let file = file.map(|file| json!({ "path": file.path, "found": file.found }));
        show::lines(&format!("{:#}", json!({ "file": file, "values": values })))?;
        return Ok(ExitCode::SUCCESS);
    }
    show::lines(&table(&in_force))?;
    match file {
        Some(file) if !file.found => {
            show::note(&format!("There is no {}.", file.path.display()));
        }
        Some(_) | None => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn table(in_force: &[InForce]) -> String {
    let rows: Vec<_> = in_force.iter().map(|value| (value.setting.key(), as_text(value))).collect();
    let key = rows.iter().map(|(key, _)| key.len()).max().unwrap_or_default();
    let wide = rows.iter().map(|(_, text)| text.chars().count()).max().unwrap_or_default();
    let row = |((name, text), value): (&(String, String), &InForce)| {
        format!("{name:key$}  {text:wide$}  {}\n", sources(value).join(", "))
    };
    rows.iter().zip(in_force).map(row).collect()
}

fn as_text(value: &InForce) -> String {
    let words = value.values.iter().map(|value| value.text.to_string_lossy()).collect::<Vec<_>>();
    if words.is_empty() { value.setting.otherwise.to_owned() } else { words.join(" ") }
}

fn as_json(value: &InForce) -> Value {
    let mut values =
        value.values.iter().map(|value| typed(&value.arg, &value.text.to_string_lossy()));
    let is_list = value.values.first().is_some_and(|value| is_list(&value.arg));
    let shown = if is_list { values.collect() } else { values.next().unwrap_or(Value::Null) };
    json!({
        "key": value.setting.key(),
        "flag": format!("--{}", value.setting.flag),
        "variable": value.setting.variable(),
        "value": shown,
        "default": value.setting.otherwise,
        "from": sources(value),
    })
}

fn typed(arg: &Arg, text: &str) -> Value {
    match (kind(arg), text.parse::<u64>()) {
        (Kind::Switch, _) => json!(text == "true"),
        (Kind::Number, Ok(number)) => json!(number),
        (Kind::Number | Kind::Text, _) => json!(text),
    }
}

/// What a flag takes, as its definition says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Switch,
    Number,
    Text,
}

fn kind(arg: &Arg) -> Kind {
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return Kind::Switch;
    }
    let id = arg.get_value_parser().type_id();
    if id == TypeId::of::<u64>() || id == TypeId::of::<usize>() { Kind::Number } else { Kind::Text }
}

fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

fn sources(value: &InForce) -> Vec<String> {
    let mut sources: Vec<_> = value.values.iter().map(|given| told(&given.source, value)).collect();
    sources.dedup();
    if sources.is_empty() { vec!["default".to_owned()] } else { sources }
}

fn told(source: &Source, value: &InForce) -> String {
    match source {
        Source::Flag => format!("--{}", value.setting.flag),
        Source::Variable => value.setting.variable(),
        Source::File(path) => path.display().to_string(),
    }
}
