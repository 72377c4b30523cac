//! Names that models use for arguments, beside those of the schema.
//!
//! An argument type derives its parser with `#[serde(remote = "Self")]` and implements `Deserialize` with
//! [`deserialize_with_names`]. The parser itself then sees only the names of the schema, and its errors list no others.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, IntoDeserializer as _, MapAccess, Visitor,
};
use serde::forward_to_deserialize_any;

/// A name that is not in the schema, and what to do with it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OtherName {
    /// Stands for this name of the schema.
    Means(&'static str),
    /// Its value has no effect.
    Ignored,
    /// Refused with advice.
    Refused(&'static str),
}

/// What each further name means.
pub(crate) type OtherNames = &'static [(&'static str, OtherName)];

/// Parses with `parse`, which sees only names of the schema.
pub(crate) fn deserialize_with_names<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    names: OtherNames,
    parse: impl FnOnce(WithNames<D>) -> Result<T, D::Error>,
) -> Result<T, D::Error> {
    parse(WithNames { inner: deserializer, names })
}

/// A deserializer, visitor or map whose names are translated.
pub(crate) struct WithNames<I> {
    inner: I,
    names: OtherNames,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for WithNames<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let visitor = WithNames { inner: visitor, names: self.names };
        self.inner.deserialize_struct(name, fields, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for WithNames<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        self.inner.visit_map(WithNames { inner: map, names: self.names })
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithNames<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        while let Some(name) = self.inner.next_key::<String>()? {
            let meant = match self.names.iter().find(|(other, _)| *other == name) {
                None => name,
                Some((_, OtherName::Means(meant))) => (*meant).to_owned(),
                Some((_, OtherName::Ignored)) => {
                    self.inner.next_value::<IgnoredAny>()?;
                    continue;
                }
                Some((_, OtherName::Refused(advice))) => {
                    let message = format!("unknown field `{name}` ({advice})");
                    return Err(Self::Error::custom(message));
                }
            };
            return seed.deserialize(meant.into_deserializer()).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, Self::Error> {
        self.inner.next_value_seed(seed)
    }
}
