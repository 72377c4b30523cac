//! The help of each command.

use expect_test::expect;
use testkit::TempTree;
use testkit::cli::eyelet;

fn whole_help(command: &[&str]) -> String {
    eyelet(&TempTree::new(""), command.iter().chain(&["--help"]))
}

/// The help of a command. Replaces the shared flags, which the help of `eyelet` shows.
fn help(command: &[&str]) -> String {
    let all = whole_help(&[]);
    let (_, shared) = all.split_once(SHARED).unwrap();
    let (shared, _) = shared.split_once("\n\n").unwrap();
    whole_help(command).replace(&[SHARED, shared].concat(), &[SHARED, " as above"].concat())
}

const SHARED: &str = "Path and sandbox options:";

#[test]
fn help_of_eyelet() {
    expect![[r#"
        exit 0
        --- stdout
        Tools for AI agents with bounded output: list_dir, find_files, grep_files, read, bash, jobs

        Usage: eyelet [OPTIONS] <COMMAND>

        Commands:
          call         Call a tool with JSON arguments and print its result as one line of JSON
          list-dir     List a directory
          find-files   List the files whose names match a glob, newest first
          grep-files   Search the contents of files for a pattern, newest files first
          read         Print the lines of a text file
          bash         Run a shell command
          mcp          Run the MCP server on stdin and stdout, or over HTTP
          tools        Print the tool definitions as JSON, for a model's API
          stats        Report how many tokens the recorded calls added to the contexts of models
          limits       Print the limits of the tools
          doctor       Print what the sandbox can enforce on this machine, and which gaps remain
          setup        Print, write or check the config entry that makes an MCP client start eyelet
          config       Print the server's settings and where each value comes from
          completions  Print a shell completion script
          man          Print the manual page; view it with `eyelet man | man -l -`
          help         Print this message or the help of the given subcommand(s)

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Path and sandbox options:
              --cwd <DIR>               Run the tools in this directory [default: the current directory]
              --root <DIR>              Let list_dir, find_files, grep_files and read access only this
                                        directory (a root); repeat to add roots [default: all files; for
                                        mcp: the client's roots, or else the working directory]
              --read-anywhere           Let list_dir, find_files, grep_files and read access files outside
                                        the roots, except secrets
              --deny <GLOB>             Deny access to paths that match GLOB; without a slash, GLOB matches
                                        at any depth below each root; repeatable
              --search-engine <ENGINE>  Search with ripgrep's libraries (embedded) or with the program rg
                                        [default: embedded] [possible values: embedded, rg]
              --spill-bytes <N>         Limit each file of saved bash output to N bytes, and all these files
                                        together to four times N [default: see `eyelet limits`]
              --sandbox <POLICY>        Set what commands may do: not run (off), only read (read-only), also
                                        write in the roots (workspace-write), or do anything (full)
                                        [default: full; for mcp: workspace-write] [possible values: off,
                                        read-only, workspace-write, full]
              --writable <DIR>          Let commands under the policy workspace-write also write to this
                                        directory; repeatable
              --network                 Let sandboxed commands use the network
              --allow-host <HOST>       Let sandboxed commands connect only to HOST[:PORT], through an HTTP
                                        proxy; *.HOST means all subdomains of HOST, localhost:PORT means a
                                        port of this machine, and registries means well-known package
                                        registries and git hosts; repeatable
              --memory <SIZE>           Kill a command if its processes use more memory than SIZE, such as
                                        4G or 50% [default: half of the memory of the machine or container]
              --env <NAME>              Pass this environment variable to sandboxed commands; repeatable
              --strict                  Let sandboxed commands read only system files and the roots; refuse
                                        to run them if the sandbox has a serious gap (see `eyelet doctor`)

        The path and sandbox options can be given before or after the command.
    "#]].assert_eq(&whole_help(&[]));
}

#[test]
fn help_of_call() {
    expect![[r#"
        exit 0
        --- stdout
        Call a tool with JSON arguments and print its result as one line of JSON

        Usage: eyelet call [OPTIONS] <TOOL> <JSON>

        Arguments:
          <TOOL>  Name of the tool; `eyelet tools` lists all tools
          <JSON>  Arguments as a JSON object; - reads them from stdin [maximum: 8388608 bytes]

        Options:
              --text  Print the reply as plain text, as a model receives it; print errors to stderr
          -h, --help  Print help

        Path and sandbox options: as above

        Exit code: 0 if the call succeeded, 1 if it failed, 2 if the command line is invalid.
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
          [DIR]  Directory to list [default: .]

        Options:
              --offset <N>      Start at entry N [default: 1]
              --limit <N>       List at most N entries [default: 25]
              --depth <N>       List N levels; 1 lists only the directory's own entries [default: 2]
              --ignored <WHAT>  Show or skip .git and the entries that .gitignore excludes [default: show]
                                [possible values: show, skip]
              --json            Print the result as one line of JSON
          -h, --help            Print help

        Path and sandbox options: as above
    "#]]
    .assert_eq(&help(&["list-dir"]));
}

#[test]
fn help_of_find_files() {
    expect![[r#"
        exit 0
        --- stdout
        List the files whose names match a glob, newest first

        Usage: eyelet find-files [OPTIONS] <PATTERN> [DIR]

        Arguments:
          <PATTERN>  Glob such as *.rs or src/**/*.ts; without a / it matches names at any depth
          [DIR]      Directory to search [default: .]

        Options:
              --ignored <WHAT>  Show or skip hidden files and files that .gitignore excludes [default: skip]
                                [possible values: show, skip]
              --limit <N>       List at most N files [default: 100] [maximum: 2000]
              --offset <N>      Start at file N [default: 1]
              --json            Print the result as one line of JSON
          -h, --help            Print help

        Path and sandbox options: as above

        Exit code: 0 if a file matches, 1 if none matches or the search fails, 2 if the command line is
        invalid.
    "#]].assert_eq(&help(&["find-files"]));
}

#[test]
fn help_of_grep_files() {
    expect![[r#"
        exit 0
        --- stdout
        Search the contents of files for a pattern, newest files first

        Usage: eyelet grep-files [OPTIONS] <PATTERN> [PATH]

        Arguments:
          <PATTERN>  Regular expression in ripgrep's syntax
          [PATH]     Directory or file to search [default: the working directory]

        Options:
          -n, --lines           Print the matching lines with their numbers [default on a terminal]
          -l, --files           Print the paths of the matching files [default if stdout is not a terminal]
          -c, --count           Print the number of matching lines of each file
          -i, --ignore-case     Ignore case
          -C, --context <N>     Print N lines before and after each match [default: 0] [maximum: 5]
          -g, --include <GLOB>  Search only files that match this glob, such as *.rs or *.{ts,tsx}; a
                                leading ! excludes files, as in !*.md
              --limit <N>       Print at most N lines or files [default: 100] [maximum: 2000]
              --offset <N>      Start at line or file N of the result [default: 1]
              --json            Print the result as one line of JSON
          -h, --help            Print help

        Path and sandbox options: as above

        Exit code: 0 if a file matches, 1 if none matches or the search fails, 2 if the command line is
        invalid.
    "#]].assert_eq(&help(&["grep-files"]));
}

#[test]
fn help_of_read() {
    expect![[r#"
        exit 0
        --- stdout
        Print the lines of a text file

        Usage: eyelet read [OPTIONS] <FILE>

        Arguments:
          <FILE>  File to print

        Options:
              --offset <N>  Start at line N [default: 1]
              --limit <N>   Print at most N lines [default: 2000] [maximum: 2000]
              --column <N>  Start each line at character N [default: 1]
              --json        Print the result as one line of JSON
          -h, --help        Print help

        Path and sandbox options: as above
    "#]]
    .assert_eq(&help(&["read"]));
}

#[test]
fn help_of_bash() {
    expect![[r#"
        exit 0
        --- stdout
        Run a shell command

        Usage: eyelet bash [OPTIONS] <COMMAND>

        Arguments:
          <COMMAND>  Shell command, quoted as one argument

        Options:
              --timeout-secs <N>  Kill the command after N seconds [default: 120] [maximum: 600]
              --keep <PART>       Print the output after the command has ended, and only this part of it if
                                  it is long [default: print all output while the command runs] [possible
                                  values: head, tail, both]
              --json              Print the result as one line of JSON
          -h, --help              Print help

        Path and sandbox options: as above

        Ctrl-C interrupts the command. If the command still runs three seconds later, or you press Ctrl-C
        again, eyelet kills it.
        Exit code: that of the command, 128 + N if signal N killed it, 124 if it timed out, 125 if it could
        not run.
    "#]].assert_eq(&help(&["bash"]));
}

#[test]
fn help_of_mcp() {
    expect![[r#"
        exit 0
        --- stdout
        Run the MCP server on stdin and stdout, or over HTTP

        Usage: eyelet mcp [OPTIONS]

        Options:
              --tools <NAMES>    Offer only these tools, separated by commas [default: all]
              --reply <FORM>     Send replies as plain text (text), as JSON in the text (envelope), or as
                                 JSON in structured content (structured) [default: text] [possible values:
                                 text, envelope, structured]
              --reply-bytes <N>  Limit replies to N bytes [default: the client's limit] [minimum: 4096]
              --log <FORM>       Log sessions, calls and refused requests on stderr, without arguments or
                                 contents [default: text with --http, else off] [possible values: text,
                                 json, off]
              --record <FILE>    Append a line of JSON to this file for each call, with the path or command
                                 and the size of the reply, but without file contents or output
          -h, --help             Print help

        HTTP options:
              --http <ADDRESS>          Serve over HTTP at this address, such as 127.0.0.1:8700
              --http-token-file <FILE>  Read the bearer token from this file, which must be readable only by
                                        you [default: generate a token]
              --http-origin <ORIGIN>    Accept requests from web pages of this origin; repeatable [default:
                                        none]
              --http-host <NAME>        Accept requests to this host name; repeatable [default: only
                                        localhost and IP addresses]
              --allow-remote            Allow an address that other machines can reach

        Path and sandbox options: as above

        To connect a client, run `eyelet setup CLIENT --write`. Settings can also come from environment
        variables and a config file; see `eyelet help config`.
    "#]].assert_eq(&help(&["mcp"]));
}

#[test]
fn help_of_doctor() {
    expect![[r#"
        exit 0
        --- stdout
        Print what the sandbox can enforce on this machine, and which gaps remain

        Usage: eyelet doctor [OPTIONS]

        Options:
              --json  Print the report as JSON
          -h, --help  Print help
    "#]]
    .assert_eq(&help(&["doctor"]));
}

#[test]
fn help_of_tools() {
    expect![[r#"
        exit 0
        --- stdout
        Print the tool definitions as JSON, for a model's API

        Usage: eyelet tools [OPTIONS]

        Options:
              --format <FORMAT>  Print the definitions in this format [default: mcp] [possible values: mcp,
                                 openai, anthropic]
              --tools <NAMES>    Print only these tools, separated by commas [default: all]
          -h, --help             Print help

        Path and sandbox options: as above

        Prints the tools that `eyelet mcp` offers with the same options.
    "#]]
    .assert_eq(&help(&["tools"]));
}

#[test]
fn help_of_limits() {
    expect![[r#"
        exit 0
        --- stdout
        Print the limits of the tools

        Usage: eyelet limits [OPTIONS]

        Options:
              --json      Print the limits as JSON
              --markdown  Print the limits as a Markdown table
          -h, --help      Print help
    "#]]
    .assert_eq(&help(&["limits"]));
}

#[test]
fn help_of_setup() {
    expect![[r#"
        exit 0
        --- stdout
        Print, write or check the config entry that makes an MCP client start eyelet

        Usage: eyelet setup [OPTIONS] [CLIENT] [-- <ARGUMENT>...]

        Arguments:
          [CLIENT]       Client to set up [possible values: claude-code, claude-desktop, codex, gemini-cli,
                         cursor, vscode, copilot-cli, opencode, zed, windsurf, goose]
          [ARGUMENT]...  More arguments for the server, such as --deny '*.key'

        Options:
              --write          Add the entry to the client's config file and print the changed lines; the
                               old file is saved beside it
              --remove         Remove this project's entry from the client's config file; the old file is
                               saved beside it
              --check          Check that the client has an entry for this project and that the server
                               answers
              --list           List the clients and their config files; * marks the default file
              --scope <SCOPE>  Use the config file of the project or of the user [default: see --list;
                               --check reads both] [possible values: project, user]
          -h, --help           Print help

        The project is the working directory; `eyelet --cwd DIR setup` selects another one. For goose, add
        the printed entry by hand: --write and --remove do not edit YAML files. Exit code: 0 on success, 1
        if --write, --remove or --check fails, 2 if the command line is invalid.
    "#]].assert_eq(&help(&["setup"]));
}

#[test]
fn help_of_config() {
    expect![[r#"
        exit 0
        --- stdout
        Print the server's settings and where each value comes from

        Usage: eyelet config [OPTIONS]

        Options:
              --json             Print the settings as JSON
              --tools <NAMES>    Offer only these tools, separated by commas [default: all]
              --reply <FORM>     Send replies as plain text (text), as JSON in the text (envelope), or as
                                 JSON in structured content (structured) [default: text] [possible values:
                                 text, envelope, structured]
              --reply-bytes <N>  Limit replies to N bytes [default: the client's limit] [minimum: 4096]
              --log <FORM>       Log sessions, calls and refused requests on stderr, without arguments or
                                 contents [default: text with --http, else off] [possible values: text,
                                 json, off]
              --record <FILE>    Append a line of JSON to this file for each call, with the path or command
                                 and the size of the reply, but without file contents or output
          -h, --help             Print help

        HTTP options:
              --http <ADDRESS>          Serve over HTTP at this address, such as 127.0.0.1:8700
              --http-token-file <FILE>  Read the bearer token from this file, which must be readable only by
                                        you [default: generate a token]
              --http-origin <ORIGIN>    Accept requests from web pages of this origin; repeatable [default:
                                        none]
              --http-host <NAME>        Accept requests to this host name; repeatable [default: only
                                        localhost and IP addresses]
              --allow-remote            Allow an address that other machines can reach

        Path and sandbox options: as above

        `eyelet mcp` takes each setting from a flag (--spill-bytes N), else from an environment variable
        (EYELET_SPILL_BYTES=N), else from the user's config file (spill_bytes = N):
        $XDG_CONFIG_HOME/eyelet/config.toml, by default ~/.config/eyelet/config.toml. In a variable, `:`
        separates the items of a list; in EYELET_ALLOW_HOST, `,` separates them. eyelet merges the deny
        lists of all three sources. eyelet never reads a config file from the project. Commands other than
        `mcp` and `config` use flags only. With --allow-host registries, `eyelet config` also prints the
        hosts that `registries` stands for.
    "#]].assert_eq(&help(&["config"]));
}

#[test]
fn help_of_stats() {
    expect![[r#"
        exit 0
        --- stdout
        Report how many tokens the recorded calls added to the contexts of models

        Usage: eyelet stats [OPTIONS] <FILE>...

        Arguments:
          <FILE>...  Files that `eyelet mcp --record` has written

        Options:
              --json        Print the report as JSON
              --html <OUT>  Write the report as an HTML page to OUT, replacing the file
              --limit <N>   Show at most N rows of each table [default: 10]
          -h, --help        Print help

        FILE is a file that `eyelet mcp --record FILE` has written; FILE.1 in the same directory has older
        calls. docs/records.md explains the report.
    "#]].assert_eq(&help(&["stats"]));
}

#[test]
fn help_of_completions() {
    expect![[r#"
        exit 0
        --- stdout
        Print a shell completion script

        Usage: eyelet completions <SHELL>

        Arguments:
          <SHELL>  Shell that will run the script [possible values: bash, elvish, fish, powershell, zsh]

        Options:
          -h, --help  Print help
    "#]].assert_eq(&help(&["completions"]));
}

#[test]
fn help_of_man() {
    expect![[r#"
        exit 0
        --- stdout
        Print the manual page; view it with `eyelet man | man -l -`

        Usage: eyelet man

        Options:
          -h, --help  Print help
    "#]]
    .assert_eq(&help(&["man"]));
}

#[test]
fn help_command_prints_what_the_flag_prints() {
    let tree = TempTree::new("");
    let all = whole_help(&[]);
    assert_eq!(eyelet(&tree, ["help"]), all);
    let (_, commands) = all.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let names = commands.lines().map(|line| line.split_whitespace().next().unwrap());
    let names: Vec<_> = names.filter(|name| *name != "help").collect();
    assert_eq!(names.len(), 15);
    for name in names {
        assert_eq!(eyelet(&tree, ["help", name]), whole_help(&[name]), "{name}");
    }
    expect![[r#"
        exit 2
        --- stderr
        eyelet: unrecognized subcommand 'lst-dir'; usage: eyelet [OPTIONS] <COMMAND>
    "#]]
    .assert_eq(&eyelet(&tree, ["help", "lst-dir"]));
}

#[test]
fn version_is_that_of_the_package() {
    let expected = format!("exit 0\n--- stdout\neyelet {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(eyelet(&TempTree::new(""), ["--version"]), expected);
}
