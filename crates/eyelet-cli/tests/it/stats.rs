//! `eyelet stats`: the context report as text and as JSON.

use std::collections::BTreeSet;

use expect_test::expect;
use serde_json::{Value, json};
use testkit::TempTree;
use testkit::cli::{command, eyelet};
use testkit::mcp_client::Server;

use crate::terminal::on_a_terminal_of;

/// The record of the example in docs/records.md.
pub(crate) const RECORD: &str = include_str!("stats_record.jsonl");
const DOCUMENTATION: &str = include_str!("../../../../docs/records.md");

pub(crate) fn tree() -> TempTree {
    let tree = TempTree::new("");
    tree.file("calls", RECORD);
    tree
}

/// A recorded call with these fields besides those that every call has.
fn call(fields: Value) -> String {
    let mut call = json!({"time": "2026-11-18T20:05:17.123Z", "server": 1, "session": 1,
        "tool": "read", "shown": 0, "withheld": 0, "tokens": 0, "ms": 0});
    call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    format!("{call}\n")
}

/// The report on a record with these calls.
fn report(calls: &[String], flags: &[&str]) -> Value {
    let tree = TempTree::new("");
    tree.file("calls", calls.concat());
    let output = command(&tree).args(["stats", "calls", "--json"]).args(flags).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn report_adds_up_calls_by_tool_and_path() {
    expect![[r#"
        exit 0
        --- stdout
        10 calls, 2026-11-18 20:05 to 20:09 UTC

        tokens shown    9,278 (estimate)
        bytes shown     27.6 kB
        bytes withheld  207.6 kB
        time            1 min 1 s
        errors          1
        refusals        1
        repeated reads  1 (1,703 tokens)

        By tool
        calls  tokens      shown  withheld       time  errors  refusals  tool
            5   7,536    20.6 kB   27.4 kB      40 ms       1         0  read
            2   1,144     4.6 kB  180.2 kB  1 min 1 s       0         1  bash
            2     363     1.4 kB   0 bytes      35 ms       0         0  grep_files
            1     235  940 bytes   0 bytes       3 ms       0         0  list_dir

        By path
        calls  tokens     shown  withheld       time  errors  refusals  path
            3   5,109   20.4 kB   27.4 kB       4 ms       0         0  /srv/project/src/main.rs
            1   2,404  80 bytes   0 bytes      35 ms       0         0  /srv/project/docs/logo.png
            4   1,732    6.9 kB  180.2 kB  1 min 1 s       0         1  /srv/project
            1      23  92 bytes   0 bytes       1 ms       1         0  /srv/project/sec/main.rs
            1      10  37 bytes   0 bytes      14 ms       0         0  /srv/project/src

        Costliest calls
        tokens      shown  withheld       time        tool    outcome  path or command
         2,404   80 bytes   0 bytes      35 ms        read             /srv/project/docs/logo.png
         1,703     6.8 kB    9.1 kB       2 ms        read             /srv/project/src/main.rs:1-200
         1,703     6.8 kB    9.1 kB       1 ms        read             /srv/project/src/main.rs:1-200
         1,703     6.8 kB    9.1 kB       1 ms        read             /srv/project/src/main.rs:1-200
         1,078     4.3 kB  180.2 kB  1 min 1 s        bash   exit 101  cargo test
           353     1.4 kB   0 bytes      21 ms  grep_files             /srv/project
           235  940 bytes   0 bytes       3 ms    list_dir             /srv/project
            66  263 bytes   0 bytes     412 ms        bash     exit 7  curl https://registry.example/index
            23   92 bytes   0 bytes       1 ms        read  not_found  /srv/project/sec/main.rs
            10   37 bytes   0 bytes      14 ms  grep_files             /srv/project/src

        Repeated reads of the same range
        reads  repeats  tokens  lines  path
            2        1   1,703  1-200  /srv/project/src/main.rs

        Searches that found nothing
        searches  tokens   time        tool  path
               1      10  14 ms  grep_files  /srv/project/src

        Errors
        calls  error
            1  not_found

        Sandbox refusals
        calls  refusal
            1  sandbox blocked: connect registry.example:443
    "#]].assert_eq(&eyelet(&tree(), ["stats", "calls"]));
}

#[test]
fn report_in_the_docs_is_that_of_the_example() {
    let (_, rest) = DOCUMENTATION.split_once("<!-- stats -->\n```text\n").unwrap();
    let (text, _) = rest.split_once("```\n<!-- /stats -->").unwrap();
    assert_eq!(eyelet(&tree(), ["stats", "calls"]), format!("exit 0\n--- stdout\n{text}"));
    // The lines of the example in the section about the record are among those of the report.
    let lines = DOCUMENTATION.lines().filter(|line| line.starts_with("{\"time\""));
    assert!(lines.clone().count() > 0 && lines.into_iter().all(|line| RECORD.contains(line)));
}

#[test]
fn json_report_has_only_documented_fields() {
    let output = command(&tree()).args(["stats", "calls", "--json"]).output().unwrap();
    assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 1);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut names = BTreeSet::new();
    collect_names(&report, &mut names);
    assert!(names.len() > 25, "{names:?}");
    for name in names {
        assert!(DOCUMENTATION.contains(&format!("`{name}`")), "{name} is not documented");
    }
    expect![[r#"
        {
          "files": [
            "calls"
          ],
          "unreadable_lines": 0,
          "first": "2026-11-18T20:05:12.004Z",
          "last": "2026-11-18T20:09:48.315Z",
          "total": {
            "calls": 10,
            "tokens": 9278,
            "shown": 27570,
            "withheld": 207584,
            "ms": 61523,
            "errors": 1,
            "refusals": 1
          },
          "timeline": {
            "bar_secs": 5,
            "bars": [
              {
                "time": "2026-11-18T20:05:10Z",
                "calls": 1,
                "tokens": 235,
                "tokens_by_tool": {
                  "list_dir": 235
                }
              }
            ]
          },
          "tools": {
            "rows": [
              {
                "tool": "read",
                "calls": 5,
                "tokens": 7536,
                "shown": 20608,
                "withheld": 27360,
                "ms": 40,
                "errors": 1,
                "refusals": 0
              }
            ],
            "others": {
              "calls": 0,
              "tokens": 0,
              "shown": 0,
              "withheld": 0,
              "ms": 0,
              "errors": 0,
              "refusals": 0
            }
          },
          "paths": {
            "rows": [
              {
                "path": "/srv/project/src/main.rs",
                "calls": 3,
                "tokens": 5109,
                "shown": 20436,
                "withheld": 27360,
                "ms": 4,
                "errors": 0,
                "refusals": 0
              }
            ],
            "others": {
              "calls": 0,
              "tokens": 0,
              "shown": 0,
              "withheld": 0,
              "ms": 0,
              "errors": 0,
              "refusals": 0
            }
          },
          "costliest_calls": [
            {
              "time": "2026-11-18T20:08:11.640Z",
              "server": 4711,
              "session": 2,
              "tool": "read",
              "path": "/srv/project/docs/logo.png",
              "shown": 80,
              "withheld": 0,
              "tokens": 2404,
              "ms": 35
            }
          ],
          "repeated_reads": {
            "repeats": 1,
            "tokens": 1703,
            "rows": [
              {
                "path": "/srv/project/src/main.rs",
                "range": [
                  1
                ],
                "reads": 2,
                "repeats": 1,
                "tokens": 1703
              }
            ]
          },
          "empty_searches": {
            "rows": [
              {
                "tool": "grep_files",
                "path": "/srv/project/src",
                "calls": 1,
                "tokens": 10,
                "shown": 37,
                "withheld": 0,
                "ms": 14,
                "errors": 0,
                "refusals": 0
              }
            ],
            "others": {
              "calls": 0,
              "tokens": 0,
              "shown": 0,
              "withheld": 0,
              "ms": 0,
              "errors": 0,
              "refusals": 0
            }
          },
          "errors": {
            "rows": [
              {
                "error": "not_found",
                "calls": 1,
                "tokens": 23,
                "shown": 92,
                "withheld": 0,
                "ms": 1,
                "errors": 1,
                "refusals": 0
              }
            ],
            "others": {
              "calls": 0,
              "tokens": 0,
              "shown": 0,
              "withheld": 0,
              "ms": 0,
              "errors": 0,
              "refusals": 0
            }
          },
          "refusals": {
            "rows": [
              {
                "refusal": "sandbox blocked: connect registry.example:443",
                "calls": 1,
                "tokens": 66,
                "shown": 263,
                "withheld": 0,
                "ms": 412,
                "errors": 0,
                "refusals": 1
              }
            ],
            "others": {
              "calls": 0,
              "tokens": 0,
              "shown": 0,
              "withheld": 0,
              "ms": 0,
              "errors": 0,
              "refusals": 0
            }
          }
        }"#]]
    .assert_eq(&format!("{:#}", shortened(report)));
}

/// The names of all fields, except those that are names of tools.
fn collect_names(value: &Value, names: &mut BTreeSet<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        names.insert(name.clone());
        if name != "tokens_by_tool" {
            collect_names(value, names);
        }
    }
    for item in value.as_array().into_iter().flatten() {
        collect_names(item, names);
    }
}

/// The report with one item of each list.
fn shortened(mut report: Value) -> Value {
    if let Some(items) = report.as_array_mut() {
        items.truncate(1);
        items.iter_mut().for_each(|item| *item = shortened(item.take()));
    }
    for (_, value) in report.as_object_mut().into_iter().flatten() {
        *value = shortened(value.take());
    }
    report
}

#[test]
fn server_and_report_agree() {
    let tree = TempTree::new("src/a.txt = one");
    let record = tree.beside().join("calls");
    let mut server = Server::initialized(&tree, &["--record", record.to_str().unwrap()], "test");
    let shown: Vec<_> =
        (0..3).map(|_| server.text("read", json!({"path": "src/a.txt"})).len() as u64).collect();
    server.text("grep_files", json!({"pattern": "none", "path": "./src/"}));
    server.error("read", json!({"path": "gone"}));
    server.close();
    let output = command(&tree).args(["stats", "--json"]).arg(&record).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["total"]["calls"], &report["unreadable_lines"]), (&json!(5), &json!(0)));
    let root = tree.path().canonicalize().unwrap();
    let paths = report["paths"]["rows"].as_array().unwrap();
    let file = paths.iter().find(|row| row["path"] == json!(root.join("src/a.txt"))).unwrap();
    assert_eq!(file["shown"], json!(shown.iter().sum::<u64>()));
    let repeated = &report["repeated_reads"]["rows"][0];
    assert_eq!((&repeated["reads"], &repeated["repeats"]), (&json!(3), &json!(2)));
    assert_eq!(report["empty_searches"]["rows"][0]["path"], json!(root.join("src")));
    assert_eq!(report["errors"]["rows"][0]["error"], "not_found");
}

#[test]
fn read_is_a_repeat_if_its_session_had_the_same_range_and_size() {
    let read = |session: u64, last: u64, shown: u64| {
        call(json!({"session": session, "path": "/a", "range": [1, last], "shown": shown,
            "tokens": shown / 4}))
    };
    let other_server = call(json!({"server": 2, "path": "/a", "range": [1, 9], "shown": 400}));
    let failed = call(json!({"path": "/a", "range": [1, 9], "shown": 400, "error": "timed_out"}));
    let image = || call(json!({"path": "/b", "shown": 400}));
    let calls = [
        read(1, 9, 400),
        read(1, 8, 400),
        read(1, 9, 404),
        read(2, 9, 400),
        other_server,
        failed,
        image(),
        image(),
    ];
    assert_eq!(report(&calls, &[])["repeated_reads"]["repeats"], 0);
    let calls = [calls.as_slice(), &[read(1, 9, 400), read(1, 9, 400), read(2, 9, 400)]].concat();
    assert_eq!(
        report(&calls, &[])["repeated_reads"],
        json!({"repeats": 3, "tokens": 300, "rows": [
            {"path": "/a", "range": [1, 9], "reads": 5, "repeats": 3, "tokens": 300}
        ]})
    );
}

#[test]
fn rows_beyond_the_limit_are_added_to_others() {
    let calls: Vec<_> =
        (1..=5).map(|n| call(json!({"path": format!("/{n}"), "tokens": n, "ms": 1}))).collect();
    let limited = report(&calls, &["--limit", "2"]);
    let paths = limited["paths"]["rows"].as_array().unwrap();
    let paths: Vec<_> = paths.iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/5", "/4"]);
    let others = &limited["paths"]["others"];
    assert_eq!(
        (&others["calls"], &others["tokens"], &others["ms"]),
        (&json!(3), &json!(6), &json!(3))
    );
    let costliest = limited["costliest_calls"].as_array().unwrap();
    assert_eq!(costliest.iter().map(|call| &call["tokens"]).collect::<Vec<_>>(), [5, 4]);
    assert_eq!(limited["total"]["tokens"], 15);
}

#[test]
fn several_files_make_one_report() {
    let tree = tree();
    tree.file("calls.1", call(json!({"time": "2026-11-17T23:59:59.000Z", "tokens": 5})));
    let text = eyelet(&tree, ["stats", "calls", "calls.1"]);
    assert!(text.contains("11 calls, 2026-11-17 23:59 to 2026-11-18 20:09 UTC"), "{text}");
}

#[test]
fn lines_that_are_not_calls_are_reported() {
    let tree = TempTree::new("");
    let (half, _) = RECORD.split_at(RECORD.len() - 40);
    tree.file("calls", format!("# calls\n\n{half}"));
    let text = eyelet(&tree, ["stats", "calls"]);
    assert!(text.contains("\n9 calls, "), "{text}");
    assert!(text.contains("\nskipped lines   1 (not calls)\n"), "{text}");
}

#[test]
fn record_without_calls_says_so() {
    let tree = TempTree::new("");
    tree.file("empty", "");
    tree.file("notes", "one\ntwo\n");
    let text: String =
        [["stats", "empty"], ["stats", "notes"]].map(|words| eyelet(&tree, words)).concat();
    expect![[r#"
        exit 0
        --- stdout
        No calls in empty: the record is empty.
        exit 0
        --- stdout
        No calls in notes: none of 2 lines is a recorded call.
    "#]]
    .assert_eq(&text);
    let output = command(&tree).args(["stats", "empty", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["total"]["calls"], &report["first"]), (&json!(0), &json!(null)));
}

#[test]
fn record_that_cannot_be_read_is_one_line_and_exit_2() {
    let tree = TempTree::new("calls/a.txt");
    let text: String = [
        &["stats"][..],
        &["stats", "gone"],
        &["stats", "calls"],
        &["stats", "calls/a.txt", "--json", "--html", "out"],
        &["stats", "calls/a.txt", "--html", "gone/out"],
        &["stats", "calls/a.txt", "--html", "./calls/a.txt"],
        &["stats", "calls/a.txt", "--limit", "ten"],
    ]
    .map(|words| eyelet(&tree, words))
    .concat();
    expect![[r#"
        exit 2
        --- stderr
        eyelet: the following required arguments were not provided: <FILE>...; usage: eyelet stats <FILE>...
        exit 2
        --- stderr
        eyelet: cannot read `gone`: No such file or directory (os error 2); use a file that `eyelet mcp --record` has written
        exit 2
        --- stderr
        eyelet: cannot read `calls`: Is a directory (os error 21); use a file that `eyelet mcp --record` has written
        exit 2
        --- stderr
        eyelet: the argument '--json' cannot be used with '--html <OUT>'; usage: eyelet stats --json <FILE>...
        exit 2
        --- stderr
        eyelet: --html `gone/out`: cannot write to it: No such file or directory (os error 2)
        exit 2
        --- stderr
        eyelet: --html `./calls/a.txt`: the page would replace the record; use another file
        exit 2
        --- stderr
        eyelet: invalid value 'ten' for '--limit <N>': expected a whole number from 0 to 18446744073709551615; see `--help`
    "#]].assert_eq(&text);
}

#[test]
fn terminal_shows_sparklines_that_fit_its_width() {
    let tree = tree();
    let shown = |width: u16, variable: &str, value: &str| {
        let mut command = command(&tree);
        command.env("TERM", "xterm").env(variable, value).args(["stats", "calls"]);
        on_a_terminal_of(width, &mut command)
    };
    expect![[r#"
        ESC[1m10 calls, 2026-11-18 20:05 to 20:09 UTCESC[0m

        tokens shown    9,278 (estimate)
        bytes shown     27.6 kB
        bytes withheld  207.6 kB
        time            1 min 1 s
        errors          1
        refusals        1
        repeated reads  1 (1,703 tokens)

        ESC[1mTokens over time, from 20:05:10; each character is 5 sESC[0m
        ESC[36m▁▆▄               ▂   ▆     ▆       █▁                 ▁ESC[0m  all
        ESC[36m ▆                    ▆     ▆       █▁                  ESC[0m  read
        ESC[36m  ▄                                                    ▁ESC[0m  bash
        ESC[36m                  ▂                                     ESC[0m  grep_files
        ESC[36m▁                                                       ESC[0m  list_dir

        ESC[1mBy toolESC[0m
        calls  tokens      shown  withheld       time  errors  refusals  tool
            5   7,536    20.6 kB   27.4 kB      40 ms       1         0  read
            2   1,144     4.6 kB  180.2 kB  1 min 1 s       0         1  bash
            2     363     1.4 kB   0 bytes      35 ms       0         0  grep_files
            1     235  940 bytes   0 bytes       3 ms       0         0  list_dir

        ESC[1mBy pathESC[0m
        calls  tokens     shown  withheld       time  errors  path
            3   5,109   20.4 kB   27.4 kB       4 ms       0  /srv/project/src/main.rs
            1   2,404  80 bytes   0 bytes      35 ms       0  /srv/project/docs/logo.png
            4   1,732    6.9 kB  180.2 kB  1 min 1 s       0  /srv/project
            1      23  92 bytes   0 bytes       1 ms       1  /srv/project/sec/main.rs
            1      10  37 bytes   0 bytes      14 ms       0  /srv/project/src

        ESC[1mCostliest callsESC[0m
        tokens      shown  withheld       time        tool  path or command
         2,404   80 bytes   0 bytes      35 ms        read  /srv/project/docs/logo.png
         1,703     6.8 kB    9.1 kB       2 ms        read  …v/project/src/main.rs:1-200
         1,703     6.8 kB    9.1 kB       1 ms        read  …v/project/src/main.rs:1-200
         1,703     6.8 kB    9.1 kB       1 ms        read  …v/project/src/main.rs:1-200
         1,078     4.3 kB  180.2 kB  1 min 1 s        bash  cargo test
           353     1.4 kB   0 bytes      21 ms  grep_files  /srv/project
           235  940 bytes   0 bytes       3 ms    list_dir  /srv/project
            66  263 bytes   0 bytes     412 ms        bash  curl https://registry.examp…
            23   92 bytes   0 bytes       1 ms        read  /srv/project/sec/main.rs
            10   37 bytes   0 bytes      14 ms  grep_files  /srv/project/src

        ESC[1mRepeated reads of the same rangeESC[0m
        reads  repeats  tokens  lines  path
            2        1   1,703  1-200  /srv/project/src/main.rs

        ESC[1mSearches that found nothingESC[0m
        searches  tokens   time        tool  path
               1      10  14 ms  grep_files  /srv/project/src

        ESC[1mErrorsESC[0m
        calls  error
            1  not_found

        ESC[1mSandbox refusalsESC[0m
        calls  refusal
            1  sandbox blocked: connect registry.example:443
    "#]]
    .assert_eq(&shown(80, "NO_COLOR", ""));
    let plain = shown(80, "NO_COLOR", "1");
    assert!(plain.contains("▁") && !plain.contains("ESC"), "{plain}");
    let narrow = shown(44, "NO_COLOR", "1");
    expect![[r#"
        10 calls, 2026-11-18 20:05 to 20:09 UTC

        tokens shown    9,278 (estimate)
        bytes shown     27.6 kB
        bytes withheld  207.6 kB
        time            1 min 1 s
        errors          1
        refusals        1
        repeated reads  1 (1,703 tokens)

        Tokens over time, from 20:05:10; each character is 10 s
        ▇▄       ▂ ▆  ▆   █        ▁  all
        ▆          ▆  ▆   █           read
         ▄                         ▁  bash
                 ▂                    grep_files
        ▁                             list_dir

        By tool
        calls  tokens      shown  tool
            5   7,536    20.6 kB  read
            2   1,144     4.6 kB  bash
            2     363     1.4 kB  grep_files
            1     235  940 bytes  list_dir

        By path
        calls  tokens  path
            3   5,109  /srv/project/src/main.rs
            1   2,404  /srv/project/docs/logo.png
            4   1,732  /srv/project
            1      23  /srv/project/sec/main.rs
            1      10  /srv/project/src

        Costliest calls
        tokens      shown  path or command
         2,404   80 bytes  …rv/project/docs/logo.png
         1,703     6.8 kB  …roject/src/main.rs:1-200
         1,703     6.8 kB  …roject/src/main.rs:1-200
         1,703     6.8 kB  …roject/src/main.rs:1-200
         1,078     4.3 kB  cargo test
           353     1.4 kB  /srv/project
           235  940 bytes  /srv/project
            66  263 bytes  curl https://registry.ex…
            23   92 bytes  /srv/project/sec/main.rs
            10   37 bytes  /srv/project/src

        Repeated reads of the same range
        reads  repeats  path
            2        1  /srv/project/src/main.rs

        Searches that found nothing
        searches  tokens   time  path
               1      10  14 ms  /srv/project/src

        Errors
        calls  error
            1  not_found

        Sandbox refusals
        calls  refusal
            1  sandbox blocked: connect registry.ex…
    "#]]
    .assert_eq(&narrow);
    for line in narrow.lines().skip_while(|line| !line.starts_with("Tokens over")).skip(1) {
        assert!(line.chars().count() <= 44, "{line}");
    }
    let piped = eyelet(&tree, ["stats", "calls"]);
    assert!(!piped.contains(['▁', '█', '…', '\u{1b}']), "{piped}");
}

#[test]
fn control_characters_of_a_record_are_escaped() {
    let hostile = "\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\r\n";
    let calls = [
        call(json!({"tool": hostile, "path": hostile, "range": [1, 2], "error": hostile})),
        call(json!({"tool": "read", "path": hostile, "range": [1, 2]})),
        call(json!({"tool": "read", "path": hostile, "range": [1, 2]})),
        call(json!({"tool": "bash", "command": hostile, "refusals": [hostile]})),
        call(json!({"tool": hostile, "path": hostile, "found": 0})),
    ];
    let tree = TempTree::new("");
    tree.file("calls\u{1b}[2J", calls.concat());
    let arguments = ["stats", "calls\u{1b}[2J"];
    let mut command = command(&tree);
    let terminal = on_a_terminal_of(200, command.args(arguments));
    let json = on_a_terminal_of(200, command.arg("--json"));
    for text in [&terminal, &eyelet(&tree, arguments)] {
        // Each list that shows it, in one line.
        assert!(text.matches(r"\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\r\n").count() >= 9, "{text}");
    }
    for text in [terminal, json] {
        let is_control = |character: &char| eyelet::is_escaped(*character) && *character != '\n';
        assert_eq!(text.chars().find(is_control), None, "{text}");
        assert!(!text.contains("ESC"), "{text}");
    }
}

#[test]
fn memory_does_not_grow_with_the_record() {
    let tree = TempTree::new("");
    // 32 MiB of different paths, each of which is in three lists.
    let calls = (0..8_000).map(|number| {
        let path = format!("/{number}/{}", "x".repeat(4_080));
        call(json!({"path": path, "range": [1, 2], "found": 0}))
    });
    tree.file("calls", calls.collect::<String>());
    let script = "ulimit -v $((80 * 1024)); exec \"$0\" stats calls --json";
    let output = std::process::Command::new("bash")
        .args(["-c", script])
        .arg(testkit::eyelet_bin())
        .current_dir(tree.path())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(report["total"]["calls"], 8_000);
    assert_eq!(report["paths"]["rows"].as_array().unwrap().len(), 10);
}
