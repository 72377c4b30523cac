//! The flags of `eyelet setup`.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::clients::{CLIENTS, Scope};

pub(crate) const AFTER_HELP: &str = "The project is the working directory; `eyelet --cwd DIR setup` \
    selects another one. For goose, add the printed entry by hand: --write and --remove do not edit YAML files. \
    Exit code: 0 on success, 1 if --write, --remove or --check fails, 2 if the command line is invalid.";

#[derive(Debug, Args)]
pub(crate) struct SetupFlags {
    /// Client to set up
    #[arg(
        required_unless_present = "list",
        value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
    )]
    pub(crate) client: Option<String>,
    /// Add the entry to the client's config file and print the changed lines; the old file is saved
    /// beside it
    #[arg(long)]
    pub(crate) write: bool,
    /// Remove this project's entry from the client's config file; the old file is saved beside it
    #[arg(long, conflicts_with_all = ["write", "arguments"])]
    pub(crate) remove: bool,
    /// Check that the client has an entry for this project and that the server answers
    #[arg(long, conflicts_with_all = ["write", "remove"])]
    pub(crate) check: bool,
    /// List the clients and their config files; * marks the default file
    #[arg(long, conflicts_with_all = ["client", "write", "remove", "check", "scope", "arguments"])]
    pub(crate) list: bool,
    /// Use the config file of the project or of the user [default: see --list; --check reads both]
    #[arg(long, value_enum)]
    pub(crate) scope: Option<Scope>,
    /// More arguments for the server, such as --deny '*.key'
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
}
