//! All contact with the system. A path comes in as a [`confine::ConfinedPath`], never as a string.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that opens files, starts processes and asks the system"
)]

pub(crate) mod confine;
pub(crate) mod dir;
pub(crate) mod file;
pub(crate) mod scan;
pub(crate) mod spill;
