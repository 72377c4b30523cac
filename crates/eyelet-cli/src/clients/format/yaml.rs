//! YAML: reads a file and prints an entry. No maintained crate edits YAML and keeps comments and layout.

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Value};

use crate::clients::entry::Change;

pub(super) fn read(text: &str) -> Result<Value, String> {
    let documents = Yaml::load_from_str(text).map_err(|error| format!("invalid YAML: {error}"))?;
    match documents.as_slice() {
        [] => Ok(Value::Null),
        [document] => value(document),
        [_, _, ..] => Err("more than one YAML document".to_owned()),
    }
}

fn value(yaml: &Yaml) -> Result<Value, String> {
    Ok(match yaml {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(flag)) => Value::Bool(*flag),
        Yaml::Value(Scalar::Integer(number)) => Value::from(*number),
        Yaml::Value(Scalar::FloatingPoint(number)) => Value::from(number.into_inner()),
        Yaml::Value(Scalar::String(text)) => Value::from(text.as_ref()),
        Yaml::Sequence(values) => values.iter().map(value).collect::<Result<_, _>>()?,
        Yaml::Mapping(values) => {
            let mut object = Map::new();
            for (key, inside) in values {
                let key = value(key)?;
                let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                object.insert(key, value(inside)?);
            }
            Value::Object(object)
        }
        Yaml::Tagged(_, inside) => value(inside)?,
        Yaml::Representation(..) | Yaml::Alias(_) | Yaml::BadValue => {
            return Err("unsupported YAML".to_owned());
        }
    })
}

/// Values are written as JSON, which is valid YAML.
pub(super) fn snippet(change: &Change) -> String {
    let mut text = format!("{}:\n  {}:\n", change.servers, change.name);
    for field in &change.fields {
        text.push_str(&format!("    {}: {}\n", field.key, field.value));
    }
    text
}
