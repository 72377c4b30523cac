//! How arguments are read: leniently where models are careless, strictly where a slip would pass
//! in silence.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, Unexpected, Visitor};
use serde_json::value::RawValue;

use crate::error::{ErrorCode, ToolError};
use crate::limits::MAX_ARGUMENT_BYTES;

/// Parses the JSON text of a call into a tool's arguments. One wording for every way to fail.
pub(crate) fn parse<A: DeserializeOwned>(arguments: &str) -> Result<A, ToolError> {
    if arguments.len() > MAX_ARGUMENT_BYTES {
        return Err(ToolError::new(
            ErrorCode::TooLarge,
            format!("arguments are {} bytes, above {MAX_ARGUMENT_BYTES}", arguments.len()),
        ));
    }
    // A derived struct would also take a JSON array, field by field in order.
    let first = arguments.trim_start_matches([' ', '\t', '\n', '\r']).chars().next();
    let parsed = match first {
        Some('{') | None => serde_json::from_str(arguments),
        Some(_) => serde_json::from_str::<IgnoredAny>(arguments)
            .and_then(|_| Err(serde_json::Error::custom("expected a JSON object"))),
    };
    parsed.map_err(|error| {
        let field = blamed::<A>(arguments, &error).unwrap_or_default();
        ToolError::invalid_input(format!("failed to parse function arguments: {field}{error}"))
    })
}

/// The field whose value is refused, as `name: `: the one that is refused in the same words when it
/// comes alone. Serde names fields that are missing, unknown or doubled, but not this one.
fn blamed<A: DeserializeOwned>(arguments: &str, error: &serde_json::Error) -> Option<String> {
    let complaint = without_place(error);
    if !["invalid ", "unknown variant "].iter().any(|refused| complaint.starts_with(refused)) {
        return None;
    }
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(arguments).ok()?;
    let is_blamed = |(name, value): &(String, &RawValue)| {
        let alone = BTreeMap::from([(name, value)]);
        let refused = serde_json::to_string(&alone)
            .ok()
            .and_then(|alone| serde_json::from_str::<A>(&alone).err());
        refused.is_some_and(|refused| without_place(&refused) == complaint)
    };
    fields.into_iter().find(is_blamed).map(|(name, _)| format!("`{name}`: "))
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(words, _)| words).to_owned()
}

/// A whole number that may come as `25`, `25.0` or `"25"`; `null` is none.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(NumberVisitor)
}

/// A string of which the empty one means that it is absent; `null` is none too.
pub(crate) fn blank_as_none<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text: Option<String> = serde::Deserialize::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
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
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(value) if digits => Ok(Some(value)),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}
