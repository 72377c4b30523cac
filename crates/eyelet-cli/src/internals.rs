//! What the property tests of this repository reach. It may change in any release.

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
    /// Every client's files.
    pub fn all() -> Vec<Self> {
        let scopes = [Scope::Project, Scope::User];
        let files =
            CLIENTS.iter().flat_map(|client| scopes.map(|scope| ClientFile { client, scope }));
        files.collect()
    }

    /// The key of the servers.
    pub fn servers(self) -> &'static str {
        self.client.servers
    }

    /// The content of a file as JSON.
    ///
    /// # Errors
    /// Fails if the file is invalid.
    pub fn read(self, text: &str) -> Result<Value, String> {
        self.client.format.read(text)
    }

    /// The file with eyelet's entry; `None` if it has the entry.
    ///
    /// # Errors
    /// Fails if the file is invalid, or has a layout that eyelet does not edit.
    pub fn merge(self, text: &str) -> Result<Option<String>, String> {
        let arguments = vec!["mcp".to_owned()];
        let fields = fields(self.client, NAME, arguments).map_err(|failure| failure.message)?;
        let Client { format, servers, .. } = self.client;
        Ok(format.merge(text, self.scope, servers, NAME, &fields)?.text)
    }

    /// The file without eyelet's entry.
    ///
    /// # Errors
    /// Fails if the file is invalid, or has a layout that eyelet does not edit.
    pub fn remove(self, text: &str) -> Result<String, String> {
        self.client.format.remove(text, self.client.servers, NAME)
    }
}
