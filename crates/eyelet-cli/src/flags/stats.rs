//! The flags of `eyelet stats`.

use std::path::PathBuf;

use clap::Args;

use super::value_parsers::whole_number;

pub(crate) const AFTER_HELP: &str = "FILE is a file that `eyelet mcp --record FILE` has written; \
    FILE.1 in the same directory has older calls. docs/records.md explains the report.";

#[derive(Debug, Args)]
pub(crate) struct StatsFlags {
    /// Files that `eyelet mcp --record` has written
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the report as an HTML page to OUT, replacing the file
    #[arg(long, value_name = "OUT", conflicts_with = "json")]
    pub(crate) html: Option<PathBuf>,
    /// Show at most N rows of each table
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole_number)]
    pub(crate) limit: u64,
}
