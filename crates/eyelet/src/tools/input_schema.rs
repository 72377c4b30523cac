//! The parts of the JSON schemas that all tools share.

use serde_json::{Value, json};

/// An object with these properties and no others.
pub(super) fn object(required: &str, properties: Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": [required],
        "additionalProperties": false
    })
}

/// The same without a required property.
pub(super) fn optional_object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

pub(super) fn string(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

pub(super) fn whole_number(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": description })
}

pub(super) fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

/// One of these names.
pub(super) fn name(names: &[&str], description: &str) -> Value {
    json!({ "type": "string", "enum": names, "description": description })
}
