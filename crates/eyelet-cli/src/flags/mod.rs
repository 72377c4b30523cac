//! The command line as types. The numbers in its help come from the tools' own definitions.

mod call;
mod config;
mod context;
mod mcp;
mod output_form;
mod setup;
mod tool;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::lazy_args::LazyArgs;

pub(crate) use call::CallFlags;
pub(crate) use config::ConfigFlags;
pub(crate) use context::{CONTEXT_HEADING, ContextFlags};
pub(crate) use mcp::{HttpFlags, McpFlags};
pub(crate) use output_form::{FormatFlag, LimitsFlags, LimitsForm};
pub(crate) use setup::SetupFlags;
pub(crate) use tool::{BashFlags, GrepFilesFlags, Keep, ListDirFlags, ReadFlags};

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
    pub(crate) context: ContextFlags,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a tool as a program does: JSON in, one line of JSON out
    #[command(after_help = "Exit status: 0 the tool ran, 1 it did not, 2 wrong command line.")]
    Call(LazyArgs<CallFlags>),
    /// List a directory
    ListDir(LazyArgs<ListDirFlags>),
    /// Find the files that contain a pattern, the newest first
    #[command(after_help = "Exit status: 0 files match, 1 none does or an error.")]
    GrepFiles(LazyArgs<GrepFilesFlags>),
    /// Show the lines of a text file
    Read(LazyArgs<ReadFlags>),
    /// Run a command in a shell
    #[command(
        after_help = "Exit status: the command's own, 124 where it was timed out, 125 where it \
                            could not run."
    )]
    Bash(LazyArgs<BashFlags>),
    /// Serve the tools to an agent over the Model Context Protocol, on stdin and stdout
    #[command(
        after_help = "The client's config names the program `eyelet` and the argument `mcp`."
    )]
    Mcp(LazyArgs<McpFlags>),
    /// Print the tools' definitions as JSON, to be offered to a model
    Tools {
        /// Whose form
        #[arg(long, value_enum, default_value_t = FormatFlag::Mcp)]
        format: FormatFlag,
    },
    /// Show the numbers that bound the tools
    Limits {
        #[command(flatten)]
        form: LimitsFlags,
    },
    /// Tell what this machine can enforce on commands, and what not
    Doctor {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Set a client up to start the server: print the entry, write it, or check it
    #[command(after_help = setup::AFTER_HELP)]
    Setup(LazyArgs<SetupFlags>),
    /// Show what configures the server, and where each value comes from
    #[command(after_help = config::AFTER_HELP)]
    Config(LazyArgs<ConfigFlags>),
    /// Print a script that completes eyelet's commands in a shell
    Completions {
        /// The shell that is to run it
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page, to be shown with `eyelet man | man -l -`
    Man,
}
