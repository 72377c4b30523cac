//! Denied paths: deny globs, and directories that contain secrets.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use expect_test::expect;
use eyelet::{DenyList, Environment, PathScope, Root, SearchEngine, TurnContext};
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
fn a_deny_glob_without_a_slash_matches_at_any_depth() {
    let tree = TempTree::new(
        "top.pem = CANARY\na/b/deep.pem = CANARY\na/keys/id = CANARY\nkeys/id = CANARY\na/open = plain",
    );
    let turn = denying(tree.path(), &["*.pem", "keys/"]);
    for path in ["top.pem", "a/b/deep.pem", "keys/id", "a/keys/id"] {
        let answer = ask(&turn, "read", json!({ "path": path }));
        assert!(answer.starts_with("error permission_denied"), "{path}: {answer}");
    }
    let found = ask(&turn, "grep_files", json!({"pattern": "CANA.Y|plain"}));
    assert_eq!(tree.redact(&found), "/repo/a/open");
}

#[test]
fn a_deny_glob_with_a_slash_starts_at_the_root() {
    let tree = TempTree::new("top.pem = CANARY\na/b.pem = plain\nb/a/c.pem = plain");
    let turn = denying(tree.path(), &["./*.pem", "a/c.pem"]);
    assert!(ask(&turn, "read", json!({"path": "top.pem"})).starts_with("error permission_denied"));
    for path in ["a/b.pem", "b/a/c.pem"] {
        assert_eq!(ask(&turn, "read", json!({ "path": path })), "[lines 1-1 of 1]\nplain");
    }
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
fn deny_globs_apply_in_a_root_whose_name_is_no_utf_8() {
    let tree = TempTree::new("");
    let root = tree.path().join(std::ffi::OsStr::from_bytes(b"b\xff\xfed"));
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join(".env"), "CANARY").unwrap();
    std::fs::write(root.join("open"), "plain").unwrap();
    let turn = denying(&root, &["**/.env"]);
    let answer = ask(&turn, "read", json!({ "path": ".env" }));
    assert!(answer.starts_with("error permission_denied"), "{answer}");
    assert_eq!(ask(&turn, "read", json!({ "path": "open" })), "[lines 1-1 of 1]\nplain");
}

#[test]
fn an_invalid_deny_glob_is_refused() {
    let error = DenyList::empty().with_glob("a[", &[Path::new("/w")]).unwrap_err();
    expect!["deny glob `a[` is invalid: unclosed character class; missing ']'"]
        .assert_eq(&error.message);
    // These would match nothing, and so deny nothing.
    for glob in
        ["", "/", ".", "./", "..", "../app", "a/../b", "a//b", ".//b", "a/./b", "/a/../b", "//a"]
    {
        let error = DenyList::empty().with_glob(glob, &[Path::new("/w")]).unwrap_err();
        let expected = format!(
            "deny glob `{glob}` is invalid: between slashes, a name is required, not `.` or `..`"
        );
        assert_eq!(error.message, expected);
    }
}

/// The deny list of secrets in `home`.
fn secrets_in(home: &Path) -> DenyList {
    DenyList::empty().with_secrets([home], &Environment::empty())
}

