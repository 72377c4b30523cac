//! Completions, manual page, definitions and limits.

use expect_test::expect;
use serde_json::Value;
use testkit::TempTree;
use testkit::cli::{command, eyelet};

const COMMANDS: [&str; 14] = [
    "call",
    "list-dir",
    "grep-files",
    "read",
    "bash",
    "mcp",
    "tools",
    "limits",
    "doctor",
    "setup",
    "config",
    "completions",
    "man",
    "help",
];

fn stdout(arguments: &[&str]) -> String {
    let output = command(&TempTree::new("")).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    assert!(output.stderr.is_empty(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn completions_have_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn bash_accepts_its_completions() {
    let script = stdout(&["completions", "bash"]);
    let checked = std::process::Command::new("bash").args(["-n", "-c", &script]).status();
    assert!(checked.unwrap().success());
}

#[test]
fn manual_has_every_command_and_shared_flags_once() {
    let page = stdout(&["man"]);
    assert!(page.contains(".TH eyelet 1"), "{page}");
    for command in COMMANDS {
        assert!(page.contains(&format!(".SH \"eyelet {command}\"\n")), "{command}");
    }
    assert_eq!(page.matches("Confine the tools to this directory").count(), 1);
}

#[test]
fn definitions_have_three_formats() {
    let mut result = String::new();
    for format in ["mcp", "openai", "anthropic"] {
        let tools: Value = serde_json::from_str(&stdout(&["tools", "--format", format])).unwrap();
        let first = tools.as_array().unwrap().first().unwrap().as_object().unwrap();
        let keys: Vec<_> = first.keys().map(String::as_str).collect();
        result.push_str(&format!("{format}: {}\n", keys.join(", ")));
    }
    expect![[r#"
        mcp: name, title, description, inputSchema, annotations
        openai: type, function
        anthropic: name, description, input_schema
    "#]]
    .assert_eq(&result);
    assert_eq!(stdout(&["tools"]), stdout(&["tools", "--format", "mcp"]));
}

#[test]
fn limits_are_printed_as_a_table() {
    expect![[r#"
        exit 0
        --- stdout
        every tool
          an answer                                     32 MiB           `too_large`, and how to ask for less
          the JSON of the arguments                     8 MiB            `too_large`
          time for `list_dir`, `grep_files` and `read`  30 seconds       `timed_out`; `read` still answers, and says that its total is not exact
        list_dir
          entries a page, unless asked                  25 entries       `More than N entries found`; page with offset
          levels, unless asked                          2 levels         deeper entries are not listed; ask for more depth
          a name                                        500 bytes        cut at a character
        grep_files
          files a page, unless asked                    100 files        page with offset
          files a page, at most                         2,000 files      a higher limit is taken as this; page with offset
          a pattern or a glob                           8,192 bytes      `invalid_input`
          a line that has to be searched whole          16 MiB           the file is searched up to that line
        read
          lines a page                                  2,000 lines      `truncated` is true; page with offset
          a line                                        500 characters   cut; page with column
          an image                                      3,932,160 bytes  `too_large`
        bash
          output shown of stdout and stderr, each       51,200 bytes     truncated at a character boundary; saved in full to a file named in the reply
          default of `timeout_secs`                     120 seconds      the command is killed; its output so far is returned, `timed_out` is true
          maximum of `timeout_secs`                     600 seconds      reduced to this value
          length of `command`                           131,071 bytes    `too_large`; write it to a file and run that
          one file of saved output                      256 MiB          only the start is saved; the reply says how many bytes
          all saved output of a session                 1 GiB            the oldest files are removed
          age of output saved by the command line       24 hours         removed at the next start
        the server
          `bash` calls at once                          8 calls          waits for its turn; other kinds are not held up
          `list_dir` and `grep_files` calls at once     4 calls          waits for its turn; other kinds are not held up
          `read` calls at once                          32 calls         waits for its turn; other kinds are not held up
          calls of each of these kinds that wait        128 calls        `busy`; call again when some have answered
    "#]].assert_eq(&eyelet(&TempTree::new(""), ["limits"]));
}

#[test]
fn limits_have_the_same_rows_in_every_format() {
    let markdown = stdout(&["limits", "--markdown"]);
    let json: Value = serde_json::from_str(&stdout(&["limits", "--json"])).unwrap();
    let rows = json.as_array().unwrap();
    assert_eq!(markdown.lines().count(), rows.len() + 2);
    for (line, row) in markdown.lines().skip(2).zip(rows) {
        assert_eq!(line.split('|').count(), 6, "{line}");
        assert!(line.contains(row["what"].as_str().unwrap()), "{line}");
    }
    expect![[r#"{"tool":"every tool","what":"an answer","value":33554432,"unit":"bytes","beyond":"`too_large`, and how to ask for less"}"#]].assert_eq(&rows[0].to_string());
}

#[test]
fn table_in_the_docs_is_current() {
    let page = include_str!("../../../../docs/limits.md");
    let (_, rest) = page.split_once("<!-- limits -->\n").unwrap();
    let (table, _) = rest.split_once("<!-- /limits -->").unwrap();
    assert_eq!(table, stdout(&["limits", "--markdown"]));
}
