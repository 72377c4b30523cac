//! The host's settings for the sandbox of commands.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use eyelet_sandbox::{Network, Strictness, Supervisor, Tier, TierChoice};

use crate::environment::Environment;
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

/// Variables that sandboxed commands get, in addition to those that start with `LC_`.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    // Locations of toolchains.
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CONDA_PREFIX",
    "DENO_DIR",
    "DOTNET_ROOT",
    "FNM_DIR",
    "GEM_HOME",
    "GEM_PATH",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GOTOOLCHAIN",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "M2_HOME",
    "MAVEN_HOME",
    "MISE_DATA_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
    "NODE_PATH",
    "NVM_BIN",
    "NVM_DIR",
    "OPAMROOT",
    "PNPM_HOME",
    "POETRY_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "STACK_ROOT",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    // Certificates; no secrets.
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// Variables that sandboxed commands never get, even if requested: they cause code to run.
const NEVER: &[&str] = &["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "TMPDIR"];
const NEVER_PREFIXES: &[&str] = &["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG"];

/// Variables that sandboxed commands always get. The supervisor sets `TMPDIR`.
const ALWAYS: &[(&str, &str)] =
    &[("TERM", "dumb"), ("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

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

    /// The environment of a sandboxed command.
    pub(crate) fn environment(&self, turn: &Environment) -> Vec<(OsString, OsString)> {
        let is_taken = |name: &OsStr| {
            let text = name.to_string_lossy();
            let is_requested = self.environment_names.iter().any(|requested| requested == name);
            let is_never = NEVER.contains(&text.as_ref())
                || NEVER_PREFIXES.iter().any(|prefix| text.starts_with(prefix));
            !is_never
                && (is_requested || text.starts_with("LC_") || ALLOWED.contains(&text.as_ref()))
        };
        let own = |(name, _): &(&OsStr, &OsStr)| !ALWAYS.iter().any(|(always, _)| name == always);
        let taken = turn.iter().filter(|(name, _)| is_taken(name)).filter(own);
        let always = ALWAYS.iter().map(|(name, value)| (name.into(), value.into()));
        taken.map(|(name, value)| (name.to_owned(), value.to_owned())).chain(always).collect()
    }
}
