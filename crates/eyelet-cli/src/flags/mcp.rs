//! The flags of `eyelet mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use eyelet::{DefinitionFormat, ReplyBudget};
use eyelet_mcp::ReplyForm;

use super::context::ContextFlags;
use super::value_parsers::{one_of, reply_bytes};
use crate::log::LogForm;

#[derive(Debug, Args)]
pub(crate) struct McpFlags {
    /// Offer only these tools, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Send replies as plain text (text), as JSON in the text (envelope), or as JSON in structured
    /// content (structured)
    #[arg(long, value_name = "FORM", value_parser = one_of::<ReplyForm>(ReplyForm::NAMES), default_value_t)]
    pub(crate) reply: ReplyForm,
    #[arg(long, value_name = "N", value_parser = reply_bytes, help = format!(
        "Limit replies to N bytes [default: the client's limit] [minimum: {}]",
        ReplyBudget::MIN_BYTES
    ))]
    pub(crate) reply_bytes: Option<usize>,
    /// Log sessions, calls and refused requests on stderr, without arguments or contents [default: text
    /// with --http, else off]
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) log: Option<LogForm>,
    /// Append a line of JSON to this file for each call, with the path or command and the size of the
    /// reply, but without file contents or output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) http: HttpFlags,
    #[command(flatten)]
    pub(crate) context: ContextFlags,
}

/// The flags of `eyelet tools`.
#[derive(Debug, Args)]
pub(crate) struct ToolsFlags {
    /// Print the definitions in this format
    #[arg(long, value_parser = one_of::<DefinitionFormat>(DefinitionFormat::NAMES), default_value_t = DefinitionFormat::Mcp)]
    pub(crate) format: DefinitionFormat,
    /// Print only these tools, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    #[command(flatten)]
    pub(crate) context: ContextFlags,
}

/// How to serve over HTTP instead of stdin and stdout.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP options")]
pub(crate) struct HttpFlags {
    /// Serve over HTTP at this address, such as 127.0.0.1:8700
    #[arg(long = "http", value_name = "ADDRESS")]
    pub(crate) address: Option<SocketAddr>,
    /// Read the bearer token from this file, which must be readable only by you [default: generate a
    /// token]
    #[arg(long = "http-token-file", value_name = "FILE", requires = "address", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// Accept requests from web pages of this origin; repeatable [default: none]
    #[arg(long = "http-origin", value_name = "ORIGIN", requires = "address", value_hint = ValueHint::Url)]
    pub(crate) origins: Vec<String>,
    /// Accept requests to this host name; repeatable [default: only localhost and IP addresses]
    #[arg(long = "http-host", value_name = "NAME", requires = "address", value_hint = ValueHint::Hostname)]
    pub(crate) hosts: Vec<String>,
    /// Allow an address that other machines can reach
    #[arg(long, requires = "address")]
    pub(crate) allow_remote: bool,
}
