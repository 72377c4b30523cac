//! The three languages of the clients' files, and one way to put an entry into each.

mod json;
mod toml;
mod yaml;

use serde_json::{Map, Value, json};

use super::entry::{self, Field, NAME};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    /// With comments and trailing commas, where someone wrote them.
    Json,
    Toml,
    Yaml,
}

/// A place in a file and what is to stand there.
struct Change<'c> {
    /// The key under which the file holds its servers.
    servers: &'c str,
    /// What the entry lacks or has otherwise.
    fields: Vec<&'c Field>,
}

impl Format {
    /// What a file says; an empty one says nothing.
    pub(crate) fn read(self, text: &str) -> Result<Value, String> {
        let text = without_mark(text);
        let value = match self {
            Format::Json => json::read(text),
            Format::Toml => toml::read(text),
            Format::Yaml => yaml::read(text),
        }?;
        Ok(if value.is_null() { json!({}) } else { value })
    }

    /// The file with the entry in it and all else as it was; nothing where it is in it already.
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
        let plain = without_mark(text);
        let merged = match self {
            Format::Json => json::merge(plain, &change),
            Format::Toml => toml::merge(plain, &change),
            Format::Yaml => yaml::merge(plain, &change),
        }?;
        // Whatever a file looks like: it has to say the same as before, and our entry.
        if self.read(&merged).is_ok_and(|said| said == expected) {
            let mark = text.strip_suffix(plain).unwrap_or_default();
            return Ok(Some(format!("{mark}{merged}")));
        }
        Err("it is written in a way that cannot be added to without changing the rest".to_owned())
    }

    /// The entry alone, as a file of its own.
    pub(crate) fn snippet(self, servers: &str, fields: &[Field]) -> Result<String, String> {
        let change = Change { servers, fields: fields.iter().collect() };
        match self {
            Format::Json => Ok(json::snippet(&change)),
            Format::Toml => toml::merge("", &change),
            Format::Yaml => yaml::merge("", &change),
        }
    }
}

/// A byte order mark is not the parsers' business.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The entry of this server, made where it is not there.
fn entry_in<'v>(file: &'v mut Value, servers: &str) -> Result<&'v mut Map<String, Value>, String> {
    let top = file.as_object_mut().ok_or("its top level is not a table of keys")?;
    let servers_in = top.entry(servers).or_insert_with(|| json!({}));
    if servers_in.is_null() {
        *servers_in = json!({});
    }
    let no_table = || format!("its `{servers}` is not a table of keys");
    let entry = servers_in.as_object_mut().ok_or_else(no_table)?;
    let entry = entry.entry(NAME).or_insert_with(|| json!({}));
    entry.as_object_mut().ok_or_else(|| format!("its `{servers}.{NAME}` is not a table of keys"))
}
