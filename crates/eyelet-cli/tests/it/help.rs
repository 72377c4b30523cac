//! The whole help of each command.

use expect_test::expect;
use testkit::TempTree;
use testkit::cli::eyelet;

fn whole_help(command: &[&str]) -> String {
    eyelet(&TempTree::new(""), command.iter().chain(&["--help"]))
}

/// The help of a command; the flags that it shares with all others are shown once, by `eyelet`.
fn help(command: &[&str]) -> String {
    let all = whole_help(&[]);
    let (_, shared) = all.split_once(SHARED).unwrap();
    let (shared, _) = shared.split_once("\n\n").unwrap();
    whole_help(command).replace(&[SHARED, shared].concat(), &[SHARED, " as above"].concat())
}

const SHARED: &str = "Where and how tools run:";

#[test]
fn help_of_eyelet() {
    expect![[r#"
        exit 0
        --- stdout
        Bounded, truthful tools for AI agents: list_dir, grep_files, read, bash

        Usage: eyelet [OPTIONS] <COMMAND>

        Commands:
          call         Call a tool as a program does: JSON in, one line of JSON out
          list-dir     List a directory
          grep-files   Find the files that contain a pattern, the newest first
          read         Show the lines of a text file
          bash         Run a command in a shell
          mcp          Serve the tools to an agent over the Model Context Protocol, on stdin and stdout
          tools        Print the tools' definitions as JSON, to be offered to a model
          limits       Show the numbers that bound the tools
          doctor       Tell what this machine can enforce on commands, and what not
          setup        Set a client up to start the server: print the entry, write it, or check it
          config       Show what configures the server, and where each value comes from
          completions  Print a script that completes eyelet's commands in a shell
          man          Print the manual page, to be shown with `eyelet man | man -l -`

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Where and how tools run:
              --cwd <DIR>               Working directory [default: the current one]
              --root <DIR>              Confine to this directory; may be given several times [default: not
                                        confined; for mcp the working directory]
              --read-anywhere           Let list_dir, grep_files and read reach everything in spite of
                                        --root; secrets stay hidden
              --deny <GLOB>             Hide what GLOB matches, absolute or relative to each root; may be
                                        given several times
              --search-engine <ENGINE>  What grep_files searches with: ripgrep's libraries or the program
                                        [default: embedded] [possible values: embedded, rg]
              --spill-bytes <N>         Most bytes in a file of kept bash output; all files together have
                                        four times that
              --sandbox <POLICY>        What commands may do: not run, read, also write in the roots, or all
                                        that you may [default: full; for mcp workspace-write] [possible
                                        values: off, read-only, workspace-write, full]
              --network                 Let sandboxed commands reach the network
              --env <NAME>              Give sandboxed commands this variable, too; may be given several
                                        times
              --strict                  Let sandboxed commands read only the system and the roots, and run
                                        none where `eyelet doctor` knows a gap

        Where and how tools run may be said before or after the command.
    "#]].assert_eq(&whole_help(&[]));
}

#[test]
fn help_of_call() {
    expect![[r#"
        exit 0
        --- stdout
        Call a tool as a program does: JSON in, one line of JSON out

        Usage: eyelet call [OPTIONS] <TOOL> <JSON>

        Arguments:
          <TOOL>  The tool's name; `eyelet tools` lists them
          <JSON>  Its arguments, a JSON object of at most 8388608 bytes; - reads it from stdin

        Options:
              --text  Print the text that a model would read instead; errors go to stderr
          -h, --help  Print help

        Where and how tools run: as above

        Exit status: 0 the tool ran, 1 it did not, 2 wrong command line.
    "#]]
    .assert_eq(&help(&["call"]));
}

#[test]
fn help_of_list_dir() {
    expect![[r#"
        exit 0
        --- stdout
        List a directory

        Usage: eyelet list-dir [OPTIONS] [DIR]

        Arguments:
          [DIR]  The directory [default: .]

        Options:
              --offset <N>  First entry to return, counting from 1. Default 1
              --limit <N>   Maximum number of entries to return. Default 25
              --depth <N>   Number of levels to list; 1 lists only the directory's own entries. Default 2
              --json        Print the answer as one line of JSON
          -h, --help        Print help

        Where and how tools run: as above
    "#]]
    .assert_eq(&help(&["list-dir"]));
}

#[test]
fn help_of_grep_files() {
    expect![[r#"
        exit 0
        --- stdout
        Find the files that contain a pattern, the newest first

        Usage: eyelet grep-files [OPTIONS] <PATTERN> [PATH]

        Arguments:
          <PATTERN>  A regular expression in ripgrep's syntax
          [PATH]     Where to search, a directory or a file [default: the working directory]

        Options:
              --include <GLOB>  Glob of the files to search, such as *.rs or *.{ts,tsx}; a leading !
                                excludes files, as in !*.md
              --limit <N>       Maximum number of files to return. Default 100, maximum 2000
              --offset <N>      First match to return, counting from 1. Default 1
              --json            Print the answer as one line of JSON
          -h, --help            Print help

        Where and how tools run: as above

        Exit status: 0 files match, 1 none does or an error.
    "#]]
    .assert_eq(&help(&["grep-files"]));
}

#[test]
fn help_of_read() {
    expect![[r#"
        exit 0
        --- stdout
        Show the lines of a text file

        Usage: eyelet read [OPTIONS] <FILE>

        Arguments:
          <FILE>  The file

        Options:
              --offset <N>  First line to return, counting from 1. Default 1
              --limit <N>   Maximum number of lines to return. Default and maximum 2000
              --column <N>  First character to return of each line, counting from 1. Default 1
              --json        Print the answer as one line of JSON
          -h, --help        Print help

        Where and how tools run: as above
    "#]]
    .assert_eq(&help(&["read"]));
}

#[test]
fn help_of_bash() {
    expect![[r#"
        exit 0
        --- stdout
        Run a command in a shell

        Usage: eyelet bash [OPTIONS] <COMMAND>

        Arguments:
          <COMMAND>  The command, as one argument: quote it

        Options:
              --timeout-secs <N>  Seconds the command may run, at most 600. Default 120
              --keep <PART>       Which part of a long stream to show: its start, its end, or half of each
                                  [possible values: head, tail, both]
              --json              Print the answer as one line of JSON
          -h, --help              Print help

        Where and how tools run: as above

        Exit status: the command's own, 124 where it was timed out, 125 where it could not run.
    "#]].assert_eq(&help(&["bash"]));
}

#[test]
fn help_of_mcp() {
    expect![[r#"
        exit 0
        --- stdout
        Serve the tools to an agent over the Model Context Protocol, on stdin and stdout

        Usage: eyelet mcp [OPTIONS]

        Options:
              --tools <NAMES>    Offer only these tools, separated by commas [default: all]
              --reply <FORM>     Form of replies: text for a model, or the JSON envelope as text or as
                                 structured content [default: text] [possible values: text, envelope,
                                 structured]
              --reply-bytes <N>  Most bytes of a reply, at least 4096 [default: what the client shows its
                                 model whole]
          -h, --help             Print help

        Over HTTP:
              --http <ADDRESS>          Serve at this address, such as 127.0.0.1:8700, instead of stdin and
                                        stdout
              --http-token-file <FILE>  Read the bearer token from this private file [default: a new one,
                                        shown on stderr]
              --http-origin <ORIGIN>    Let web pages of this origin speak to the server; may be given
                                        several times [default: none]
              --allow-remote            Let other machines connect: allow an address that is not loopback

        Where and how tools run: as above

        The client's config names the program `eyelet` and the argument `mcp`.
    "#]].assert_eq(&help(&["mcp"]));
}

#[test]
fn help_of_doctor() {
    expect![[r#"
        exit 0
        --- stdout
        Tell what this machine can enforce on commands, and what not

        Usage: eyelet doctor [OPTIONS]

        Options:
              --json  Print it as JSON
          -h, --help  Print help
    "#]]
    .assert_eq(&help(&["doctor"]));
}

#[test]
fn help_of_tools() {
    expect![[r#"
        exit 0
        --- stdout
        Print the tools' definitions as JSON, to be offered to a model

        Usage: eyelet tools [OPTIONS]

        Options:
              --format <FORMAT>  Whose form [default: mcp] [possible values: mcp, openai, anthropic]
          -h, --help             Print help
    "#]]
    .assert_eq(&help(&["tools"]));
}

#[test]
fn help_of_limits() {
    expect![[r#"
        exit 0
        --- stdout
        Show the numbers that bound the tools

        Usage: eyelet limits [OPTIONS]

        Options:
              --json      Print them as JSON
              --markdown  Print them as a Markdown table
          -h, --help      Print help
    "#]]
    .assert_eq(&help(&["limits"]));
}

#[test]
fn help_of_setup() {
    expect![[r#"
        exit 0
        --- stdout
        Set a client up to start the server: print the entry, write it, or check it

        Usage: eyelet setup [OPTIONS] [CLIENT] [-- <ARGUMENT>...]

        Arguments:
          [CLIENT]       The client that is to start the server [possible values: claude-code,
                         claude-desktop, codex, gemini-cli, cursor, vscode, copilot-cli, opencode, zed,
                         windsurf, goose]
          [ARGUMENT]...  More arguments of the server, such as -- --deny '*.pem'

        Options:
              --write          Put the entry into the client's file and leave the rest of it as it is; the
                               old file is kept beside it
              --check          Say whether the client is set up and the server starts
              --list           List the clients and their files; * marks the file that is meant where
                               --scope is not said
              --scope <SCOPE>  The file in the project or the one in the home [default: see --list; --check
                               looks into both] [possible values: project, user]
          -h, --help           Print help

        The project is the working directory, or what --cwd before the command says. Exit status: 0 done, or
        set up; 1 not; 2 wrong command line.
    "#]].assert_eq(&help(&["setup"]));
}

#[test]
fn help_of_config() {
    expect![[r#"
        exit 0
        --- stdout
        Show what configures the server, and where each value comes from

        Usage: eyelet config [OPTIONS]

        Options:
              --json             Print it as JSON
              --tools <NAMES>    Offer only these tools, separated by commas [default: all]
              --reply <FORM>     Form of replies: text for a model, or the JSON envelope as text or as
                                 structured content [default: text] [possible values: text, envelope,
                                 structured]
              --reply-bytes <N>  Most bytes of a reply, at least 4096 [default: what the client shows its
                                 model whole]
          -h, --help             Print help

        Over HTTP:
              --http <ADDRESS>          Serve at this address, such as 127.0.0.1:8700, instead of stdin and
                                        stdout
              --http-token-file <FILE>  Read the bearer token from this private file [default: a new one,
                                        shown on stderr]
              --http-origin <ORIGIN>    Let web pages of this origin speak to the server; may be given
                                        several times [default: none]
              --allow-remote            Let other machines connect: allow an address that is not loopback

        Where and how tools run: as above

        The server (`eyelet mcp`) takes a value from a flag, else from a variable, else from
        $XDG_CONFIG_HOME/eyelet/config.toml (~/.config/eyelet/config.toml): --spill-bytes,
        EYELET_SPILL_BYTES, spill_bytes = N. Lists are joined with `:` in a variable. What --deny hides adds
        up over all of them. Nothing is read from the project. For `call` and the commands for a person only
        flags count.
    "#]].assert_eq(&help(&["config"]));
}

#[test]
fn help_of_completions() {
    expect![[r#"
        exit 0
        --- stdout
        Print a script that completes eyelet's commands in a shell

        Usage: eyelet completions <SHELL>

        Arguments:
          <SHELL>  The shell that is to run it [possible values: bash, elvish, fish, powershell, zsh]

        Options:
          -h, --help  Print help
    "#]].assert_eq(&help(&["completions"]));
}

#[test]
fn help_of_man() {
    expect![[r#"
        exit 0
        --- stdout
        Print the manual page, to be shown with `eyelet man | man -l -`

        Usage: eyelet man

        Options:
          -h, --help  Print help
    "#]]
    .assert_eq(&help(&["man"]));
}

#[test]
fn the_version_is_the_packages() {
    let expected = format!("exit 0\n--- stdout\neyelet {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(eyelet(&TempTree::new(""), ["--version"]), expected);
}
