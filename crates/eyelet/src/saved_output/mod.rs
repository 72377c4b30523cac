//! Output that is too long to show, saved to private files.

#![expect(clippy::disallowed_methods, reason = "creates and removes private files")]

pub(crate) mod output_store;
pub(crate) mod private_dir;
