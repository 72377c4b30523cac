//! A change to a client's file.

use crate::clients::entry::Field;

/// The fields to set in the entry of this server.
pub(super) struct Change<'c> {
    /// The key of the servers in the file.
    pub(super) servers: &'c str,
    /// The fields that the entry lacks or has with another value.
    pub(super) fields: Vec<&'c Field>,
}
