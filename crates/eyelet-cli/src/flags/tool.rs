//! The flags of the commands that run a tool for a person.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, ValueEnum, ValueHint};
use eyelet::{ToolDefinition, ToolRouter};

use super::context::ContextFlags;

/// The flags that every tool's command for people takes.
#[derive(Debug, Args)]
pub(crate) struct PeopleFlags {
    /// Print the answer as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) context: ContextFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ListDirFlags {
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
    pub(crate) common: PeopleFlags,
}

#[derive(Debug, Args)]
pub(crate) struct GrepFilesFlags {
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
    pub(crate) common: PeopleFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ReadFlags {
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
    pub(crate) common: PeopleFlags,
}

#[derive(Debug, Args)]
pub(crate) struct BashFlags {
    /// The command, as one argument: quote it
    pub(crate) command: String,
    #[arg(long, value_name = "N", help = help("bash", "timeout_secs"), value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) timeout_secs: Option<u64>,
    #[arg(long, value_enum, value_name = "PART", help = help("bash", "keep"))]
    pub(crate) keep: Option<Keep>,
    #[command(flatten)]
    pub(crate) common: PeopleFlags,
}

/// Which part of a long output to show.
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

/// Replaces clap's parser for numbers, whose errors do not name the valid range.
fn whole_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// The description of a tool's argument from its schema, formatted like the other help texts.
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
