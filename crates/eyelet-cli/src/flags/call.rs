//! The flags of `eyelet call`.

use std::ffi::OsString;

use clap::Args;
use eyelet::limits::MAX_ARGUMENT_BYTES;

use super::context::ContextFlags;

#[derive(Debug, Args)]
pub(crate) struct CallFlags {
    /// Name of the tool; `eyelet tools` lists all tools
    pub(crate) tool: OsString,
    #[arg(value_name = "JSON", help = format!(
        "Arguments as a JSON object; - reads them from stdin [maximum: {MAX_ARGUMENT_BYTES} bytes]"
    ))]
    pub(crate) arguments: OsString,
    /// Print the reply as plain text, as a model receives it; print errors to stderr
    #[arg(long)]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) context: ContextFlags,
}
