//! Denied paths: deny globs, and directories that contain secrets.

use std::path::Path;

use expect_test::expect;
use eyelet::{DenyList, PathScope, Root, SearchEngine, TurnContext};
use serde_json::{Value, json};
use testkit::TempTree;

use crate::ask::{content, turn};

const TREE: &str = "
    .env = CANARY
    sub/.env = CANARY
    sub/.ENV.local = CANARY
    sub/open = plain
    keys/deep/id = CANARY
    alias -> sub/.env
    way -> keys/deep
";

fn denying(root: &Path, globs: &[&str]) -> TurnContext {
    let hidden = globs
        .iter()
        .fold(DenyList::empty(), |hidden, glob| hidden.with_glob(glob, &[root]).unwrap());
    turn(root)
        .with_root(Root::open(root).unwrap())
        .with_deny_list(hidden)
        .with_environment([("PATH", testkit::rg().parent().unwrap())].into_iter().collect())
}

fn ask(turn: &TurnContext, tool: &str, arguments: Value) -> String {
    let answer = content(turn, tool, &arguments);
    assert!(!answer.contains("CANARY"), "{tool} {arguments}: {answer}");
    answer
}

#[test]
fn denied_paths_are_refused_directly_and_through_symlinks() {
    let tree = TempTree::new(TREE);
    let turn = denying(tree.path(), &["**/.env*", "keys"]);
    for path in [
        ".env",
        "sub/.env",
        "sub/.ENV.local",
        "alias",
        "keys/deep/id",
        "way/id",
        "sub/../.env",
        // These do not exist, and the error does not reveal it.
        ".env.missing",
        "keys/missing",
        "way/missing",
    ] {
        assert_eq!(
            ask(&turn, "read", json!({ "path": path })),
            format!(
                "error permission_denied: path `{path}` is denied: it may contain secrets or matches a deny glob"
            )
        );
    }
    assert_eq!(ask(&turn, "read", json!({"path": "sub/open"})), "[lines 1-1 of 1]\nplain");
    for path in ["keys", "keys/deep", "way"] {
        let answer = ask(&turn, "list_dir", json!({ "dir_path": tree.at(path) }));
        assert!(answer.starts_with("error permission_denied: dir_path "), "{answer}");
        let answer = ask(&turn, "grep_files", json!({"pattern": "C", "path": path}));
        assert!(answer.starts_with("error permission_denied: path "), "{answer}");
        let answer = ask(&turn, "bash", json!({"command": "cat *", "cwd": path}));
        assert!(answer.starts_with("error permission_denied: cwd "), "{answer}");
    }
}

