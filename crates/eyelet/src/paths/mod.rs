//! Confined paths: which paths a call may open, and opening them inside the roots.

#![expect(clippy::disallowed_methods, reason = "opens the paths that were checked")]

pub(crate) mod confined_path;
pub(crate) mod deny_list;
pub(crate) mod open_beneath;
pub(crate) mod resolve;
pub(crate) mod root;
pub(crate) mod secret_table;
mod secrets;
