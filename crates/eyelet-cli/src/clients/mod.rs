//! The MCP clients that `eyelet setup` configures.

mod check;
mod client_list;
mod config_file;
mod entry;
mod format;

pub(crate) use check::check;
pub(crate) use client_list::{CLIENTS, Client, Format, Scope, client_named};
pub(crate) use config_file::{read, replace};
pub(crate) use entry::{Field, fields, generic_entry, http_entry};
