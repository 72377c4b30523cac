//! TOML.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::Change;
use crate::setup::entry::NAME;

pub(super) fn read(text: &str) -> Result<Value, String> {
    toml_edit::de::from_str(text).map_err(|error| format!("it is not TOML: {}", error.message()))
}

pub(super) fn merge(text: &str, change: &Change) -> Result<String, String> {
    let document: Result<DocumentMut, _> = text.parse();
    let mut document = document.map_err(|error| format!("it is not TOML: {}", error.message()))?;
    let servers = table(document.as_table_mut(), change.servers, Header::Left)?;
    let entry = table(servers, NAME, Header::Written)?;
    for field in &change.fields {
        let new = item(&field.value)?;
        match entry.get_mut(field.key).and_then(Item::as_value_mut) {
            // The comment behind the old value stays.
            Some(there) => {
                let decor = there.decor().clone();
                if let Some(new) = new.as_value() {
                    *there = new.clone();
                    *there.decor_mut() = decor;
                }
            }
            None => {
                entry.insert(field.key, new);
            }
        }
    }
    Ok(document.to_string())
}

/// Whether a new table gets a line `[name]` of its own, or only those below it.
#[derive(Clone, Copy)]
enum Header {
    Written,
    Left,
}

fn table<'t>(
    parent: &'t mut dyn TableLike,
    key: &str,
    header: Header,
) -> Result<&'t mut dyn TableLike, String> {
    let mut new = Table::new();
    new.set_implicit(matches!(header, Header::Left));
    let there = parent.entry(key).or_insert(Item::Table(new));
    there.as_table_like_mut().ok_or_else(|| format!("its `{key}` is not a table of keys"))
}

fn item(json: &Value) -> Result<Item, String> {
    match json {
        Value::String(text) => Ok(value(text)),
        Value::Bool(flag) => Ok(value(*flag)),
        Value::Array(values) => {
            Ok(value(values.iter().filter_map(Value::as_str).collect::<Array>()))
        }
        Value::Null | Value::Number(_) | Value::Object(_) => {
            Err("an entry holds texts and lists of texts only".to_owned())
        }
    }
}
