//! The names of enum values: one table per enum gives `as_str`, `ALL`, `NAMES`, `Display` and
//! `FromStr`.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::Visitor;

/// The error of `FromStr` for an enum: no value of the enum has the given name. `Display` lists the
/// valid names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    given: String,
    expected: &'static [&'static str],
}

impl UnknownName {
    /// Creates the error for the text `given`. `what` says what the text should name, such as
    /// `search engine`; `expected` contains the valid names.
    pub fn new(what: &'static str, given: &str, expected: &'static [&'static str]) -> Self {
        UnknownName { what, given: given.to_owned(), expected }
    }

    /// Returns the text that is not a valid name.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// Returns the valid names.
    pub fn expected(&self) -> &'static [&'static str] {
        self.expected
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownName { what, given, expected } = self;
        write!(f, "unknown {what} `{}`, expected one of ", given.escape_debug())?;
        f.write_str(&expected.join(", "))
    }
}

impl Error for UnknownName {}

/// Gives each value of an enum a name: `named!(Keep, "part of a stream", { Head = "head", … })`.
macro_rules! named {
    ($type:ty, $what:literal, { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name of each value, in the order of `ALL`.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Returns the name of this value. `Display` writes this name, and `FromStr` parses it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::names::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err($crate::names::UnknownName::new($what, text, Self::NAMES)),
                }
            }
        }
    };
}

pub(crate) use named;

/// Lets a [`named!`] enum be an argument of a tool: a JSON string with one of its names.
macro_rules! named_argument {
    ($type:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str($crate::names::NameVisitor::new(Self::NAMES))
            }
        }
    };
}

pub(crate) use named_argument;

/// Parses a name. A derived `Deserialize` would accept a JSON object too.
pub(crate) struct NameVisitor<T> {
    names: &'static [&'static str],
    parsed: PhantomData<T>,
}

impl<T> NameVisitor<T> {
    pub(crate) fn new(names: &'static [&'static str]) -> Self {
        NameVisitor { names, parsed: PhantomData }
    }
}

impl<T: FromStr> Visitor<'_> for NameVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<T, E> {
        name.parse().map_err(|_| E::unknown_variant(name, self.names))
    }
}
