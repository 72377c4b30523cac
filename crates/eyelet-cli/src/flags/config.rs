//! The flags of `eyelet config`.

use clap::Args;

use super::mcp::McpFlags;

pub(crate) const AFTER_HELP: &str = "`eyelet mcp` takes each setting from a flag (--spill-bytes N), \
    else from an environment variable (EYELET_SPILL_BYTES=N), else from the user's config file \
    (spill_bytes = N): $XDG_CONFIG_HOME/eyelet/config.toml, by default ~/.config/eyelet/config.toml. In a \
    variable, `:` separates the items of a list; in EYELET_ALLOW_HOST, `,` separates them. eyelet merges the \
    deny lists of all three sources. eyelet never reads a config file from the project. Commands other than \
    `mcp` and `config` use flags only. With --allow-host registries, `eyelet config` also prints the hosts that \
    `registries` stands for.";

/// Has the flags of the server, which `config` reads by name.
#[derive(Debug, Args)]
pub(crate) struct ConfigFlags {
    /// Print the settings as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: McpFlags,
}
