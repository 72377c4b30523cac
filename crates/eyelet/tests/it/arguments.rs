//! How arguments are parsed. The rules are the same for every tool.

use expect_test::expect;
use serde_json::json;
use testkit::TempTree;

use crate::ask::{content, text, turn};

fn list(arguments: &str) -> String {
    let tree = TempTree::new("a\nb");
    let arguments = arguments.replace("DIR", tree.str());
    tree.redact(&text(&turn(tree.path()), "list_dir", &arguments))
}

#[test]
fn numbers_may_be_integers_whole_floats_or_digit_strings() {
    for limit in ["1", "1.0", "\"1\"", "1e0"] {
        assert_eq!(
            list(&format!(r#"{{"dir_path":"DIR","limit":{limit}}}"#)),
            "Absolute path: /repo\na\nMore than 1 entries found"
        );
    }
}

#[test]
fn the_largest_number_has_64_bits() {
    for limit in ["18446744073709551615", "\"18446744073709551615\""] {
        assert_eq!(
            list(&format!(r#"{{"dir_path":"DIR","limit":{limit},"depth":{limit}}}"#)),
            "Absolute path: /repo\na\nb"
        );
    }
}

#[test]
fn invalid_numbers_are_refused_with_the_expected_range() {
    let refused: Vec<String> = [
        "-1",
        "1.5",
        "-1.0",
        "1e400",
        "18446744073709551616",
        "\"18446744073709551616\"",
        "\"x\"",
        "\" 1\"",
        "\"+1\"",
        "\"-1\"",
        "\"1.0\"",
        "true",
        "[]",
        "{}",
        "\"١\"",
    ]
    .iter()
    .map(|limit| list(&format!(r#"{{"dir_path":"DIR","limit":{limit}}}"#)))
    .map(|text| text.split(" at line ").next().unwrap().to_owned())
    .collect();
    expect![[r#"
        error invalid_input: failed to parse function arguments: `limit`: invalid value: integer `-1`, expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid value: floating point `1.5`, expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid value: floating point `-1.0`, expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: number out of range
        error invalid_input: failed to parse function arguments: `limit`: invalid value: floating point `1.8446744073709552e+19`, expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid value: string "18446744073709551616", expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid value: string "x", expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid value: string " 1", expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid value: string "+1", expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid value: string "-1", expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid value: string "1.0", expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid type: boolean `true`, expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid type: sequence, expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid type: map, expected a whole number from 0 to 18446744073709551615
        error invalid_input: failed to parse function arguments: `limit`: invalid value: string "١", expected a whole number from 0 to 18446744073709551615"#]]
    .assert_eq(&refused.join("\n"));
}

#[test]
fn null_means_that_an_optional_field_is_absent() {
    assert_eq!(
        list(r#"{"dir_path":"DIR","limit":null,"offset":null,"depth":null}"#),
        "Absolute path: /repo\na\nb"
    );
}

#[test]
fn blank_optional_values_count_as_absent() {
    let tree = TempTree::new("a = x");
    for (tool, required, optional) in [
        ("list_dir", r#""dir_path":"DIR""#, &["offset", "limit", "depth", "ignored"][..]),
        ("find_files", r#""pattern":"a""#, &["path", "offset", "limit", "ignored"]),
        (
            "grep_files",
            r#""pattern":"x""#,
            &["include", "path", "offset", "limit", "show", "context"],
        ),
        ("read", r#""path":"a""#, &["file_path", "offset", "limit", "column"]),
        ("bash", r#""command":"cat a""#, &["cwd", "timeout_secs", "keep"]),
    ] {
        let required = required.replace("DIR", tree.str());
        let call = |rest: &str| text(&turn(tree.path()), tool, &format!("{{{required}{rest}}}"));
        let expected = call("");
        assert!(!expected.starts_with("error"), "{tool}: {expected}");
        for name in optional {
            for blank in ["", " ", "\\t"] {
                assert_eq!(call(&format!(r#","{name}":"{blank}""#)), expected, "{tool} {name}");
            }
        }
    }
}

#[test]
fn path_stands_for_dir_path() {
    assert_eq!(list(r#"{"path":"DIR","limit":1}"#), list(r#"{"dir_path":"DIR","limit":1}"#));
    expect!["error invalid_input: failed to parse function arguments: duplicate field `dir_path` at line 1 column 23"]
        .assert_eq(&list(r#"{"path":"/r","dir_path":"/r"}"#));
}

#[test]
fn an_unknown_field_is_named_with_the_known_fields() {
    expect!["error invalid_input: failed to parse function arguments: unknown field `limitt`, expected one of `dir_path`, `offset`, `limit`, `depth`, `ignored` at line 1 column 26"]
        .assert_eq(&list(r#"{"dir_path":"/r", "limitt":1}"#));
}

#[test]
fn a_missing_field_is_named() {
    expect![[r#"error invalid_input: failed to parse function arguments: missing field `dir_path` at line 1 column 2"#]]
        .assert_eq(&list("{}"));
}

#[test]
fn a_duplicate_field_is_refused() {
    expect!["error invalid_input: failed to parse function arguments: duplicate field `limit` at line 1 column 34"]
        .assert_eq(&list(r#"{"dir_path":"/r","limit":1,"limit":2}"#));
}

#[test]
fn a_string_of_the_wrong_type_is_refused() {
    expect!["error invalid_input: failed to parse function arguments: `dir_path`: invalid type: integer `7`, expected a string at line 1 column 13"]
        .assert_eq(&list(r#"{"dir_path":7}"#));
}

#[test]
fn malformed_json_and_non_objects_are_refused() {
    let refused: Vec<String> = [
        "",
        " ",
        "{",
        "null",
        "7",
        "\"x\"",
        "[]",
        r#"["/"]"#,
        r#"{"dir_path":"/"} x"#,
        "[[",
        "nul",
        r#"{"dir_path":"\ud800"}"#,
    ]
    .iter()
    .map(|arguments| list(arguments))
    .collect();
    expect![[r#"
        error invalid_input: failed to parse function arguments: EOF while parsing a value at line 1 column 0
        error invalid_input: failed to parse function arguments: EOF while parsing a value at line 1 column 1
        error invalid_input: failed to parse function arguments: EOF while parsing an object at line 1 column 1
        error invalid_input: failed to parse function arguments: expected a JSON object
        error invalid_input: failed to parse function arguments: expected a JSON object
        error invalid_input: failed to parse function arguments: expected a JSON object
        error invalid_input: failed to parse function arguments: expected a JSON object
        error invalid_input: failed to parse function arguments: expected a JSON object
        error invalid_input: failed to parse function arguments: trailing characters at line 1 column 18
        error invalid_input: failed to parse function arguments: EOF while parsing a list at line 1 column 2
        error invalid_input: failed to parse function arguments: EOF while parsing a value at line 1 column 3
        error invalid_input: failed to parse function arguments: `dir_path`: unexpected end of hex escape at line 1 column 20"#]]
    .assert_eq(&refused.join("\n"));
}

#[test]
fn deeply_nested_json_is_refused_without_a_crash() {
    let deep = "[".repeat(200_000);
    for arguments in [deep.clone(), format!(r#"{{"dir_path":{deep}"#)] {
        let answer = list(&arguments);
        assert!(answer.starts_with("error invalid_input: failed to parse"), "{answer}");
    }
}

#[test]
fn refused_json_is_not_built_in_memory() {
    testkit::in_own_process("arguments::refused_json_is_not_built_in_memory", || {
        let list_of_numbers = format!("[{}0]", "0,".repeat(4_000_000));
        for arguments in [list_of_numbers.clone(), format!(r#"{{"limit":{list_of_numbers}}}"#)] {
            let before = testkit::peak_memory();
            let answer = list(&arguments);
            assert!(answer.starts_with("error invalid_input: failed to parse"), "{answer}");
            let grown = testkit::peak_memory() - before;
            assert!(grown < 64 << 20, "grew by {grown} bytes");
        }
    });
}

#[test]
fn arguments_above_the_limit_are_refused_unparsed() {
    let long = format!(r#"{{"dir_path":"/{}"}}"#, "x".repeat(eyelet::limits::MAX_ARGUMENT_BYTES));
    expect!["error too_large: arguments are too large: 8388624 bytes, the maximum is 8388608"]
        .assert_eq(&list(&long));
}

#[test]
fn an_unknown_tool_error_lists_the_known_tools() {
    let tree = TempTree::new("");
    let answer = content(&turn(tree.path()), "write\n_file", &json!({}));
    expect![[r#"error unknown_tool: unknown tool `write\n_file`, expected one of list_dir, find_files, grep_files, read, bash, jobs"#]]
        .assert_eq(&answer);
}

#[test]
fn truth_values_may_be_strings() {
    let tree = TempTree::new("");
    tree.file("a", "x\n");
    let turn = turn(tree.path());
    for numbers in [json!(true), json!("true"), json!(" true ")] {
        let page = content(&turn, "read", &json!({"path": "a", "numbers": numbers}));
        assert_eq!(page, "[lines 1-1 of 1]\n1\tx\n", "{numbers}");
    }
    for numbers in [json!(false), json!("false"), json!(""), json!(null)] {
        let page = content(&turn, "read", &json!({"path": "a", "numbers": numbers}));
        assert_eq!(page, "[lines 1-1 of 1]\nx\n", "{numbers}");
    }
    let error = content(&turn, "read", &json!({"path": "a", "numbers": "yes"}));
    assert!(error.contains("`numbers`") && error.contains("true or false"), "{error}");
}
