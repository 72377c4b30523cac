//! The flags of `eyelet call`.

use std::ffi::OsString;

use clap::Args;
use eyelet::limits::MAX_ARGUMENT_BYTES;

use super::context::ContextFlags;

#[derive(Debug, Args)]
pub(crate) struct CallFlags {
    /// The tool's name; `eyelet tools` lists them
    pub(crate) tool: OsString,
    #[arg(value_name = "JSON", help = format!(
        "Its arguments, a JSON object of at most {MAX_ARGUMENT_BYTES} bytes; - reads it from stdin"
    ))]
    pub(crate) arguments: OsString,
    /// Print the text that a model would read instead; errors go to stderr
    #[arg(long)]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) context: ContextFlags,
}
