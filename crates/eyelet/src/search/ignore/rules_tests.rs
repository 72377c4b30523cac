use std::path::Path;

use ignore::Match;

use super::{MAX_COST, compile_glob, cost, is_dot_file, nested_braces, parse};

#[test]
fn dot_files_start_but_do_not_end_with_a_dot() {
    let hidden = |path| is_dot_file(Path::new(path));
    assert!(hidden("/a/.b") && hidden(".b"));
    assert!(!hidden("/.a/b") && !hidden("/a/.b.") && !hidden("/a/..."));
}

#[test]
fn an_ignore_file_ends_at_a_line_that_is_not_utf8() {
    let rules = parse(Path::new("/r"), b"\xef\xbb\xbfone\r\ntwo\n[z-a]\nthree\nbad\xff\nfour");
    let ignored = |path: &str| matches!(rules.matched(path, false), Match::Ignore(_));
    assert!(ignored("/r/one") && ignored("/r/two") && ignored("/r/three"));
    assert!(!ignored("/r/four"));
}

#[test]
fn the_cost_limit_allows_100000_plain_rules_but_not_wildcards() {
    let rules = |line: &str| format!("{line}\n").repeat(100_000);
    assert!(
        cost(rules("a-name-of-some-fifty-characters-in-an-ignore-file-x").as_bytes()) <= MAX_COST
    );
    assert!(cost(rules("*.extension").as_bytes()) <= MAX_COST);
    assert!(cost(rules("a*b").as_bytes()) > MAX_COST);
}

#[test]
fn braces_are_counted_by_depth() {
    assert_eq!(nested_braces("{a,{b,c}}{d}"), 2);
    assert_eq!(nested_braces("}}{"), 1);
    assert!(compile_glob("include", &"{".repeat(501), Path::new("/")).is_err());
    assert!(compile_glob("include", "#comment", Path::new("/")).unwrap().is_empty());
}