#[test]
fn secrets_are_denied_if_the_home_directory_is_a_root() {
    let tree = TempTree::new("notes = plain\n.config/other = plain\n.cargo/config.toml = plain");
    let paths = eyelet::SECRETS.iter().flat_map(|secret| secret.paths());
    let secrets: Vec<_> = paths.filter_map(|path| path.strip_prefix("~/")).collect();
    for secret in &secrets {
        match secret.rsplit('/').next().unwrap().trim_start_matches('.').contains('.') {
            true => tree.file(secret, "CANARY"),
            false => tree.file(format!("{secret}/id"), "CANARY"),
        };
    }
    tree.file(".cargo/credentials.toml", "CANARY");
    tree.link("alias", ".ssh");
    let turn = denying(tree.path(), &[]).with_deny_list(secrets_in(tree.path()));
    for secret in &secrets {
        for path in [(*secret).to_owned(), format!("{secret}/id"), "alias/id".to_owned()] {
            let answer = ask(&turn, "read", json!({ "path": path }));
            assert!(answer.starts_with("error permission_denied"), "{path}: {answer}");
        }
    }
    for open in ["notes", ".config/other", ".cargo/config.toml"] {
        let answer = ask(&turn, "read", json!({ "path": open }));
        assert_eq!(answer, "[lines 1-1 of 1]\nplain", "{open}");
    }
    let listed = ask(&turn, "list_dir", json!({"dir_path": tree.str(), "limit": 200}));
    assert!(listed.contains("notes") && !listed.contains(".ssh"), "{listed}");
    assert!(listed.contains("  config.toml") && !listed.contains("credentials"), "{listed}");
    let found = ask(&turn, "grep_files", json!({"pattern": "CANA.Y", "include": "**"}));
    assert_eq!(found, "No matches found.");
}

#[test]
fn secrets_behind_symlinks_are_denied_under_both_names() {
    let tree = TempTree::new(
        "dotfiles/ssh/id = CANARY
         dotfiles/config/gh/hosts.yml = CANARY
         dotfiles/config/other = plain
         dotfiles/aws = CANARY
         dotfiles/notes = plain
         .aws/
         .ssh -> dotfiles/ssh
         .config -> dotfiles/config",
    );
    // As dotfile managers do it: a directory of symlinks.
    tree.link(".aws/credentials", "../dotfiles/aws");
    let turn = denying(tree.path(), &[]).with_deny_list(secrets_in(tree.path()));
    for path in [
        ".ssh/id",
        "dotfiles/ssh/id",
        ".config/gh/hosts.yml",
        "dotfiles/config/gh/hosts.yml",
        "dotfiles/config/gh/missing",
        ".aws/credentials",
        "dotfiles/aws",
    ] {
        let answer = ask(&turn, "read", json!({ "path": path }));
        assert!(answer.starts_with("error permission_denied"), "{path}: {answer}");
    }
    for path in ["dotfiles/notes", "dotfiles/config/other", ".config/other"] {
        let answer = ask(&turn, "read", json!({ "path": path }));
        assert_eq!(answer, "[lines 1-1 of 1]\nplain", "{path}");
    }
    let found = ask(&turn, "grep_files", json!({"pattern": "CANA.Y", "include": "**"}));
    assert_eq!(found, "No matches found.");
}

