//! Trees with any names are listed like a naive model lists them; pages name each entry once.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use eyelet::tools::{FindFiles, FindFilesArgs, Ignored, ListDir, ListDirArgs};
use eyelet::{Report as _, SandboxPolicy, Tool as _, TurnContext, escape_name, is_escaped};
use testkit::{Choices, TempTree, naive_list, random_tree};

use crate::target::{Check, Target};

/// The target.
pub const TARGET: Target = Target { name: "trees", start };

fn start() -> Check {
    Box::new(|choices| {
        check_name(choices);
        let offset = choices.usize(1..12);
        let limit = if choices.bool() { choices.usize(1..12) } else { 10_000 };
        let depth = choices.usize(1..6);
        let page = choices.u64(1..10);
        let tree = random_tree(choices);
        add_any_names(&tree, choices);
        let turn = TurnContext::new(tree.path(), SandboxPolicy::Off).expect("the path is absolute");
        let listed = list(&turn, &tree, offset as u64, limit as u64, depth as u64);
        assert_eq!(listed, naive_list(tree.path(), offset, limit, depth));
        check_joined(&turn, &tree, page);
        check_found(&turn, page);
    })
}

/// A name stands on one line, without characters that control a terminal.
fn check_name(choices: &mut Choices<'_>) {
    let name = choices.bytes(40);
    let shown = escape_name(OsStr::from_bytes(&name));
    assert!(!shown.chars().any(is_escaped), "{}", name.escape_ascii());
    let lossy = String::from_utf8_lossy(&name);
    assert!(shown == lossy || lossy.chars().any(is_escaped));
}

/// Files whose names are any bytes.
fn add_any_names(tree: &TempTree, choices: &mut Choices<'_>) {
    for _ in 0..choices.usize(0..4) {
        let mut name = choices.bytes(255);
        name.retain(|byte| !b"/\0".contains(byte));
        if !matches!(name.as_slice(), b"" | b"." | b"..") {
            // It may exist as something else.
            let _ = std::fs::write(tree.path().join(OsStr::from_bytes(&name)), "x");
        }
    }
}

fn list(turn: &TurnContext, tree: &TempTree, offset: u64, limit: u64, depth: u64) -> String {
    let args = ListDirArgs {
        offset: Some(offset),
        limit: Some(limit),
        depth: Some(depth),
        ..ListDirArgs::new(tree.str())
    };
    match ListDir.run(args, turn) {
        Ok(report) => report.content(),
        Err(error) => error.to_string(),
    }
}

/// Pages of any size list every entry once.
fn check_joined(turn: &TurnContext, tree: &TempTree, size: u64) {
    let entries = |page: &str| -> Vec<String> {
        let lines = page.lines().skip(1).filter(|line| !line.starts_with("More than "));
        lines.map(str::to_owned).collect()
    };
    let mut whole = entries(&list(turn, tree, 1, u64::MAX, 99));
    whole.sort();
    let (mut joined, mut offset) = (Vec::new(), 1);
    loop {
        let page = list(turn, tree, offset, size, 99);
        joined.extend(entries(&page));
        offset += entries(&page).len() as u64;
        if !page.contains("\nMore than ") {
            break;
        }
    }
    joined.sort();
    assert_eq!(joined, whole);
}

/// The same for `find_files`.
fn check_found(turn: &TurnContext, size: u64) {
    let find = |offset, limit| {
        let ignored = Some(Ignored::Show);
        let (offset, limit) = (Some(offset), Some(limit));
        let args = FindFilesArgs { offset, limit, ignored, ..FindFilesArgs::new("*") };
        FindFiles.run(args, turn).expect("a tree can be searched")
    };
    let whole = find(1, 2000).files;
    let (mut joined, mut offset) = (Vec::new(), Some(1));
    while let Some(next) = offset {
        let report = find(next, size);
        offset = report.next_offset;
        assert!(offset.is_none_or(|offset| offset > next), "a page does not advance");
        joined.extend(report.files);
    }
    assert_eq!(joined, whole);
}
