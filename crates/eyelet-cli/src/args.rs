//! The command line as types. The numbers in its help come from the tools' own definitions.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use eyelet::limits::MAX_ARGUMENT_BYTES;
use eyelet::{
    DefinitionFormat, ReplyBudget, SandboxPolicy, SearchEngine, ToolDefinition, ToolRouter,
};
use eyelet_mcp::ReplyForm;

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

/// The heading of the flags that every tool's command takes.
pub(crate) const SURROUNDINGS: &str = "Where and how tools run";

/// Where and how tools run.
///
/// Not clap's `global`: there a `--root` after the command would silently replace one before it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = SURROUNDINGS)]
pub(crate) struct Surroundings {
    /// Working directory [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Confine to this directory; may be given several times [default: not confined; for mcp the
    /// working directory]
    #[arg(long = "root", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) roots: Vec<PathBuf>,
    /// Let list_dir, grep_files and read reach everything in spite of --root; secrets stay hidden
    #[arg(long)]
    pub(crate) read_anywhere: bool,
    /// Hide what GLOB matches, absolute or relative to each root; may be given several times
    #[arg(long = "deny", value_name = "GLOB")]
    pub(crate) denied: Vec<String>,
    /// What grep_files searches with: ripgrep's libraries or the program [default: embedded]
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub(crate) search_engine: Option<Engine>,
    /// Most bytes in a file of kept bash output; all files together have four times that
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) spill_bytes: Option<u64>,
    /// What commands may do: not run, read, also write in the roots, or all that you may [default:
    /// full; for mcp workspace-write]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub(crate) sandbox: Option<Policy>,
    /// Let sandboxed commands reach the network
    #[arg(long)]
    pub(crate) network: bool,
    /// Give sandboxed commands this variable, too; may be given several times
    #[arg(long = "env", value_name = "NAME")]
    pub(crate) environment_names: Vec<OsString>,
    /// Let sandboxed commands read only the system and the roots, and run none where `eyelet doctor`
    /// knows a gap
    #[arg(long)]
    pub(crate) strict: bool,
    /// Sandbox without namespaces, as on machines that refuse them
    #[arg(long, hide = true)]
    pub(crate) force_tier2: bool,
}

impl Surroundings {
    /// What was said before the command and after it: roots add up, of the rest the later counts.
    pub(crate) fn with(&self, after: &Surroundings) -> Surroundings {
        Surroundings {
            cwd: after.cwd.clone().or_else(|| self.cwd.clone()),
            roots: self.roots.iter().chain(&after.roots).cloned().collect(),
            read_anywhere: self.read_anywhere || after.read_anywhere,
            denied: self.denied.iter().chain(&after.denied).cloned().collect(),
            search_engine: after.search_engine.or(self.search_engine),
            spill_bytes: after.spill_bytes.or(self.spill_bytes),
            sandbox: after.sandbox.or(self.sandbox),
            network: self.network || after.network,
            environment_names: self
                .environment_names
                .iter()
                .chain(&after.environment_names)
                .cloned()
                .collect(),
            strict: self.strict || after.strict,
            force_tier2: self.force_tier2 || after.force_tier2,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Policy {
    Off,
    ReadOnly,
    WorkspaceWrite,
    Full,
}

impl From<Policy> for SandboxPolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Off => SandboxPolicy::Off,
            Policy::ReadOnly => SandboxPolicy::ReadOnly,
            Policy::WorkspaceWrite => SandboxPolicy::WorkspaceWrite,
            Policy::Full => SandboxPolicy::Full,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Engine {
    Embedded,
    Rg,
}

impl From<Engine> for SearchEngine {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Embedded => SearchEngine::Embedded,
            Engine::Rg => SearchEngine::Rg,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a tool as a program does: JSON in, one line of JSON out
    #[command(after_help = "Exit status: 0 the tool ran, 1 it did not, 2 wrong command line.")]
    Call(Call),
    /// List a directory
    ListDir(ListDir),
    /// Find the files that contain a pattern, the newest first
    #[command(after_help = "Exit status: 0 files match, 1 none does or an error.")]
    GrepFiles(GrepFiles),
    /// Show the lines of a text file
    Read(Read),
    /// Run a command in a shell
    #[command(
        after_help = "Exit status: the command's own, 124 where it was timed out, 125 where it \
                            could not run."
    )]
    Bash(Bash),
    /// Serve the tools to an agent over the Model Context Protocol, on stdin and stdout
    #[command(
        after_help = "The client's config names the program `eyelet` and the argument `mcp`."
    )]
    Mcp(Mcp),
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
    Setup(crate::setup::Setup),
    /// Show what configures the server, and where each value comes from
    #[command(after_help = crate::config::AFTER_HELP)]
    Config(crate::config::Config),
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
