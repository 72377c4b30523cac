//! Completions, manual page, definitions and limits.

use expect_test::expect;
use serde_json::Value;
use testkit::TempTree;
use testkit::cli::{command, eyelet};

const COMMANDS: [&str; 16] = [
    "call",
    "list-dir",
    "find-files",
    "grep-files",
    "read",
    "bash",
    "mcp",
    "tools",
    "stats",
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
    assert_eq!(page.matches("access only this directory (a root)").count(), 1);
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
          size of a reply                                             32 MiB              fails with `too_large`; use a smaller limit
          size of the JSON arguments                                  8 MiB               fails with `too_large`
          length of an error message                                  3,000 bytes         truncated in the middle
          run time of a call, except `bash` and `jobs`                30 seconds          fails with `timed_out`; for a text file, `read` returns the lines read so far
        list_dir
          entries per page, by default                                25 entries          the reply says `More than N entries found`; continue with offset
          levels, by default                                          2 levels            deeper entries are not listed; increase depth
          length of a name                                            500 bytes           the name is truncated
        find_files
          files per page, by default                                  100 files           continue with offset
          files per page, maximum                                     2,000 files         a higher limit is reduced to the maximum; continue with offset
        grep_files
          files or matching lines per page, by default                100 files           continue with offset
          files or matching lines per page, maximum                   2,000 files         a higher limit is reduced to the maximum; continue with offset
          matching lines per file                                     20 lines            the reply says how many more match; to see them, set path to the file
          lines of context before and after a match                   5 lines             fails with `invalid_input`
          length of a shown line                                      200 characters      the part around the first match is shown, with its column
          length of a pattern or glob                                 8,192 bytes         fails with `invalid_input`
          size of a compiled pattern                                  100 MiB             fails with `invalid_input`; use a simpler pattern, or (?-u:\w) instead of \w
          length of a line in a searched file                         16 MiB              the rest of the file is skipped; for show: files, most patterns have no such limit
        read
          lines per page                                              2,000 lines         `truncated` is true; continue with offset
          length of a line                                            500 characters      the line is truncated; continue with column
          hex dump of a binary file                                   512 bytes           the rest is not shown; set encoding to read the file as text
          size of an image file                                       32 MiB              fails with `too_large`
          pixels of an image, of all frames together                  100,000,000 pixels  fails with `too_large`
          size of an image when decoded                               400 MiB             fails with `too_large`
          width and height of an image as sent                        1,568 pixels        the image is scaled down; to see details, set region
          size of an image as sent                                    3,932,160 bytes     the image is sent as a smaller PNG or JPEG
        bash
          output shown for each of stdout and stderr                  51,200 bytes        truncated at a character boundary; saved in full to a file named in the reply
          default of `timeout_secs`                                   120 seconds         eyelet kills the command and returns its output so far; `timed_out` is true
          maximum of `timeout_secs`                                   600 seconds         a larger value is reduced to this one
          run time of a background job                                86,400 seconds      the job is killed; its output stays available
          time until a call with `background` returns                 2 seconds           the command continues as a job
          length of `command`                                         131,071 bytes       fails with `too_large`; write the command to a file and run the file
          size of a file of saved output                              256 MiB             only the start is saved; the reply says how many bytes were saved
          size of all saved output of a session                       1 GiB               the oldest files are removed
          age of output saved at the command line                     24 hours            the next run of eyelet removes the output
        jobs
          maximum of `wait_secs`                                      600 seconds         a larger value is reduced to this one
        the server
          concurrent `bash` calls                                     8 calls             further calls of these tools wait; calls of other tools do not
          concurrent `list_dir`, `find_files` and `grep_files` calls  4 calls             further calls of these tools wait; calls of other tools do not
          concurrent `read` calls                                     32 calls            further calls of these tools wait; calls of other tools do not
          running jobs of a session                                   8 jobs              fails with `busy`; stop a job with `jobs`
          running jobs of all sessions                                64 jobs             fails with `busy`; retry later
          `jobs` calls that wait for a job                            64 calls            fails with `busy`; retry without `wait_secs`
          waiting calls of one session, per kind of call              128 calls           fails with `busy`; retry later (the kinds are `bash`, `read`, `jobs` and all others)
          waiting calls of all sessions, per kind of call             1,024 calls         fails with `busy`; retry later (the kinds are `bash`, `read`, `jobs` and all others)
          sessions over HTTP                                          256 sessions        a new session ends the session that was idle the longest
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
    expect![[r#"{"tool":"every tool","what":"size of a reply","value":33554432,"unit":"bytes","beyond":"fails with `too_large`; use a smaller limit"}"#]].assert_eq(&rows[0].to_string());
}

#[test]
fn table_in_the_docs_is_current() {
    let page = include_str!("../../../../docs/limits.md");
    let (_, rest) = page.split_once("<!-- limits -->\n").unwrap();
    let (table, _) = rest.split_once("<!-- /limits -->").unwrap();
    assert_eq!(table, stdout(&["limits", "--markdown"]));
}
