//! The host's settings for the sandbox of commands.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use eyelet_sandbox::{Network, Strictness, Supervisor, Tier, TierChoice};

use crate::exec::nested_repositories::NestedRepositories;
use crate::saved_output::private_temp::PrivateTemp;

/// What commands may do. There is no default: a host has to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxPolicy {
    /// Commands are refused.
    Off,
    /// Commands can read files, and write only to their private temp directory.
    ReadOnly,
    /// Commands can write to the roots and to their private temp directory.
    WorkspaceWrite,
    /// Commands can do everything that the host process can: there is no sandbox.
    Full,
}

impl SandboxPolicy {
    /// The policy's name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            SandboxPolicy::Off => "off",
            SandboxPolicy::ReadOnly => "read-only",
            SandboxPolicy::WorkspaceWrite => "workspace-write",
            SandboxPolicy::Full => "full",
        }
    }
}

/// Protected paths in each root: programs would execute them later, outside of the sandbox. The
/// supervisor adds those of git.
pub(crate) const PROTECTED: &[&str] = &[
    ".mcp.json",
    ".claude",
    ".codex",
    ".gemini",
    ".vscode",
    ".cargo/config",
    ".cargo/config.toml",
];

/// How commands are supervised and sandboxed. A host creates one per session.
#[derive(Debug)]
pub struct SandboxSettings {
    pub(crate) supervisor: Supervisor,
    pub(crate) tier: TierChoice,
    pub(crate) network: Network,
    pub(crate) strictness: Strictness,
    pub(crate) environment_names: Vec<OsString>,
    /// The paths that `--deny` matched at the first command.
    pub(crate) denied_paths: OnceLock<Result<Vec<PathBuf>, String>>,
    /// The repositories below the roots at the first command.
    pub(crate) nested: NestedRepositories,
    pub(crate) private_temp: Option<Arc<PrivateTemp>>,
}

impl SandboxSettings {
    /// Runs commands under `supervisor`, without network access, additional variables or a
    /// private temp directory.
    pub fn new(supervisor: Supervisor) -> Self {
        SandboxSettings {
            supervisor,
            tier: TierChoice::Best,
            network: Network::Off,
            strictness: Strictness::Ordinary,
            environment_names: Vec::new(),
            denied_paths: OnceLock::new(),
            nested: NestedRepositories::default(),
            private_temp: None,
        }
    }

    /// Sets whether commands may use the network.
    #[must_use]
    pub fn with_network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Sets which files commands can read.
    #[must_use]
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Sets the sandbox tier.
    #[must_use]
    pub fn with_tier(mut self, tier: TierChoice) -> Self {
        self.tier = tier;
        self
    }

    /// Also passes these variables of the turn's environment to commands.
    #[must_use]
    pub fn with_environment_names(mut self, names: impl IntoIterator<Item = OsString>) -> Self {
        self.environment_names.extend(names);
        self
    }

    /// Sets the private temp directory of the session.
    #[must_use]
    pub fn with_private_temp(mut self, temp: Arc<PrivateTemp>) -> Self {
        self.private_temp = Some(temp);
        self
    }

    /// The sandbox tier, if it is known without probing the machine.
    pub(crate) fn tier(&self) -> Option<Tier> {
        match self.tier {
            TierChoice::Only(tier) => Some(tier),
            TierChoice::Best => self.supervisor.tier(),
        }
    }
}
