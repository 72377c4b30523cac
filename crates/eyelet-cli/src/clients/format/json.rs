//! JSON, with comments.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value, json};

use crate::clients::entry::Change;

/// The extensions of JSON that the clients accept.
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
    let there = read(text)?;
    let servers = there.get(change.servers).filter(|servers| !servers.is_null());
    let Some(servers) = servers else {
        return put(text, &[], change.servers, &json!({ change.name: entry(change) }));
    };
    if servers.get(change.name).is_none() {
        return put(text, &[change.servers], change.name, &entry(change));
    }
    let mut text = text.to_owned();
    let path = [change.servers, change.name];
    for field in &change.removed {
        text = remove(&text, &path, field)?;
    }
    for field in &change.fields {
        text = put(&text, &path, field.key, &field.value)?;
    }
    Ok(text)
}

fn entry(change: &Change) -> Value {
    let fields = change.fields.iter().map(|field| (field.key.to_owned(), field.value.clone()));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// The object at `path`.
fn object(root: &CstRootNode, path: &[&str]) -> Result<CstObject, String> {
    let mut object = root.object_value_or_create().ok_or("the top level is not an object")?;
    for step in path {
        let no_object = || format!("`{step}` is not an object");
        object = object.object_value(step).ok_or_else(no_object)?;
    }
    Ok(object)
}

/// Removes a key of the object at `path`.
pub(super) fn remove(text: &str, path: &[&str], key: &str) -> Result<String, String> {
    let root = parse(text)?;
    if let Some(property) = object(&root, path)?.get(key) {
        property.remove();
    }
    Ok(root.to_string())
}

/// Sets a key of the object at `path`.
fn put(text: &str, path: &[&str], key: &str, value: &Value) -> Result<String, String> {
    let root = parse(text)?;
    let object = object(&root, path)?;
    if let Some(property) = object.get(key) {
        property.set_value(input(value));
        return Ok(root.to_string());
    }
    if let Some(merged) = put_on_one_line(text, path, key, value) {
        return Ok(merged);
    }
    object.append(key, input(value));
    Ok(root.to_string())
}

/// Adds the key to a non-empty object on one line, which stays on one line.
fn put_on_one_line(text: &str, path: &[&str], key: &str, value: &Value) -> Option<String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).ok()?.value?;
    let mut object = parsed.as_object()?;
    for step in path {
        object = object.get_object(step)?;
    }
    let is_one_line = !text.get(object.range.start..object.range.end)?.contains('\n');
    let last = object.properties.last().filter(|_| is_one_line)?;
    let (before, after) = text.split_at_checked(last.range.end)?;
    Some(format!("{before}, {}: {value}{after}", json!(key)))
}

pub(super) fn snippet(change: &Change) -> String {
    let file = json!({ change.servers: { change.name: entry(change) } });
    // The same layout as that of `merge`.
    let Ok(root) = parse("") else { return format!("{file:#}\n") };
    root.set_value(input(&file));
    format!("{}\n", root.to_string().trim_end())
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| format!("invalid JSON: {error}"))
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
