//! `eyelet grep-files`.

use expect_test::expect;
use testkit::TempTree;
use testkit::cli::{command, eyelet, same};

fn tree() -> TempTree {
    let tree = TempTree::new(
        "src/main.rs = needle
        src/lib.rs = needle
        notes.txt = needle
        hay.txt = hay",
    );
    tree.modified("src/main.rs", 3);
    tree.modified("src/lib.rs", 2);
    tree.modified("notes.txt", 1);
    tree
}

#[test]
fn prints_one_path_per_line_newest_first() {
    let tree = tree();
    expect![[r#"
        exit 0
        --- stdout
        /repo/src/main.rs
        /repo/src/lib.rs
        /repo/notes.txt
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", "need.e"]));
}

#[test]
fn relative_path_is_made_absolute() {
    let tree = tree();
    expect![[r#"
        exit 0
        --- stdout
        /repo/src/main.rs
        /repo/src/lib.rs
    "#]]
    .assert_eq(&same([
        eyelet(&tree, ["grep-files", "needle", "src"]),
        eyelet(&tree, ["grep-files", "needle", "--cwd", "src"]),
        eyelet(&tree, ["grep-files", "needle", &tree.at("src"), "--include", "*.rs"]),
    ]));
}

#[test]
fn both_engines_find_the_same_files() {
    let tree = tree();
    let with_rg = |engine| {
        let tools = testkit::rg().parent().unwrap().to_owned();
        let mut command = command(&tree);
        command.env("PATH", tools).args(["--search-engine", engine, "grep-files", "needle"]);
        let output = command.output().unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        tree.redact(&String::from_utf8(output.stdout).unwrap())
    };
    expect![[r#"
        /repo/src/main.rs
        /repo/src/lib.rs
        /repo/notes.txt
    "#]]
    .assert_eq(&same(["embedded", "rg"].map(with_rg)));
}

#[test]
fn truncated_list_says_how_to_continue() {
    let tree = tree();
    expect![[r#"
        exit 0
        --- stdout
        /repo/src/main.rs
        /repo/src/lib.rs
        --- stderr
        truncated; continue with --offset 3
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", "needle", "--limit", "2"]));
    expect![[r#"
        exit 0
        --- stdout
        /repo/notes.txt
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", "needle", "--offset", "3"]));
}

#[test]
fn no_match_exits_1() {
    let tree = tree();
    expect![[r#"
        exit 1
        --- stdout
        No matches found.
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", "pin"]));
}

#[test]
fn json_prints_the_envelope() {
    let tree = tree();
    expect![[r#"
        exit 0
        --- stdout
        {"ok":true,"data":{"content":"/repo/src/main.rs\n/repo/src/lib.rs","success":true}}
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", "--json", "needle", "src"]));
    expect![[r#"
        exit 1
        --- stdout
        {"ok":true,"data":{"content":"No matches found.","success":false}}
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", "--json", "pin"]));
}

#[test]
fn error_is_one_line_on_stderr() {
    let tree = tree();
    expect![[r#"
        exit 1
        --- stderr
        eyelet: rg failed: regex parse error: (?:() error: unclosed group
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", "("]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: unable to access `/repo/gone`: No such file or directory (os error 2)
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", "needle", "gone"]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: pattern must not be empty
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", " "]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: rg failed: error parsing glob '{': unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
    "#]].assert_eq(&eyelet(&tree, ["grep-files", "needle", "--include", "{"]));
}

fn lines_tree() -> TempTree {
    let tree = TempTree::new(
        r"src/a.rs = one\ntwo Needle needle\nthree\nfour\nfive\nsix needle
        b.txt = needle",
    );
    tree.modified("src/a.rs", 2);
    tree.modified("b.txt", 1);
    tree
}

#[test]
fn piped_lines_and_counts_have_the_form_of_rg() {
    let tree = lines_tree();
    let rg = |flags: &[&str]| {
        let output = std::process::Command::new(testkit::rg())
            .args(["--sortr=modified", "--no-heading"])
            .args(flags)
            .arg("needle")
            .arg(tree.path())
            .output()
            .unwrap();
        tree.redact(&String::from_utf8(output.stdout).unwrap())
    };
    for flags in [
        &["-n"][..],
        &["-n", "-i"],
        &["-n", "-C", "1"],
        &["-c"],
        &["-c", "-i"],
        &["-l"],
        &["-nl"],
        &["-nc"],
        &["-l", "-C1"],
        &["-nc", "-C1"],
    ] {
        let output = command(&tree).arg("grep-files").args(flags).arg("needle").output().unwrap();
        let printed = tree.redact(&String::from_utf8(output.stdout).unwrap());
        let mut expected = rg(flags);
        if flags == ["-n", "-C", "1"] {
            // Eyelet separates the groups of one file only.
            expected = expected.replace("--\n/repo/b.txt", "/repo/b.txt");
        }
        assert_eq!(printed, expected, "{flags:?}");
    }
    expect![[r#"
        exit 0
        --- stdout
        2:two Needle needle
        6:six needle
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", "-n", "needle", "src/a.rs", "-g", "*.md"]));
}

#[test]
fn json_has_the_form_of_the_tool() {
    let tree = lines_tree();
    expect![[r#"
        exit 0
        --- stdout
        {"ok":true,"data":{"counts":[{"path":"/repo/b.txt","lines":1}],"files":1,"lines":1,"total":1,"success":true}}
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", "--json", "-c", "needle", "-g", "*.txt"]));
    expect![[r#"
        exit 1
        --- stdout
        {"ok":true,"data":{"matches":[],"files":0,"total":0,"more":0,"success":false}}
    "#]]
    .assert_eq(&eyelet(&tree, ["grep-files", "--json", "-n", "pin"]));
}

#[test]
fn unreadable_files_are_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = TempTree::new("a = needle\nsecret/b = needle");
    let secret = tree.path().join("secret");
    let mode = |mode| std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(mode));
    mode(0o000).unwrap();
    let readable = std::fs::read_dir(&secret).is_ok();
    let printed = eyelet(&tree, ["grep-files", "needle"]);
    mode(0o755).unwrap();
    if readable {
        // Root reads everything.
        return;
    }
    expect![[r#"
        exit 0
        --- stdout
        /repo/a
        --- stderr
        could not read /repo/secret
    "#]]
    .assert_eq(&printed);
}
