//! The flags of `eyelet config`.

use clap::Args;

use super::mcp::McpFlags;

pub(crate) const AFTER_HELP: &str = "`eyelet mcp` takes each setting from a flag (--spill-bytes N), \
    else from a variable (EYELET_SPILL_BYTES=N), else from the user's config file (spill_bytes = N): \
    $XDG_CONFIG_HOME/eyelet/config.toml, by default ~/.config/eyelet/config.toml. In a variable, `:` \
    separates the items of a list, and `,` those of EYELET_ALLOW_HOST. Deny lists are merged. eyelet reads no config file of the project. \
    All other commands use flags only. With --allow-host registries, the hosts that it stands for are \
    printed, too.";

/// Has the flags of the server, which `config` reads by name.
#[derive(Debug, Args)]
pub(crate) struct ConfigFlags {
    /// Print the settings as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: McpFlags,
}
