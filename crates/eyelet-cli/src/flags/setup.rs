//! The flags of `eyelet setup`.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::clients::{CLIENTS, Scope};

pub(crate) const AFTER_HELP: &str = "The project is the working directory, or what --cwd before \
    the command says. Exit status: 0 done, or set up; 1 not; 2 wrong command line.";

#[derive(Debug, Args)]
pub(crate) struct SetupFlags {
    /// The client that is to start the server
    #[arg(
        required_unless_present = "list",
        value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
    )]
    pub(crate) client: Option<String>,
    /// Put the entry into the client's file and leave the rest of it as it is; the old file is
    /// kept beside it
    #[arg(long)]
    pub(crate) write: bool,
    /// Say whether the client is set up and the server starts
    #[arg(long, conflicts_with = "write")]
    pub(crate) check: bool,
    /// List the clients and their files; * marks the file that is meant where --scope is not said
    #[arg(long, conflicts_with_all = ["client", "write", "check", "scope", "arguments"])]
    pub(crate) list: bool,
    /// The file in the project or the one in the home [default: see --list; --check looks into both]
    #[arg(long, value_enum)]
    pub(crate) scope: Option<Scope>,
    /// More arguments of the server, such as -- --deny '*.pem'
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
}
