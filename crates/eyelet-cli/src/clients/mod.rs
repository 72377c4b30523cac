//! The MCP clients that `eyelet setup` configures.

mod check;
mod client_list;
mod config_file;
mod entry;
mod format;
mod launch_command;

pub(crate) use check::check;
pub(crate) use client_list::{CLIENTS, Client, Format, Scope, Starts, client_named};
pub(crate) use config_file::{read, replace};
pub(crate) use entry::{Executable, fields, generic_entry, http_entry};
pub(crate) use launch_command::{Slot, required_root, slot};
