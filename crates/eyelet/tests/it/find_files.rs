//! `find_files`: which files match, the page, the errors, and what an empty result says.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use eyelet::tools::{FindFiles, FindFilesArgs, Ignored};
use eyelet::{
    AttachmentMode, DenyList, Envelope, FunctionCallError, ReplyBudget, Root, SearchEngine,
    Tool as _, ToolInvocation, ToolRouter, TurnContext,
};
use testkit::{RandomQuery, RandomRepo, TempTree};

use crate::grep_differential::{each_query, environment, modified, turn as repo_turn};
use crate::searching::turn;

const REPOSITORIES: u64 = 60;

const GLOBS: &[&str] = &[
    "*",
    "*.rs",
    "**/*.rs",
    "a*",
    "src/**/*.rs",
    "/*.rs",
    "/src/*",
    "src/*",
    "*.{rs,txt}",
    "[a-c]*",
    ".*",
    ".hidden",
    "**/lib*",
    "**",
    "a/**",
    "*a*/*",
    "**/src/**/b*",
    "foo",
    "#*",
    "?",
    "\\*",
];

fn reply(tree: &TempTree, turn: &TurnContext, arguments: &str) -> String {
    let arguments = arguments.replace("/repo", tree.str());
    let call = ToolInvocation::new("find_files", arguments, turn);
    match ToolRouter::new().call(&call).and_then(|output| output.reply()) {
        Ok(reply) => tree.redact(&reply),
        Err(FunctionCallError::RespondToModel(error)) => {
            tree.redact(&format!("error {}: {error}", error.code))
        }
        Err(fatal @ FunctionCallError::Fatal(_)) => panic!("{fatal}"),
    }
}

/// Checks the reply, which does not depend on the engine.
fn check(tree: &TempTree, arguments: &str, expected: Expect) {
    let embedded = reply(tree, &turn(tree), arguments);
    let rg = turn(tree).with_search_engine(SearchEngine::Rg);
    assert_eq!(embedded, reply(tree, &rg, arguments));
    expected.assert_eq(&embedded);
}

fn project() -> TempTree {
    let tree = TempTree::new(
        r".git/config
        .gitignore = target\n*.log
        .env
        src/main.rs
        src/deep/lib.rs
        target/out.rs
        a.log
        README.md
        link.rs -> src/main.rs",
    );
    for (seconds, name) in ["src/main.rs", "src/deep/lib.rs", "README.md"].iter().enumerate() {
        tree.modified(name, seconds as u64);
    }
    tree
}

