//! Parsers of flag values.

use std::error::Error;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use eyelet::ReplyBudget;

/// Accepts the names of `T`, which the help lists, and returns the value of the name.
pub(super) fn one_of<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Error + Send + Sync> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|given| given.parse())
}

/// Replaces clap's parser for numbers, whose errors do not name the valid range.
pub(super) fn whole_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

pub(super) fn reply_bytes(text: &str) -> Result<usize, String> {
    let least = ReplyBudget::MIN_BYTES;
    let bytes = text.parse().ok().filter(|bytes| *bytes >= least);
    bytes.ok_or_else(|| format!("expected a whole number of at least {least}"))
}
