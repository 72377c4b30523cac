//! The command line as types. The numbers in its help come from the tools' own definitions.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use eyelet::limits::MAX_ARGUMENT_BYTES;
use eyelet::{DefinitionFormat, ReplyBudget, ToolDefinition, ToolRouter};
use eyelet_mcp::ReplyForm;

use crate::on_demand::OnDemand;

mod surroundings;

pub(crate) use surroundings::{SURROUNDINGS, Surroundings};

/// Bounded, truthful tools for AI agents: list_dir, grep_files, read, bash
#[derive(Debug, Parser)]
#[command(
    name = "eyelet",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Where and how tools run may be said before or after the command."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) surroundings: Surroundings,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a tool as a program does: JSON in, one line of JSON out
    #[command(after_help = "Exit status: 0 the tool ran, 1 it did not, 2 wrong command line.")]
    Call(OnDemand<Call>),
    /// List a directory
    ListDir(OnDemand<ListDir>),
    /// Find the files that contain a pattern, the newest first
    #[command(after_help = "Exit status: 0 files match, 1 none does or an error.")]
    GrepFiles(OnDemand<GrepFiles>),
    /// Show the lines of a text file
    Read(OnDemand<Read>),
    /// Run a command in a shell
    #[command(
        after_help = "Exit status: the command's own, 124 where it was timed out, 125 where it \
                            could not run."
    )]
    Bash(OnDemand<Bash>),
    /// Serve the tools to an agent over the Model Context Protocol, on stdin and stdout
    #[command(
        after_help = "The client's config names the program `eyelet` and the argument `mcp`."
    )]
    Mcp(OnDemand<Mcp>),
    /// Print the tools' definitions as JSON, to be offered to a model
    Tools {
        /// Whose form
        #[arg(long, value_enum, default_value_t = Format::Mcp)]
        format: Format,
    },
    /// Show the numbers that bound the tools
    Limits {
        #[command(flatten)]
        form: LimitsForm,
    },
    /// Tell what this machine can enforce on commands, and what not
    Doctor {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Set a client up to start the server: print the entry, write it, or check it
    #[command(after_help = crate::setup::AFTER_HELP)]
    Setup(OnDemand<crate::setup::Setup>),
    /// Show what configures the server, and where each value comes from
    #[command(after_help = crate::config::AFTER_HELP)]
    Config(OnDemand<crate::config::Config>),
    /// Print a script that completes eyelet's commands in a shell
    Completions {
        /// The shell that is to run it
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page, to be shown with `eyelet man | man -l -`
    Man,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
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
    pub(crate) surroundings: Surroundings,
}

/// What every command for a person takes.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Print the answer as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) surroundings: Surroundings,
}

#[derive(Debug, Args)]
pub(crate) struct ListDir {
    /// The directory
    #[arg(default_value = ".", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    #[arg(long, value_name = "N", help = help("list_dir", "offset"), value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) offset: Option<u64>,
    #[arg(long, value_name = "N", help = help("list_dir", "limit"), value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) limit: Option<u64>,
    #[arg(long, value_name = "N", help = help("list_dir", "depth"), value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) depth: Option<u64>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct GrepFiles {
    /// A regular expression in ripgrep's syntax
    pub(crate) pattern: String,
    /// Where to search, a directory or a file [default: the working directory]
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,
    #[arg(long, value_name = "GLOB", help = help("grep_files", "include"))]
    pub(crate) include: Option<String>,
    #[arg(long, value_name = "N", help = help("grep_files", "limit"), value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) limit: Option<u64>,
    #[arg(long, value_name = "N", help = help("grep_files", "offset"), value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) offset: Option<u64>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Read {
    /// The file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[arg(long, value_name = "N", help = help("read", "offset"), value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) offset: Option<u64>,
    #[arg(long, value_name = "N", help = help("read", "limit"), value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) limit: Option<u64>,
    #[arg(long, value_name = "N", help = help("read", "column"), value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) column: Option<u64>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Bash {
    /// The command, as one argument: quote it
    pub(crate) command: String,
    #[arg(long, value_name = "N", help = help("bash", "timeout_secs"), value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) timeout_secs: Option<u64>,
    #[arg(long, value_enum, value_name = "PART", help = help("bash", "keep"))]
    pub(crate) keep: Option<Keep>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Offer only these tools, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Form of replies: text for a model, or the JSON envelope as text or as structured content
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Reply::Text)]
    pub(crate) reply: Reply,
    #[arg(long, value_name = "N", value_parser = reply_bytes, help = format!(
        "Most bytes of a reply, at least {} [default: what the client shows its model whole]",
        ReplyBudget::MIN_BYTES
    ))]
    pub(crate) reply_bytes: Option<usize>,
    #[command(flatten)]
    pub(crate) http: Http,
    #[command(flatten)]
    pub(crate) surroundings: Surroundings,
}

