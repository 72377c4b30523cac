//! Limits on compiled patterns, shared by both ways to match a line.

/// A pattern that compiles to more bytes is refused. This is ripgrep's own limit.
pub(crate) const MAX_COMPILED_BYTES: usize = 100 * 1024 * 1024;
/// Of the patterns that compile to more bytes, one compiles at a time.
pub(crate) const LARGE_COMPILED_BYTES: usize = 10 * 1024 * 1024;
/// The most bytes of states that a search computes and caches while it runs.
pub(crate) const MAX_CACHE_BYTES: usize = 10 * 1024 * 1024;
/// Groups nested deeper than this are refused, as in ripgrep.
pub(crate) const MAX_NESTING: u32 = 250;
