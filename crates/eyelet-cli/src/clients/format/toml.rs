//! TOML.

use serde::Serialize as _;
use serde_json::Value;
use toml_edit::ser::ValueSerializer;
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, value};

use crate::clients::entry::Change;

pub(super) fn read(text: &str) -> Result<Value, String> {
    toml_edit::de::from_str(text).map_err(|error| format!("invalid TOML: {}", error.message()))
}

pub(super) fn merge(text: &str, change: &Change) -> Result<String, String> {
    let document: Result<DocumentMut, _> = text.parse();
    let mut document = document.map_err(|error| format!("invalid TOML: {}", error.message()))?;
    if document.is_empty() {
        // Only comments: they stay at the top.
        document.set_trailing("");
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        fill(&mut document, change)?;
        return Ok(format!("{text}{newline}{document}"));
    }
    fill(&mut document, change)?;
    with_endings_of(text, document.to_string())
}

/// Removes an entry. Comments before it stay: they may be about the whole file.
pub(super) fn remove(text: &str, servers: &str, name: &str) -> Result<String, String> {
    let document: Result<DocumentMut, _> = text.parse();
    let mut document = document.map_err(|error| format!("invalid TOML: {}", error.message()))?;
    let table = document.get_mut(servers).and_then(Item::as_table_like_mut);
    let removed = table.and_then(|table| table.remove(name));
    let removed = removed.as_ref().and_then(Item::as_table);
    let comments = removed.and_then(|entry| entry.decor().prefix()?.as_str()).unwrap_or_default();
    let mut rest = document.to_string();
    if comments.contains('#') {
        let old = text.replace("\r\n", "\n");
        let place = old.find(&format!("{comments}["));
        if let Some(place) = place.filter(|place| old.get(..*place) == rest.get(..*place)) {
            rest.insert_str(place, comments);
        }
    }
    with_endings_of(text, rest)
}

fn with_endings_of(text: &str, merged: String) -> Result<String, String> {
    // The parser normalizes line endings.
    let endings = (text.matches("\r\n").count(), text.matches('\n').count());
    match endings {
        (0, _) => Ok(merged),
        (with_return, all) if with_return == all => Ok(merged.replace('\n', "\r\n")),
        (_, _) => Err("its line endings are mixed and would change".to_owned()),
    }
}

fn fill(document: &mut DocumentMut, change: &Change) -> Result<(), String> {
    let servers = document.get(change.servers);
    let new = match servers.is_some_and(Item::is_inline_table) {
        true => value(InlineTable::new()),
        false => Item::Table(Table::new()),
    };
    let mut without_header = Table::new();
    without_header.set_implicit(true);
    let servers = table(document.as_table_mut(), change.servers, Item::Table(without_header))?;
    let entry = table(servers, change.name, new)?;
    for field in &change.removed {
        entry.remove(field);
    }
    for field in &change.fields {
        let new = item(&field.value).map_err(|error| {
            let (servers, name, key) = (change.servers, change.name, field.key);
            format!("cannot write `{key}` of the entry `{servers}.{name}` as TOML: {error}")
        })?;
        match entry.get_mut(field.key).and_then(Item::as_value_mut) {
            // Keep the comment after the old value.
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
    Ok(())
}

/// The table under a key; inserts `new` if there is none.
fn table<'t>(
    parent: &'t mut dyn TableLike,
    key: &str,
    new: Item,
) -> Result<&'t mut dyn TableLike, String> {
    let there = parent.entry(key).or_insert(new);
    there.as_table_like_mut().ok_or_else(|| format!("`{key}` is not a table"))
}

fn item(json: &Value) -> Result<Item, String> {
    let serialized = json.serialize(ValueSerializer::new());
    serialized.map(value).map_err(|error| error.to_string())
}