#[test]
fn listings_and_searches_skip_denied_paths() {
    let tree = TempTree::new(TREE);
    let turn = denying(tree.path(), &["**/.env*", "keys"]);
    expect![[r#"
        Absolute path: /repo
        alias@
        sub/
          open
        way@"#]]
    .assert_eq(&tree.redact(&ask(&turn, "list_dir", json!({"dir_path": tree.str()}))));
    for engine in [SearchEngine::Embedded, SearchEngine::Rg] {
        let turn = turn.clone().with_search_engine(engine);
        for include in ["", "*", "**/.env", "id"] {
            assert_eq!(
                ask(&turn, "grep_files", json!({"pattern": "CANA.Y", "include": include})),
                "No matches found.",
                "{engine:?} {include}"
            );
        }
        let found = ask(&turn, "grep_files", json!({"pattern": "plain"}));
        assert_eq!(tree.redact(&found), "/repo/sub/open");
    }
}

#[test]
fn deny_globs_ignore_case_and_stars_match_no_slash() {
    let tree = TempTree::new("A/Secret.TXT = x\nA/b/secret.txt = y\nsecret.txt.old = z");
    let turn = denying(tree.path(), &["a/*.txt"]);
    let read = |path: &str| ask(&turn, "read", json!({ "path": path }));
    assert!(read("A/Secret.TXT").starts_with("error permission_denied"));
    assert_eq!(read("A/b/secret.txt"), "[lines 1-1 of 1]\ny");
    assert_eq!(read("secret.txt.old"), "[lines 1-1 of 1]\nz");
}

#[test]
fn an_absolute_deny_glob_applies_without_roots() {
    let tree = TempTree::new(TREE);
    let glob = tree.at("**/.env");
    let hidden = DenyList::empty().with_glob(&glob, &[]).unwrap();
    let turn = turn(tree.path()).with_deny_list(hidden);
    for path in [".env", "sub/.env", "alias"] {
        let answer = ask(&turn, "read", json!({ "path": path }));
        assert!(answer.starts_with("error permission_denied"), "{path}: {answer}");
    }
    assert_eq!(ask(&turn, "read", json!({"path": "sub/open"})), "[lines 1-1 of 1]\nplain");
}

#[test]
fn an_invalid_deny_glob_is_refused() {
    let error = DenyList::empty().with_glob("a[", &[Path::new("/w")]).unwrap_err();
    expect!["deny glob `a[` is invalid: unclosed character class; missing ']'"]
        .assert_eq(&error.message);
}

#[test]
fn secrets_are_denied_if_the_home_directory_is_a_root() {
    let tree = TempTree::new("notes = plain\n.config/other = plain");
    for secret in eyelet::SECRETS {
        match secret.ends_with(".json")
            || [".netrc", ".npmrc", ".pypirc", ".git-credentials"].contains(secret)
        {
            true => tree.file(secret, "CANARY"),
            false => tree.file(format!("{secret}/id"), "CANARY"),
        };
    }
    tree.link("alias", ".ssh");
    let turn =
        denying(tree.path(), &[]).with_deny_list(DenyList::empty().with_secrets_in(tree.path()));
    for secret in eyelet::SECRETS {
        for path in [(*secret).to_owned(), format!("{secret}/id"), "alias/id".to_owned()] {
            let answer = ask(&turn, "read", json!({ "path": path }));
            assert!(answer.starts_with("error permission_denied"), "{path}: {answer}");
        }
    }
    expect![[r#"
        Absolute path: /repo
        .config/
          other
        .docker/
        alias@
        notes"#]]
    .assert_eq(&tree.redact(&ask(&turn, "list_dir", json!({"dir_path": tree.str()}))));
    let found = ask(&turn, "grep_files", json!({"pattern": "CANA.Y", "include": "**"}));
    assert_eq!(found, "No matches found.");
}

#[test]
fn the_scope_everything_keeps_the_deny_list() {
    let tree = TempTree::new("root/f = inside\nhome/.ssh/id = CANARY\nhome/notes = plain");
    let home = tree.path().join("home");
    let turn = denying(&tree.path().join("root"), &[])
        .with_deny_list(DenyList::empty().with_secrets_in(&home))
        .with_path_scope(PathScope::Everything);
    assert_eq!(ask(&turn, "read", json!({"path": "../home/notes"})), "[lines 1-1 of 1]\nplain");
    let answer = ask(&turn, "read", json!({"path": "../home/.ssh/id"}));
    assert!(answer.starts_with("error permission_denied"), "{answer}");
    // The working directory of a command must still be inside the roots.
    let answer = ask(&turn, "bash", json!({"command": "true", "cwd": home}));
    assert!(answer.starts_with("error outside_root"), "{answer}");
}

#[test]
fn without_roots_a_confined_call_opens_nothing() {
    let tree = TempTree::new("f = CANARY");
    let turn = turn(tree.path()).with_path_scope(PathScope::Roots);
    expect!["error outside_root: path `f` is not accessible: no roots are configured; add a root that contains it, or allow reading outside the roots"]
        .assert_eq(&ask(&turn, "read", json!({"path": "f"})));
    for (tool, arguments) in
        [("list_dir", json!({"dir_path": tree.str()})), ("grep_files", json!({"pattern": "C"}))]
    {
        assert!(ask(&turn, tool, arguments).starts_with("error outside_root"));
    }
}
