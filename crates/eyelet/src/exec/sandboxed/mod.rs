//! Commands under a supervisor, in a sandbox. All code that uses `eyelet_sandbox` is here. Without the feature
//! `sandbox`, `exec/unsandboxed.rs` takes its place.

use std::sync::Arc;

use crate::context::TurnContext;
use crate::exec::sandboxed::settings::SandboxSettings;

mod allowed_variables;
mod denied_paths;
mod hidden_paths;
mod npm_settings;
mod package_caches;
pub(crate) mod private_temp;
pub(crate) mod proxy;
mod proxy_variables;
mod repository_search;
pub(crate) mod sandbox_request;
mod session_network;
pub(crate) mod settings;
pub(crate) mod supervised_process;

impl TurnContext {
    /// Sets the supervisor (the process that starts and kills commands) and the settings of the
    /// sandbox. Without these settings, eyelet runs commands only under the policy `full`, each in a
    /// process group and without a supervisor.
    #[must_use]
    pub fn with_sandbox_settings(mut self, settings: Arc<SandboxSettings>) -> Self {
        self.settings = Some(settings);
        self
    }
}