/// How the server is reached, where not over stdin and stdout.
#[derive(Debug, Args)]
#[command(next_help_heading = "Over HTTP")]
pub(crate) struct Http {
    /// Serve at this address, such as 127.0.0.1:8700, instead of stdin and stdout
    #[arg(long = "http", value_name = "ADDRESS")]
    pub(crate) address: Option<SocketAddr>,
    /// Read the bearer token from this private file [default: a new one, shown on stderr]
    #[arg(long = "http-token-file", value_name = "FILE", requires = "address", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// Let web pages of this origin speak to the server; may be given several times [default: none]
    #[arg(long = "http-origin", value_name = "ORIGIN", requires = "address", value_hint = ValueHint::Url)]
    pub(crate) origins: Vec<String>,
    /// Let other machines connect: allow an address that is not loopback
    #[arg(long, requires = "address")]
    pub(crate) allow_remote: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Reply {
    Text,
    Envelope,
    Structured,
}

impl From<Reply> for ReplyForm {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Text => ReplyForm::Text,
            Reply::Envelope => ReplyForm::Envelope,
            Reply::Structured => ReplyForm::Structured,
        }
    }
}

/// Which part of a long stream is shown.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Keep {
    #[default]
    Head,
    Tail,
    Both,
}

impl Keep {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Keep::Head => "head",
            Keep::Tail => "tail",
            Keep::Both => "both",
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    Mcp,
    Openai,
    Anthropic,
}

impl From<Format> for DefinitionFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Mcp => DefinitionFormat::Mcp,
            Format::Openai => DefinitionFormat::OpenAi,
            Format::Anthropic => DefinitionFormat::Anthropic,
        }
    }
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct LimitsForm {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    /// Print them as a Markdown table
    #[arg(long)]
    markdown: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Table,
    Json,
    Markdown,
}

impl LimitsForm {
    pub(crate) fn chosen(&self) -> Form {
        match (self.json, self.markdown) {
            (true, _) => Form::Json,
            (false, true) => Form::Markdown,
            (false, false) => Form::Table,
        }
    }
}

fn reply_bytes(text: &str) -> Result<usize, String> {
    let least = ReplyBudget::MIN_BYTES;
    let bytes = text.parse().ok().filter(|bytes| *bytes >= least);
    bytes.ok_or_else(|| format!("expected a whole number of at least {least}"))
}

/// Clap's own parser for numbers says less of what would work.
fn whole_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// What a tool's schema says of an argument, in the form of the other help.
fn help(tool: &str, argument: &str) -> String {
    static DEFINITIONS: LazyLock<Vec<ToolDefinition>> =
        LazyLock::new(|| ToolRouter::new().definitions());
    let definition = DEFINITIONS.iter().find(|definition| definition.name == tool);
    let property = definition.and_then(|definition| {
        let path = format!("/properties/{argument}/description");
        definition.input_schema.pointer(&path)?.as_str()
    });
    property.unwrap_or_default().trim_end_matches('.').to_owned()
}
