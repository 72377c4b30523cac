//! `eyelet config`: prints the effective configuration and where each value comes from.

use std::process::ExitCode;

use clap::Arg;
use serde_json::{Value, json};

use crate::config::{self, EffectiveSetting, Kind, Source, is_list, kind};
use crate::failure::Failure;
use crate::flags::ConfigFlags;
use crate::{print, registries};

pub(crate) fn run(flags: &ConfigFlags) -> Result<ExitCode, Failure> {
    let (file, settings) = config::effective()?;
    if flags.json {
        let values: Vec<_> = settings.iter().map(as_json).collect();
        let file = file.map(|file| json!({ "path": file.path, "found": file.found }));
        print::lines(&format!(
            "{:#}",
            json!({ "file": file, "values": values, "registries": registries::all() })
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    print::lines(&table(&settings))?;
    if has_registries(&settings) {
        let hosts = registries::all().join("\n  ");
        print::lines(&format!("\nallow_host: `registries` stands for these hosts:\n  {hosts}"))?;
    }
    if let Some(file) = file.filter(|file| !file.found) {
        print::note(&format!("config file not found: {}", file.path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn has_registries(settings: &[EffectiveSetting]) -> bool {
    let hosts = settings.iter().find(|setting| setting.setting.flag == "allow-host");
    hosts.is_some_and(|hosts| hosts.values.iter().any(|value| value.text == "registries"))
}

fn table(settings: &[EffectiveSetting]) -> String {
    let rows: Vec<_> = settings.iter().map(|value| (value.setting.key(), as_text(value))).collect();
    let key = rows.iter().map(|(key, _)| key.len()).max().unwrap_or_default();
    let wide = rows.iter().map(|(_, text)| text.chars().count()).max().unwrap_or_default();
    let row = |((name, text), value): (&(String, String), &EffectiveSetting)| {
        format!("{name:key$}  {text:wide$}  {}\n", sources(value).join(", "))
    };
    rows.iter().zip(settings).map(row).collect()
}

fn as_text(value: &EffectiveSetting) -> String {
    let words = value.values.iter().map(|value| value.text.to_string_lossy()).collect::<Vec<_>>();
    if words.is_empty() { value.setting.default.to_owned() } else { words.join(" ") }
}

fn as_json(value: &EffectiveSetting) -> Value {
    let mut values =
        value.values.iter().map(|value| typed(&value.arg, &value.text.to_string_lossy()));
    let is_list = value.values.first().is_some_and(|value| is_list(&value.arg));
    let shown = if is_list { values.collect() } else { values.next().unwrap_or(Value::Null) };
    json!({
        "key": value.setting.key(),
        "flag": format!("--{}", value.setting.flag),
        "variable": value.setting.variable(),
        "value": shown,
        "default": value.setting.default,
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

fn sources(value: &EffectiveSetting) -> Vec<String> {
    let mut sources: Vec<_> =
        value.values.iter().map(|given| source_name(&given.source, value)).collect();
    sources.dedup();
    if sources.is_empty() { vec!["default".to_owned()] } else { sources }
}

fn source_name(source: &Source, value: &EffectiveSetting) -> String {
    match source {
        Source::Flag => format!("--{}", value.setting.flag),
        Source::Variable => value.setting.variable(),
        Source::File(path) => path.display().to_string(),
    }
}
