//! Output that is too long to show, saved to private files; the commands' private temp folder.

#![expect(clippy::disallowed_methods, reason = "creates and removes private files")]

pub(crate) mod output_store;
pub(crate) mod private_dir;
pub(crate) mod private_temp;
