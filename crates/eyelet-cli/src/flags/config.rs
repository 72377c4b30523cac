//! The flags of `eyelet config`.

use clap::Args;

use super::mcp::McpFlags;

pub(crate) const AFTER_HELP: &str = "The server (`eyelet mcp`) takes a value from a flag, else from \
    a variable, else from $XDG_CONFIG_HOME/eyelet/config.toml (~/.config/eyelet/config.toml): \
    --spill-bytes, EYELET_SPILL_BYTES, spill_bytes = N. Lists are joined with `:` in a variable. \
    What --deny hides adds up over all of them. Nothing is read from the project. For `call` and \
    the commands for a person only flags count.";

/// Has the flags of the server, which `config` reads by name.
#[derive(Debug, Args)]
pub(crate) struct ConfigFlags {
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: McpFlags,
}
