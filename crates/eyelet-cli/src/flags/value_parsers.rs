//! Parsers of flag values.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use eyelet::ReplyBudget;

/// Accepts the given names, and returns the value of the name.
pub(super) fn one_of<T: Copy + Send + Sync>(
    values: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(values.iter().map(|(name, _)| *name));
    names.try_map(|given| {
        let found = values.iter().find(|(name, _)| *name == given);
        found.map(|(_, value)| *value).ok_or("unknown name")
    })
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
