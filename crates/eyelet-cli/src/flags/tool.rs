//! The flags of the commands that run a tool for a person.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use eyelet::tools::{Ignored, Keep, bash, grep_files, list_dir, read};

use super::context::ContextFlags;
use super::value_parsers::{one_of, whole_number};

/// The flags that every tool's command for people takes.
#[derive(Debug, Args)]
pub(crate) struct PeopleFlags {
    /// Print the result as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) context: ContextFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ListDirFlags {
    /// Directory to list
    #[arg(default_value = ".", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Start at entry N [default: 1]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) offset: Option<u64>,
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true, help = format!(
        "List at most N entries [default: {}]", list_dir::DEFAULT_LIMIT
    ))]
    pub(crate) limit: Option<u64>,
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true, help = format!(
        "List N levels; 1 lists only the directory's own entries [default: {}]", list_dir::DEFAULT_DEPTH
    ))]
    pub(crate) depth: Option<u64>,
    /// Show or skip .git and the entries that .gitignore excludes [default: show]
    #[arg(long, value_name = "WHAT", value_parser = one_of::<Ignored>(Ignored::NAMES))]
    pub(crate) ignored: Option<Ignored>,
    #[command(flatten)]
    pub(crate) common: PeopleFlags,
}

#[derive(Debug, Args)]
pub(crate) struct GrepFilesFlags {
    /// Regular expression in ripgrep's syntax
    pub(crate) pattern: String,
    /// Directory or file to search [default: the working directory]
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,
    /// Print the matching lines with their numbers [default on a terminal]
    #[arg(short = 'n', long)]
    pub(crate) lines: bool,
    /// Print the paths of the matching files [default if stdout is not a terminal]
    #[arg(short = 'l', long, conflicts_with = "count")]
    pub(crate) files: bool,
    /// Print the number of matching lines of each file
    #[arg(short, long)]
    pub(crate) count: bool,
    /// Ignore case
    #[arg(short, long)]
    pub(crate) ignore_case: bool,
    #[arg(
        short = 'C',
        long,
        value_name = "N",
        value_parser = whole_number,
        help = format!(
            "Print N lines before and after each match [default: 0] [maximum: {}]",
            grep_files::MAX_CONTEXT
        )
    )]
    pub(crate) context: Option<u64>,
    /// Search only files that match this glob, such as *.rs or *.{ts,tsx}; a leading ! excludes
    /// files, as in !*.md
    #[arg(short = 'g', long, value_name = "GLOB")]
    pub(crate) include: Option<String>,
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true, help = format!(
        "Print at most N lines or files [default: {}] [maximum: {}]", grep_files::DEFAULT_LIMIT, grep_files::MAX_LIMIT
    ))]
    pub(crate) limit: Option<u64>,
    /// Start at line or file N of the result [default: 1]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) offset: Option<u64>,
    #[command(flatten)]
    pub(crate) common: PeopleFlags,
}

#[derive(Debug, Args)]
pub(crate) struct FindFilesFlags {
    /// Glob such as *.rs or src/**/*.ts; without a / it matches names at any depth
    pub(crate) pattern: String,
    /// Directory to search
    #[arg(default_value = ".", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Show or skip hidden files and files that .gitignore excludes [default: skip]
    #[arg(long, value_name = "WHAT", value_parser = one_of::<Ignored>(Ignored::NAMES))]
    pub(crate) ignored: Option<Ignored>,
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true, help = format!(
        "List at most N files [default: {}] [maximum: {}]", grep_files::DEFAULT_LIMIT, grep_files::MAX_LIMIT
    ))]
    pub(crate) limit: Option<u64>,
    /// Start at file N [default: 1]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) offset: Option<u64>,
    #[command(flatten)]
    pub(crate) common: PeopleFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ReadFlags {
    /// File to print
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Start at line N [default: 1]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) offset: Option<u64>,
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true, help = format!(
        "Print at most N lines [default: {0}] [maximum: {0}]", read::MAX_LINES
    ))]
    pub(crate) limit: Option<u64>,
    /// Start each line at character N [default: 1]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) column: Option<u64>,
    #[command(flatten)]
    pub(crate) common: PeopleFlags,
}

#[derive(Debug, Args)]
pub(crate) struct BashFlags {
    /// Shell command, quoted as one argument
    pub(crate) command: String,
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true, help = format!(
        "Kill the command after N seconds [default: {}] [maximum: {}]", bash::DEFAULT_TIMEOUT_SECS, bash::MAX_TIMEOUT_SECS
    ))]
    pub(crate) timeout_secs: Option<u64>,
    /// Print the output after the command has ended, and only this part of it if it is long
    /// [default: print all output while the command runs]
    #[arg(long, value_name = "PART", value_parser = one_of::<Keep>(Keep::NAMES))]
    pub(crate) keep: Option<Keep>,
    #[command(flatten)]
    pub(crate) common: PeopleFlags,
}
