//! Invalid command lines: one line on stderr, exit code 2.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use expect_test::expect;
use testkit::TempTree;
use testkit::cli::eyelet;

#[test]
fn invalid_command_line_is_reported_in_one_line() {
    let tree = TempTree::new("a.txt = one");
    let wrong: &[&[&str]] = &[
        &[],
        &["--cwd", "."],
        &["lst-dir"],
        &["list-dir", "--limt", "3"],
        &["list-dir", "--limit", "x"],
        &["list-dir", "--limit", "-1"],
        &["list-dir", "--limit", "18446744073709551616"],
        &["list-dir", "a", "b"],
        &["list-dir", ""],
        &["grep-files"],
        &["grep-files", "-x"],
        &["read"],
        &["read", ""],
        &["bash"],
        &["bash", "echo", "two"],
        &["bash", "ls", "-la"],
        &["bash", "ls", "--kep", "tail"],
        &["bash", "true", "--keep", "middle"],
        &["call"],
        &["call", "read"],
        &["call", "read", "{}", "{}"],
        &["tools", "--format", "xml"],
        &["limits", "--json", "--markdown"],
        &["completions", "tcsh"],
        &["--cwd", "gone", "list-dir"],
        &["--cwd", "a.txt", "call", "read", "{}"],
        &["--root", "gone", "call", "read", "{}"],
        &["--root", "a.txt", "read", "a.txt"],
        &["--spill-bytes", "0", "limits"],
        &["--memory", "0", "limits"],
        &["read", "a\u{1b}[31m", "\u{202e}\n"],
    ];
    let mut results = String::new();
    for arguments in wrong {
        let result = eyelet(&tree, *arguments);
        let line = result.strip_prefix("exit 2\n--- stderr\neyelet: ").expect(&result);
        assert_eq!(line.matches('\n').count(), 1, "{result}");
        results.push_str(&format!("{}\n  {line}", arguments.join(" ").escape_debug()));
    }
    expect![[r#"

          no command given; run `eyelet help` to list the commands
        --cwd .
          'eyelet' requires a subcommand but one was not provided [subcommands: call, list-dir, find-files, grep-files, read, bash, mcp, tools, stats, limits, doctor, setup, config, completions, man, help]; usage: eyelet [OPTIONS] <COMMAND>
        lst-dir
          unrecognized subcommand 'lst-dir'; a similar subcommand exists: 'list-dir'; usage: eyelet [OPTIONS] <COMMAND>
        list-dir --limt 3
          unexpected argument '--limt' found; a similar argument exists: '--limit'; usage: eyelet list-dir --limit <N> [DIR]
        list-dir --limit x
          invalid value 'x' for '--limit <N>': expected a whole number from 0 to 18446744073709551615; see `--help`
        list-dir --limit -1
          invalid value '-1' for '--limit <N>': expected a whole number from 0 to 18446744073709551615; see `--help`
        list-dir --limit 18446744073709551616
          invalid value '18446744073709551616' for '--limit <N>': expected a whole number from 0 to 18446744073709551615; see `--help`
        list-dir a b
          unexpected argument 'b' found; usage: eyelet list-dir [OPTIONS] [DIR]
        list-dir 
          a value is required for '[DIR]' but none was supplied; see `--help`
        grep-files
          the following required arguments were not provided: <PATTERN>; usage: eyelet grep-files <PATTERN> [PATH]
        grep-files -x
          unexpected argument '-x' found; to pass '-x' as a value, use '-- -x'; usage: eyelet grep-files [OPTIONS] <PATTERN> [PATH]
        read
          the following required arguments were not provided: <FILE>; usage: eyelet read <FILE>
        read 
          a value is required for '<FILE>' but none was supplied; see `--help`
        bash
          the following required arguments were not provided: <COMMAND>; usage: eyelet bash <COMMAND>
        bash echo two
          unexpected argument 'two' found; quote the command as one argument, such as eyelet bash 'ls -la'
        bash ls -la
          unexpected argument '-l' found; quote the command as one argument, such as eyelet bash 'ls -la'
        bash ls --kep tail
          unexpected argument '--kep' found; a similar argument exists: '--keep'; usage: eyelet bash --keep <PART> <COMMAND>
        bash true --keep middle
          invalid value 'middle' for '--keep <PART>' [possible values: head, tail, both]; see `--help`
        call
          the following required arguments were not provided: <TOOL> <JSON>; usage: eyelet call <TOOL> <JSON>
        call read
          the following required arguments were not provided: <JSON>; usage: eyelet call <TOOL> <JSON>
        call read {} {}
          unexpected argument '{}' found; usage: eyelet call [OPTIONS] <TOOL> <JSON>
        tools --format xml
          invalid value 'xml' for '--format <FORMAT>' [possible values: mcp, openai, anthropic]; see `--help`
        limits --json --markdown
          the argument '--json' cannot be used with '--markdown'; usage: eyelet limits --json
        completions tcsh
          invalid value 'tcsh' for '<SHELL>' [possible values: bash, elvish, fish, powershell, zsh]; a similar value exists: 'zsh'
        --cwd gone list-dir
          --cwd: cannot open the directory `gone`: No such file or directory (os error 2)
        --cwd a.txt call read {}
          --cwd: cannot open the directory `a.txt`: not a directory
        --root gone call read {}
          --root: cannot open the directory `gone`: No such file or directory (os error 2)
        --root a.txt read a.txt
          --root: cannot open the directory `a.txt`: Not a directory (os error 20)
        --spill-bytes 0 limits
          invalid value '0' for '--spill-bytes <N>': 0 is not in 1..18446744073709551615; see `--help`
        --memory 0 limits
          invalid value '0' for '--memory <SIZE>': expected a size such as 4G or 512M, or a percentage from 1% to 100%; see `--help`
        read a\u{1b}[31m \u{202e}\n
          unexpected argument '\u{202e} ' found; usage: eyelet read [OPTIONS] <FILE>
    "#]].assert_eq(&results);
}

#[test]
fn path_that_is_not_utf8_is_an_error() {
    let tree = TempTree::new("");
    let path = OsStr::from_bytes(b"caf\xe9");
    expect![[r#"
        exit 2
        --- stderr
        eyelet: FILE is not valid UTF-8: `/repo/caf�`; use a path that is
    "#]]
    .assert_eq(&eyelet(&tree, [OsStr::new("read"), path]));
    let words = [OsStr::new("grep-files"), OsStr::new("one"), path];
    expect![[r#"
        exit 2
        --- stderr
        eyelet: PATH is not valid UTF-8: `/repo/caf�`; use a path that is
    "#]]
    .assert_eq(&eyelet(&tree, words));
    let words = [OsStr::new("bash"), path];
    expect![[r#"
        exit 2
        --- stderr
        eyelet: invalid UTF-8 was detected in one or more arguments; usage: eyelet bash [OPTIONS] <COMMAND>
    "#]].assert_eq(&eyelet(&tree, words));
}

#[test]
fn missing_working_directory_is_an_error() {
    let tree = TempTree::new("d/");
    let script = r#"cd d && rmdir ../d && "$0" list-dir"#;
    let output = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(testkit::eyelet_bin())
        .current_dir(tree.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    expect![[r#"
        eyelet: cannot determine the working directory: No such file or directory (os error 2); set one with --cwd DIR
    "#]].assert_eq(&String::from_utf8_lossy(&output.stderr));
}
