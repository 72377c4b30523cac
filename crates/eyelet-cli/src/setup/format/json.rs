//! JSON, with comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value, json};

use super::Change;
use crate::setup::entry::NAME;

/// What the clients take beside JSON itself; none takes more.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn read(text: &str) -> Result<Value, String> {
    let root = parse(text)?;
    Ok(root.to_serde_value().unwrap_or(Value::Null))
}

pub(super) fn merge(text: &str, change: &Change) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(snippet(change));
    }
    let root = parse(text)?;
    let no_table = || "it holds something else than a table of keys".to_owned();
    let top = root.object_value_or_create().ok_or_else(no_table)?;
    let servers = object(&top, change.servers).ok_or_else(no_table)?;
    if servers.get(NAME).is_none() {
        let fields = change.fields.iter();
        let fields = fields.map(|field| (field.key.to_owned(), input(&field.value)));
        servers.append(NAME, CstInputValue::Object(fields.collect()));
        return Ok(root.to_string());
    }
    let entry = object(&servers, NAME).ok_or_else(no_table)?;
    for field in &change.fields {
        match entry.get(field.key) {
            Some(there) => there.set_value(input(&field.value)),
            None => {
                entry.append(field.key, input(&field.value));
            }
        }
    }
    Ok(root.to_string())
}

pub(super) fn snippet(change: &Change) -> String {
    let fields = change.fields.iter().map(|field| (field.key.to_owned(), field.value.clone()));
    let entry: Map<_, _> = fields.collect();
    let file = json!({ change.servers: { NAME: entry } });
    // The same hand as `merge` writes with.
    CstRootNode::parse("", &OPTIONS).map_or_else(
        |_| format!("{file:#}\n"),
        |root| {
            root.set_value(input(&file));
            format!("{}\n", root.to_string().trim_end())
        },
    )
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| format!("it is not JSON: {error}"))
}

/// The object under a key, made where nothing or `null` is there.
fn object(parent: &CstObject, key: &str) -> Option<CstObject> {
    let value = parent.get(key).and_then(|property| property.value());
    if value.is_some_and(|value| value.as_null_keyword().is_some()) {
        return Some(parent.object_value_or_set(key));
    }
    parent.object_value_or_create(key)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(values) => {
            let fields = values.iter().map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(fields.collect())
        }
    }
}
