//! The host's settings for the sandbox of commands.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use eyelet_sandbox::{MemoryLimit, Network, Strictness, Supervisor, Tier, TierChoice};

use crate::exec::sandboxed::denied_paths::DeniedPaths;
use crate::exec::sandboxed::package_caches::PackageCaches;
use crate::exec::sandboxed::private_temp::PrivateTemp;
use crate::exec::sandboxed::proxy::allowed_hosts::AllowedHosts;
use crate::exec::sandboxed::repository_search::RepositorySearch;
use crate::exec::sandboxed::session_network::SessionNetwork;
use crate::paths::root::Root;

/// The settings for the supervisor and the sandbox of commands. A host creates one value for each
/// session.
#[derive(Debug)]
pub struct SandboxSettings {
    pub(crate) supervisor: Supervisor,
    pub(crate) tier: TierChoice,
    pub(crate) network: Network,
    pub(crate) strictness: Strictness,
    pub(crate) memory: MemoryLimit,
    pub(crate) environment_names: Vec<OsString>,
    pub(crate) denied_paths: DeniedPaths,
    pub(crate) repositories: RepositorySearch,
    pub(crate) private_temp: Option<Arc<PrivateTemp>>,
    pub(crate) session_network: Arc<SessionNetwork>,
    pub(crate) writable: Vec<Arc<Root>>,
    pub(crate) package_caches: Option<Arc<PackageCaches>>,
}

impl SandboxSettings {
    /// Creates settings that run commands under `supervisor`, without network access, additional
    /// variables or a private temp directory.
    pub fn new(supervisor: Supervisor) -> Self {
        SandboxSettings {
            supervisor,
            tier: TierChoice::Best,
            network: Network::Off,
            strictness: Strictness::Ordinary,
            memory: MemoryLimit::default(),
            environment_names: Vec::new(),
            denied_paths: DeniedPaths::default(),
            repositories: RepositorySearch::default(),
            private_temp: None,
            session_network: Arc::default(),
            writable: Vec::new(),
            package_caches: None,
        }
    }

    /// Sets whether commands may use the network. Overrides an earlier
    /// [`with_allowed_hosts`](Self::with_allowed_hosts).
    #[must_use]
    pub fn with_network(mut self, network: Network) -> Self {
        self.network = network;
        self.session_network = Arc::default();
        self
    }

    /// Lets commands connect to these hosts only, through a proxy in this process. Requires the
    /// first [tier](eyelet_sandbox::Tier) of the sandbox: in the second tier, and under the policy
    /// `full`, eyelet refuses to run commands. Overrides an earlier
    /// [`with_network`](Self::with_network).
    #[must_use]
    pub fn with_allowed_hosts(mut self, hosts: AllowedHosts) -> Self {
        self.network = Network::Off;
        self.session_network = Arc::new(SessionNetwork::new(Some(hosts)));
        self
    }

    /// Sets which files commands can read.
    #[must_use]
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Sets how much memory the processes of one command may use together. The supervisor checks
    /// the memory four times a second, also under the policy `full`, and kills a command that uses
    /// more.
    #[must_use]
    pub fn with_memory_limit(mut self, limit: MemoryLimit) -> Self {
        self.memory = limit;
        self
    }

    /// Sets the tier of the sandbox, or lets the supervisor choose the best tier.
    #[must_use]
    pub fn with_tier(mut self, tier: TierChoice) -> Self {
        self.tier = tier;
        self
    }

    /// Passes these variables of the turn's environment to sandboxed commands, in addition to the
    /// variables that are allowed by default.
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

    /// Under the policy `workspace-write`, lets commands write to this directory as if it were a
    /// root. The other tools cannot access the directory.
    #[must_use]
    pub fn with_writable(mut self, directory: Root) -> Self {
        self.writable.push(Arc::new(directory));
        self
    }

    /// Redirects the caches of npm, pip, Go and cargo to directories in `folder`, such as
    /// `~/.cache/eyelet`: one directory for each root. eyelet removes directories that were not used
    /// for 30 days. Without this setting, package managers fail if they write to their caches.
    #[must_use]
    pub fn with_cache_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.package_caches = Some(Arc::new(PackageCaches::new(folder.into())));
        self
    }

    /// The same settings with a private temp directory, a network and searches of its own: the repositories and denied
    /// files that exist when its first command starts are protected.
    pub(crate) fn for_another_session(&self) -> Self {
        let temp = self.private_temp.as_ref().map(|temp| Arc::new(temp.for_another_session()));
        SandboxSettings {
            supervisor: self.supervisor.clone(),
            tier: self.tier,
            network: self.network,
            strictness: self.strictness,
            memory: self.memory,
            environment_names: self.environment_names.clone(),
            denied_paths: DeniedPaths::default(),
            repositories: RepositorySearch::default(),
            private_temp: temp,
            session_network: Arc::new(SessionNetwork::new(self.session_network.hosts.clone())),
            writable: self.writable.clone(),
            package_caches: self.package_caches.clone(),
        }
    }

    /// Removes the private temp directory and releases the network now.
    pub(crate) fn end_session(&self) {
        self.session_network.close();
        if let Some(temp) = &self.private_temp {
            temp.close();
        }
    }

    /// Describes the hosts that commands can reach over the network. `None` if they can reach none.
    pub(crate) fn network_in_words(&self) -> Option<String> {
        match (self.network, &self.session_network.hosts) {
            (_, Some(hosts)) => Some(format!("with network access only to {}", hosts.in_words())),
            (Network::On, None) => Some("with network access".to_owned()),
            _ => None,
        }
    }

    /// Whether commands are refused because allowed hosts require namespaces, which this machine does not allow.
    pub(crate) fn lacks_namespaces_for_hosts(&self) -> bool {
        self.session_network.hosts.is_some() && self.tier() == Some(Tier::Landlock)
    }

    /// Whether commands may use the network.
    pub(crate) fn has_network(&self) -> bool {
        self.has_callers_network() || self.session_network.hosts.is_some()
    }

    /// Whether commands use the caller's network, with its proxies.
    pub(crate) fn has_callers_network(&self) -> bool {
        self.network == Network::On
    }

    /// Whether commands can write to directories beside the roots.
    pub(crate) fn has_writable(&self) -> bool {
        !self.writable.is_empty()
    }

    /// The private temp directory as a root, if it was created.
    pub(crate) fn private_temp_root(&self) -> Option<Arc<Root>> {
        self.private_temp.as_ref().filter(|temp| temp.is_created())?.root(self.tier())
    }

    /// The sandbox tier. Examines the machine if it is not known.
    fn tier(&self) -> Option<Tier> {
        match self.tier {
            TierChoice::Only(tier) => Some(tier),
            TierChoice::Best => self.supervisor.tier(),
        }
    }
}
