//! The formats of the clients' files: reading a file, merging an entry into it, printing an entry.

mod json;
mod toml;
mod yaml;

use serde_json::{Map, Value, json};

use crate::clients::client_list::{Format, Scope};
use crate::clients::entry::{self, Change, Field};

const NO_YAML: &str = "eyelet does not edit YAML files";

/// A file after the entry was merged into it.
pub(crate) struct Merged {
    /// The new text; `None` if the file already has the entry.
    pub(crate) text: Option<String>,
    /// The environment variables that were removed from the entry.
    pub(crate) variables: Vec<String>,
}

impl Format {
    /// Parses a file; an empty one is an empty object.
    pub(crate) fn read(self, text: &str) -> Result<Value, String> {
        let text = without_bom(text);
        let value = match self {
            Format::Json => json::read(text),
            Format::Toml => toml::read(text),
            Format::Yaml => yaml::read(text),
        }?;
        Ok(if value.is_null() { json!({}) } else { value })
    }

    /// Merges the entry into the file and keeps everything else, except the variables that a project's
    /// entry sets.
    pub(crate) fn merge(
        self,
        text: &str,
        scope: Scope,
        servers: &str,
        name: &str,
        fields: &[Field],
    ) -> Result<Merged, String> {
        let mut expected = self.read(text)?;
        let entry = entry_in(&mut expected, servers, name)?;
        let variables = match scope {
            Scope::Project => entry::variables(entry),
            Scope::User => Vec::new(),
        };
        let (removed, variables): (Vec<_>, Vec<_>) = variables.into_iter().unzip();
        let variables = variables.concat();
        let change = Change { servers, name, fields: entry::missing(fields, entry), removed };
        if change.fields.is_empty() && change.removed.is_empty() {
            return Ok(Merged { text: None, variables });
        }
        for field in &change.fields {
            entry.insert(field.key.to_owned(), field.value.clone());
        }
        for field in &change.removed {
            entry.shift_remove(*field);
        }
        let plain = without_bom(text);
        let merged = match self {
            Format::Json => json::merge(plain, &change),
            Format::Toml => toml::merge(plain, &change),
            Format::Yaml => Err(NO_YAML.to_owned()),
        }?;
        let text = self.checked(text, &merged, &expected)?;
        Ok(Merged { text: Some(text), variables })
    }

    /// Removes an entry and keeps everything else.
    pub(crate) fn remove(self, text: &str, servers: &str, name: &str) -> Result<String, String> {
        let mut expected = self.read(text)?;
        if let Some(rest) = expected.get_mut(servers).and_then(Value::as_object_mut) {
            rest.shift_remove(name);
        }
        let plain = without_bom(text);
        let rest = match self {
            Format::Json => json::remove(plain, &[servers], name),
            Format::Toml => toml::remove(plain, servers, name),
            Format::Yaml => Err(NO_YAML.to_owned()),
        }?;
        if self.read(&rest)?.get(servers).is_none() {
            // In TOML, a table without a header of its own exists only while it has entries.
            let emptied = expected.get(servers).is_some_and(|rest| *rest == json!({}));
            if let (true, Some(top)) = (emptied, expected.as_object_mut()) {
                top.shift_remove(servers);
            }
        }
        self.checked(text, &rest, &expected)
    }

    /// The new text, if its parsed content equals `expected`; otherwise an error.
    fn checked(self, old: &str, new: &str, expected: &Value) -> Result<String, String> {
        if self.read(new).is_ok_and(|parsed| parsed == *expected) {
            let bom = old.strip_suffix(without_bom(old)).unwrap_or_default();
            return Ok(format!("{bom}{new}"));
        }
        Err("other content of the file would change".to_owned())
    }

    /// The entry alone, as a complete file.
    pub(crate) fn snippet(
        self,
        servers: &str,
        name: &str,
        fields: &[Field],
    ) -> Result<String, String> {
        let change = Change { servers, name, fields: fields.iter().collect(), removed: Vec::new() };
        match self {
            Format::Json => Ok(json::snippet(&change)),
            Format::Toml => toml::merge("", &change),
            Format::Yaml => Ok(yaml::snippet(&change)),
        }
    }
}

/// The parsers do not accept a byte order mark.
fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The entry of this server; creates it if necessary.
fn entry_in<'v>(
    file: &'v mut Value,
    servers: &str,
    name: &str,
) -> Result<&'v mut Map<String, Value>, String> {
    let top = file.as_object_mut().ok_or("the top level is not an object")?;
    let servers_in = top.entry(servers).or_insert_with(|| json!({}));
    if servers_in.is_null() {
        *servers_in = json!({});
    }
    let no_object = || format!("`{servers}` is not an object");
    let entry = servers_in.as_object_mut().ok_or_else(no_object)?;
    let entry = entry.entry(name).or_insert_with(|| json!({}));
    entry.as_object_mut().ok_or_else(|| format!("`{servers}.{name}` is not an object"))
}
