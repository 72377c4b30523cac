//! Lenient parsing of the arguments that models send, for `#[serde(deserialize_with = "…")]`.
//!
//! ```
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Args {
//!     path: String,
//!     #[serde(default, deserialize_with = "eyelet::args::number")]
//!     limit: Option<u64>,
//! }
//!
//! let args: Args = serde_json::from_str(r#"{"path":"a","limit":"25"}"#)?;
//! assert_eq!(args.limit, Some(25));
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{
    DeserializeOwned, Deserializer, Error, IgnoredAny, IntoDeserializer as _, MapAccess,
    Unexpected, Visitor,
};
use serde_json::value::RawValue;

use crate::error::{ErrorCode, ToolError};
use crate::limits::MAX_ARGUMENT_BYTES;
use crate::text::escape;

/// Parses the JSON text of a call into a tool's arguments. All errors have the same form.
pub(crate) fn parse<A: DeserializeOwned>(arguments: &str) -> Result<A, ToolError> {
    if arguments.len() > MAX_ARGUMENT_BYTES {
        return Err(ToolError::new(
            ErrorCode::TooLarge,
            format!(
                "arguments are too large: {} bytes, the maximum is {MAX_ARGUMENT_BYTES}",
                arguments.len()
            ),
        ));
    }
    // A derived struct would also accept a JSON array of its fields.
    let first = arguments.trim_start_matches([' ', '\t', '\n', '\r']).chars().next();
    let parsed = match first {
        Some('{') | None => serde_json::from_str(arguments),
        Some(_) => serde_json::from_str::<IgnoredAny>(arguments)
            .and_then(|_| Err(serde_json::Error::custom("expected a JSON object"))),
    };
    parsed.map_err(|error| {
        let field = field_of(&error, arguments).map(|name| format!("`{name}`: "));
        let field = field.unwrap_or_default();
        ToolError::invalid_input(format!("failed to parse function arguments: {field}{error}"))
    })
}

/// The field whose value caused the error. Errors about a field's name contain the name already.
fn field_of(error: &serde_json::Error, arguments: &str) -> Option<String> {
    let before = arguments.split_inclusive('\n').take(error.line().checked_sub(1)?);
    let place = before.map(str::len).sum::<usize>() + error.column();
    let found = serde_json::Deserializer::from_str(arguments)
        .deserialize_map(FieldAt { arguments, place })
        .ok()?;
    found.map(|name| escape::text(&name).into_owned())
}

/// Finds the field whose value is at a position in the text.
struct FieldAt<'a> {
    arguments: &'a str,
    place: usize,
}

impl<'de> Visitor<'de> for FieldAt<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            let start = value.get().as_ptr() as usize - self.arguments.as_ptr() as usize;
            if (start..=start + value.get().len()).contains(&self.place) && found.is_none() {
                found = Some(name);
            }
        }
        Ok(found)
    }
}

/// Parses an optional whole number. `25`, `25.0` and `"25"` mean the same number; `null` and a
/// blank string mean `None`.
///
/// # Errors
/// Fails if the value is not a whole number from 0 to 2^64 - 1.
pub fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(NumberVisitor)
}

/// Parses an optional boolean. `true` and the string `"true"` mean the same, and so do `false` and
/// `"false"`; `null` and a blank string mean `None`.
///
/// # Errors
/// Fails if the value is not one of these.
pub fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    deserializer.deserialize_any(FlagVisitor)
}

/// Parses an optional string. A blank string and `null` mean `None`.
///
/// # Errors
/// Fails if the value is not a string.
pub fn blank_as_none<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text: Option<String> = Deserialize::deserialize(deserializer)?;
    Ok(text.filter(|text| !is_blank(text)))
}

/// Parses an optional value from a string, such as a variant of an enum from its name. A blank
/// string and `null` mean `None`.
///
/// # Errors
/// Fails if the value is not a string, or if the type `T` does not accept the string.
pub fn blank_name_as_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_option(BlankOrName(PhantomData))
}

/// Parses inside the visitor, so that errors have the position of the value.
struct BlankOrName<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for BlankOrName<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        if is_blank(text) {
            return Ok(None);
        }
        T::deserialize(text.to_owned().into_deserializer()).map(Some)
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

struct FlagVisitor;

impl Visitor<'_> for FlagVisitor {
    type Value = Option<bool>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true or false")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        match text.trim() {
            "" => Ok(None),
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 to 18446744073709551615")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        u64::try_from(value)
            .map(Some)
            .map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        // 2^64 is the first float that does not fit; below it the cast is exact.
        if value.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&value) {
            Ok(Some(value as u64))
        } else {
            Err(E::invalid_value(Unexpected::Float(value), &self))
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        if is_blank(text) {
            return Ok(None);
        }
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(value) if digits => Ok(Some(value)),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}