#[test]
fn a_root_in_a_directory_of_secrets_is_accessible() {
    // Agents keep work trees beside their settings.
    let tree = TempTree::new(
        ".codex/auth.json = CANARY\n.codex/worktrees/a/f = plain\n.codex/worktrees/b/f = CANARY",
    );
    let root = tree.path().join(".codex/worktrees/a");
    let turn = denying(&root, &[]).with_deny_list(secrets_in(tree.path()));
    for turn in [turn.clone(), turn.with_path_scope(PathScope::Everything)] {
        assert_eq!(ask(&turn, "read", json!({"path": "f"})), "[lines 1-1 of 1]\nplain");
        let listed = ask(&turn, "list_dir", json!({ "dir_path": root }));
        assert!(listed.ends_with("\nf"), "{listed}");
        for path in ["../../auth.json", "../b/f"] {
            assert!(ask(&turn, "read", json!({ "path": path })).starts_with("error "), "{path}");
        }
    }
    // A directory of secrets itself stays denied.
    let turn = denying(&tree.path().join(".codex"), &[]).with_deny_list(secrets_in(tree.path()));
    assert!(
        ask(&turn, "read", json!({"path": "auth.json"})).starts_with("error permission_denied")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_state_of_processes_is_denied_outside_the_roots() {
    let tree = TempTree::new("f = inside");
    let turn = denying(tree.path(), &[])
        .with_deny_list(DenyList::empty().with_secrets([] as [&Path; 0], &Environment::empty()))
        .with_path_scope(PathScope::Everything);
    let own = std::process::id();
    let mut paths = vec!["/proc/thread-self/environ".to_owned(), "/proc/kcore".to_owned()];
    for process in ["self".to_owned(), own.to_string(), "1".to_owned(), format!("self/../{own}")] {
        for file in ["environ", "mem", "maps", "auxv", "cmdline", "root/etc/hostname", "fd/0", "x"]
        {
            paths.push(format!("/proc/{process}/{file}"));
        }
        paths.push(format!("/proc/{process}/task/{own}/environ"));
        paths.push(format!("/proc/./{process}/cwd/f"));
    }
    for path in &paths {
        let answer = ask(&turn, "read", json!({ "path": path }));
        assert!(answer.starts_with("error permission_denied"), "{path}: {answer}");
    }
    // A symlink does not help, and neither does another tool.
    tree.link("way", "/proc/self");
    tree.link("files", "/dev/fd");
    for path in ["way/environ", "files/0"] {
        let answer = ask(&turn, "read", json!({ "path": path }));
        assert!(answer.starts_with("error permission_denied"), "{path}: {answer}");
    }
    for engine in [SearchEngine::Embedded, SearchEngine::Rg] {
        let turn = turn.clone().with_search_engine(engine);
        let path = format!("/proc/{own}");
        let answer = ask(&turn, "grep_files", json!({"pattern": "PATH", "path": path}));
        assert!(answer.starts_with("error permission_denied"), "{engine:?} {answer}");
    }
    let listed = ask(&turn, "list_dir", json!({"dir_path": "/proc", "depth": 1, "limit": 2000}));
    assert!(listed.contains("cpuinfo"), "{listed}");
    let numbers =
        listed.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    assert_eq!(numbers.count(), 0, "{listed}");
    let answer = ask(&turn, "read", json!({"path": "/proc/cpuinfo", "limit": 1}));
    assert!(answer.starts_with("[lines 1-1 of"), "{answer}");
}

#[test]
fn the_scope_everything_keeps_the_deny_list() {
    let tree = TempTree::new("root/f = inside\nhome/.ssh/id = CANARY\nhome/notes = plain");
    let home = tree.path().join("home");
    let turn = denying(&tree.path().join("root"), &[])
        .with_deny_list(secrets_in(&home))
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
    expect!["error outside_root: path `f` is not accessible: no roots are configured; add a root that contains the path, or allow reading outside the roots"]
        .assert_eq(&ask(&turn, "read", json!({"path": "f"})));
    for (tool, arguments) in
        [("list_dir", json!({"dir_path": tree.str()})), ("grep_files", json!({"pattern": "C"}))]
    {
        assert!(ask(&turn, tool, arguments).starts_with("error outside_root"));
    }
}

#[test]
fn table_of_secrets_in_the_docs_is_current() {
    let mut expected = "| secrets | paths |\n|---|---|\n".to_owned();
    for secret in eyelet::SECRETS {
        let follows = match secret.kind {
            eyelet::SecretKind::Credentials => " *",
            _ => "",
        };
        let paths: Vec<_> = secret.paths().map(|path| format!("`{path}`")).collect();
        expected += &format!("| {}{follows} | {} |\n", secret.what, paths.join(", "));
    }
    expected += "\n| variable | default |\n|---|---|\n";
    for (variable, default) in eyelet::SECRET_VARIABLES {
        expected += &format!("| `{variable}` | `{default}` |\n");
    }
    let page = include_str!("../../../../docs/secrets.md");
    let (_, rest) = page.split_once("<!-- secrets -->\n").unwrap();
    let (table, _) = rest.split_once("<!-- /secrets -->").unwrap();
    assert_eq!(table, expected, "{expected}");
}
