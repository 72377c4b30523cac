//! The command line as types. The numbers in its help are the constants of the library.

mod call;
mod config;
mod context;
mod mcp;
mod setup;
mod stats;
mod tool;
mod value_parsers;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::lazy_args::LazyArgs;

pub(crate) use call::CallFlags;
pub(crate) use config::ConfigFlags;
pub(crate) use context::{CONTEXT_HEADING, ContextFlags};
pub(crate) use mcp::{HttpFlags, McpFlags, ToolsFlags};
pub(crate) use setup::SetupFlags;
pub(crate) use stats::StatsFlags;
pub(crate) use tool::{BashFlags, FindFilesFlags, GrepFilesFlags, ListDirFlags, ReadFlags};

/// Tools for AI agents with bounded output: list_dir, find_files, grep_files, read, bash, jobs
#[derive(Debug, Parser)]
#[command(
    name = "eyelet",
    version,
    arg_required_else_help = true,
    after_help = "The path and sandbox options can be given before or after the command."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) context: ContextFlags,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a tool with JSON arguments and print its result as one line of JSON
    #[command(
        after_help = "Exit code: 0 if the call succeeded, 1 if it failed, 2 if the command line is \
                            invalid."
    )]
    Call(LazyArgs<CallFlags>),
    /// List a directory
    ListDir(LazyArgs<ListDirFlags>),
    /// List the files whose names match a glob, newest first
    #[command(
        after_help = "Exit code: 0 if a file matches, 1 if none matches or the search fails, 2 if \
                            the command line is invalid."
    )]
    FindFiles(LazyArgs<FindFilesFlags>),
    /// Search the contents of files for a pattern, newest files first
    #[command(
        after_help = "Exit code: 0 if a file matches, 1 if none matches or the search fails, 2 if \
                            the command line is invalid."
    )]
    GrepFiles(LazyArgs<GrepFilesFlags>),
    /// Print the lines of a text file
    Read(LazyArgs<ReadFlags>),
    /// Run a shell command
    #[command(
        after_help = "Ctrl-C interrupts the command. If the command still runs three seconds later, or you \
                            press Ctrl-C again, eyelet kills it.\n\
                            Exit code: that of the command, 128 + N if signal N killed it, 124 if it timed out, \
                            125 if it could not run."
    )]
    Bash(LazyArgs<BashFlags>),
    /// Run the MCP server on stdin and stdout, or over HTTP
    #[command(
        after_help = "To connect a client, run `eyelet setup CLIENT --write`. Settings can also \
                            come from environment variables and a config file; see `eyelet help config`."
    )]
    Mcp(LazyArgs<McpFlags>),
    /// Print the tool definitions as JSON, for a model's API
    #[command(after_help = "Prints the tools that `eyelet mcp` offers with the same options.")]
    Tools(LazyArgs<ToolsFlags>),
    /// Report how many tokens the recorded calls added to the contexts of models
    #[command(after_help = stats::AFTER_HELP)]
    Stats(LazyArgs<StatsFlags>),
    /// Print the limits of the tools
    Limits {
        /// Print the limits as JSON
        #[arg(long, conflicts_with = "markdown")]
        json: bool,
        /// Print the limits as a Markdown table
        #[arg(long)]
        markdown: bool,
    },
    /// Print what the sandbox can enforce on this machine, and which gaps remain
    Doctor {
        /// Print the report as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print, write or check the config entry that makes an MCP client start eyelet
    #[command(after_help = setup::AFTER_HELP)]
    Setup(LazyArgs<SetupFlags>),
    /// Print the server's settings and where each value comes from
    #[command(after_help = config::AFTER_HELP)]
    Config(LazyArgs<ConfigFlags>),
    /// Print a shell completion script
    Completions {
        /// Shell that will run the script
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page; view it with `eyelet man | man -l -`
    Man,
}
