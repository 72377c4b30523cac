//! The formats of the clients' files: reading a file, merging an entry into it, printing an entry.

mod json;
mod toml;
mod yaml;

use serde_json::{Map, Value, json};

use crate::clients::client_list::Format;
use crate::clients::entry::{self, Change, Field, NAME};

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

    /// Merges the entry into the file and keeps everything else. Returns `None` if it is already there.
    pub(crate) fn merge(
        self,
        text: &str,
        servers: &str,
        fields: &[Field],
    ) -> Result<Option<String>, String> {
        let mut expected = self.read(text)?;
        let entry = entry_in(&mut expected, servers)?;
        let change = Change { servers, fields: entry::missing(fields, entry) };
        if change.fields.is_empty() {
            return Ok(None);
        }
        for field in &change.fields {
            entry.insert(field.key.to_owned(), field.value.clone());
        }
        let plain = without_bom(text);
        let merged = match self {
            Format::Json => json::merge(plain, &change),
            Format::Toml => toml::merge(plain, &change),
            Format::Yaml => Err("eyelet does not edit YAML files".to_owned()),
        }?;
        // The result must parse to the old content plus our entry, whatever the file looks like.
        if self.read(&merged).is_ok_and(|parsed| parsed == expected) {
            let bom = text.strip_suffix(plain).unwrap_or_default();
            return Ok(Some(format!("{bom}{merged}")));
        }
        Err("other content of the file would change".to_owned())
    }

    /// The entry alone, as a complete file.
    pub(crate) fn snippet(self, servers: &str, fields: &[Field]) -> Result<String, String> {
        let change = Change { servers, fields: fields.iter().collect() };
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
fn entry_in<'v>(file: &'v mut Value, servers: &str) -> Result<&'v mut Map<String, Value>, String> {
    let top = file.as_object_mut().ok_or("the top level is not an object")?;
    let servers_in = top.entry(servers).or_insert_with(|| json!({}));
    if servers_in.is_null() {
        *servers_in = json!({});
    }
    let no_object = || format!("`{servers}` is not an object");
    let entry = servers_in.as_object_mut().ok_or_else(no_object)?;
    let entry = entry.entry(NAME).or_insert_with(|| json!({}));
    entry.as_object_mut().ok_or_else(|| format!("`{servers}.{NAME}` is not an object"))
}
