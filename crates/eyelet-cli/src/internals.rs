//! Internal functions for the property tests of this repository. They may change in any release.

use serde_json::Value;

use crate::clients::{CLIENTS, Client, Scope, fields};

/// A client that `eyelet setup` configures, and the scope of its config file.
#[derive(Clone, Copy, Debug)]
pub struct ClientFile {
    client: &'static Client,
    scope: Scope,
}

/// The name of the entry that the tests add.
const NAME: &str = "eyelet";

impl ClientFile {
    /// Returns the config files of all clients.
    pub fn all() -> Vec<Self> {
        let scopes = [Scope::Project, Scope::User];
        let files =
            CLIENTS.iter().flat_map(|client| scopes.map(|scope| ClientFile { client, scope }));
        files.collect()
    }

    /// Returns the key under which the config file lists servers.
    pub fn servers(self) -> &'static str {
        self.client.servers
    }

    /// Parses the text of a config file and returns its content as JSON.
    ///
    /// # Errors
    /// Fails if the file is invalid.
    pub fn read(self, text: &str) -> Result<Value, String> {
        self.client.format.read(text)
    }

    /// Adds eyelet's entry to the text of a config file and returns the new text. Returns `None` if
    /// the text already contains the entry.
    ///
    /// # Errors
    /// Fails if the file is invalid, or has a layout that eyelet does not edit.
    pub fn merge(self, text: &str) -> Result<Option<String>, String> {
        let arguments = vec!["mcp".to_owned()];
        let fields = fields(self.client, NAME, arguments).map_err(|failure| failure.message)?;
        let Client { format, servers, .. } = self.client;
        Ok(format.merge(text, self.scope, servers, NAME, &fields)?.text)
    }

    /// Removes eyelet's entry from the text of a config file and returns the new text.
    ///
    /// # Errors
    /// Fails if the file is invalid, or has a layout that eyelet does not edit.
    pub fn remove(self, text: &str) -> Result<String, String> {
        self.client.format.remove(text, self.client.servers, NAME)
    }
}