#[test]
fn a_glob_without_a_slash_matches_names_at_any_depth() {
    check(
        &project(),
        r#"{"pattern":"*.rs"}"#,
        expect![[r#"
            /repo/src/deep/lib.rs
            /repo/src/main.rs"#]],
    );
}

#[test]
fn a_glob_with_a_slash_starts_at_the_path() {
    let tree = project();
    check(&tree, r#"{"pattern":"src/*.rs"}"#, expect!["/repo/src/main.rs"]);
    check(&tree, r#"{"pattern":"./src/*.rs"}"#, expect!["/repo/src/main.rs"]);
    check(&tree, r#"{"pattern":"deep/*","path":"/repo/src"}"#, expect!["/repo/src/deep/lib.rs"]);
    check(
        &tree,
        r#"{"pattern":"src/*.rs","path":"src"}"#,
        expect![[r#"
            No matches found.
            [searched 2 files]"#]],
    );
}

#[test]
fn hidden_and_ignored_files_are_found_only_on_request() {
    let tree = project();
    check(
        &tree,
        r#"{"pattern":"*.log"}"#,
        expect![[r#"
            No matches found.
            [searched 3 files; skipped 2 ignored]
            1 hidden or ignored file matches; use ignored: "show""#]],
    );
    check(
        &tree,
        r#"{"pattern":".*"}"#,
        expect![[r#"
            No matches found.
            [searched 3 files; skipped 2 ignored]
            2 hidden or ignored files match; use ignored: "show""#]],
    );
    check(&tree, r#"{"pattern":".env","ignored":"show"}"#, expect!["/repo/.env"]);
    check(&tree, r#"{"pattern":"target/*","ignored":"show"}"#, expect!["/repo/target/out.rs"]);
    // Nothing in `.git` is found, whatever is requested.
    check(
        &tree,
        r#"{"pattern":"config","ignored":"show"}"#,
        expect![[r#"
            No matches found.
            [searched 7 files]"#]],
    );
    check(
        &tree,
        r#"{"pattern":"config"}"#,
        expect![[r#"
            No matches found.
            [searched 3 files; skipped 2 ignored]"#]],
    );
}

#[test]
fn denied_files_are_not_found() {
    let tree = project();
    let deny = [".env", "**/main.rs"]
        .into_iter()
        .fold(DenyList::empty(), |deny, glob| deny.with_glob(glob, &[tree.path()]).unwrap());
    let root = Root::open(tree.path()).unwrap();
    let turn = turn(&tree).with_root(root).with_deny_list(deny);
    expect!["No matches found.\n[searched 2 files; skipped 2 ignored]"].assert_eq(&reply(
        &tree,
        &turn,
        r#"{"pattern":".env"}"#,
    ));
    expect!["No matches found.\n[searched 5 files]"].assert_eq(&reply(
        &tree,
        &turn,
        r#"{"pattern":"main.rs","ignored":"show"}"#,
    ));
}

#[test]
fn a_page_says_where_the_next_one_starts() {
    let tree = project();
    check(
        &tree,
        r#"{"pattern":"*","limit":2}"#,
        expect![[r#"
            /repo/README.md
            /repo/src/deep/lib.rs
            More than 2 files match; next offset 3"#]],
    );
    check(&tree, r#"{"pattern":"*","offset":3}"#, expect!["/repo/src/main.rs"]);
    check(
        &tree,
        r#"{"pattern":"*","offset":4}"#,
        expect!["error invalid_input: offset exceeds match count"],
    );
}

#[test]
fn the_envelope_holds_content_and_numbers() {
    let tree = project();
    let turn = turn(&tree);
    let call = |arguments: &str| {
        let outcome = ToolRouter::new().call(&ToolInvocation::new("find_files", arguments, &turn));
        tree.redact(&Envelope::new(&outcome, AttachmentMode::Omit).to_json())
    };
    expect![[
        r#"{"ok":true,"data":{"content":"/repo/src/main.rs","success":true,"files":1,"total":3}}"#
    ]]
    .assert_eq(&call(r#"{"pattern":"*","offset":3}"#));
    expect![[r#"{"ok":true,"data":{"content":"/repo/README.md","success":true,"files":1,"next_offset":2}}"#]]
        .assert_eq(&call(r#"{"pattern":"*","limit":1}"#));
    expect![[
        r#"{"ok":true,"data":{"content":"No matches found.","success":false,"files":0,"total":0}}"#
    ]]
    .assert_eq(&call(r#"{"pattern":"x"}"#));
}

#[test]
fn errors_are_those_of_grep_files() {
    let tree = project();
    let late = turn(&tree).with_deadline(std::time::Instant::now());
    let all = [
        r#"{"pattern":" "}"#,
        r#"{"pattern":"*","limit":0}"#,
        r#"{"pattern":"*","offset":0}"#,
        r#"{"pattern":"!*.rs"}"#,
        r#"{"pattern":"["}"#,
        r#"{"pattern":"a\u0000"}"#,
        r#"{"pattern":"*","path":"README.md"}"#,
        r#"{"pattern":"*","path":"/missing"}"#,
        r#"{"pattern":"*","ignored":"hide"}"#,
    ];
    let mut text: Vec<_> =
        all.iter().map(|arguments| reply(&tree, &turn(&tree), arguments)).collect();
    text.push(reply(&tree, &late, r#"{"pattern":"*"}"#));
    expect![[r#"
        error invalid_input: pattern must not be empty
        error invalid_input: limit must be greater than zero
        error invalid_input: offset must be a 1-indexed match number
        error invalid_input: pattern must not start with !
        error invalid_input: rg failed: error parsing glob '[': unclosed character class; missing ']'
        error invalid_input: pattern must not contain a NUL character
        error not_a_directory: unable to access `/repo/README.md`: Not a directory (os error 20)
        error not_found: unable to access `/missing`: No such file or directory (os error 2)
        error invalid_input: failed to parse function arguments: `ignored`: unknown variant `hide`, expected `show` or `skip` at line 1 column 31
        error timed_out: find_files timed out after 0 seconds"#]]
    .assert_eq(&text.join("\n"));
}

#[test]
fn names_that_are_not_utf8_are_counted() {
    let tree = TempTree::new("a.rs");
    tree.file(std::ffi::OsStr::from_bytes(b"bad\xff.rs"), "");
    check(
        &tree,
        r#"{"pattern":"*.md"}"#,
        expect![[r#"
            No matches found.
            [searched 1 file; skipped 1 with names that are not UTF-8]"#]],
    );
}

#[test]
fn pages_within_a_budget_join_to_all_files() {
    let tree = TempTree::new("");
    for number in 0..300 {
        tree.file(format!("{number}{}", "y".repeat(number % 90)), "");
    }
    let turn = turn(&tree).with_reply_budget(ReplyBudget::new(4096));
    let (mut all, mut offset) = (HashSet::new(), Some(1));
    while offset.is_some() {
        let args = FindFilesArgs { offset, limit: Some(2000), ..FindFilesArgs::new("*") };
        let report = FindFiles.run(args, &turn).unwrap();
        assert!(!report.files.is_empty());
        offset = report.next_offset;
        all.extend(report.files);
    }
    assert_eq!(all.len(), 300);
}

/// The files that `rg --files` lists.
fn names(repo: &RandomRepo, cwd: &Path, path: &Path, more: &[&str]) -> Vec<String> {
    let mut command = Command::new(testkit::rg());
    command.args(["--files", "--no-messages"]).args(more).arg("--").arg(path).current_dir(cwd);
    let output = command.env_clear().envs(environment(repo)).output().expect("rg runs");
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| String::from_utf8(line.to_vec()).ok());
    lines.filter(|line| !line.is_empty()).collect()
}

/// The same, newest first.
fn listed(repo: &RandomRepo, cwd: &Path, path: &Path, more: &[&str]) -> Vec<String> {
    let mut files = names(repo, cwd, path, more);
    files.sort_by_key(|path| (std::cmp::Reverse(modified(path)), path.clone()));
    files
}

fn compare(seed: u64, repo: &RandomRepo, query: &RandomQuery) {
    let path: PathBuf =
        query.cwd.join(query.path.as_deref().unwrap_or_default()).components().collect();
    if !path.is_dir() {
        return;
    }
    let everything = ["--no-ignore", "--hidden"];
    let walked = [
        (Ignored::Skip, listed(repo, &query.cwd, &path, &[])),
        (Ignored::Show, listed(repo, &path, &path, &[&everything[..], &["-g", "!.git"]].concat())),
    ];
    for glob in GLOBS.iter().skip(seed as usize % 3).step_by(3) {
        let escaped = if glob.starts_with('#') { format!("\\{glob}") } else { (*glob).to_owned() };
        let more = [&everything[..], &["-g", &escaped]].concat();
        let matching: HashSet<_> = names(repo, &path, Path::new("."), &more)
            .iter()
            .map(|name| format!("{}/{}", path.display(), name.strip_prefix("./").unwrap()))
            .collect();
        for (ignored, files) in &walked {
            let expected: Vec<_> =
                files.iter().filter(|file| matching.contains(*file)).cloned().collect();
            let turn = repo_turn(repo, query);
            let find = |offset, limit| {
                let args = FindFilesArgs {
                    path: query.path.clone(),
                    ignored: Some(*ignored),
                    limit: Some(limit),
                    offset: Some(offset),
                    ..FindFilesArgs::new(*glob)
                };
                FindFiles.run(args, &turn).unwrap()
            };
            let context = format!("seed {seed}, {query:?}, {glob}, {ignored}");
            let report = find(1, 2000);
            assert_eq!(report.files, expected, "{context}");
            if let Some(second) = expected.get(1) {
                assert_eq!(find(2, 1).files, std::slice::from_ref(second), "{context}");
            }
        }
    }
}

#[test]
fn the_files_are_those_of_rg_that_match_the_glob() {
    each_query(REPOSITORIES, compare);
}
