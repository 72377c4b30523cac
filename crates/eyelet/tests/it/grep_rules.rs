//! Which files `grep_files` searches: the rules of ripgrep.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use expect_test::{Expect, expect};
use eyelet::tools::{GrepFiles, GrepFilesArgs};
use eyelet::{Root, SearchEngine, Tool as _};
use testkit::TempTree;

use crate::searching::{answer, check, check_in, turn, turn_with};

/// A tree in which every file has the same time, so matches are sorted by path.
fn tree(description: &str) -> TempTree {
    let tree = TempTree::new(description);
    same_time(&tree, tree.path());
    tree
}

fn same_time(tree: &TempTree, folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            same_time(tree, &entry.path());
        } else if kind.is_file() {
            tree.modified(entry.path(), 1);
        }
    }
}

fn finds(tree: &TempTree, expected: Expect) {
    check(tree, r#"{"pattern":"foo"}"#, expected);
}

#[test]
fn gitignore_applies_only_in_a_repository() {
    finds(
        &tree(
            ".gitignore = b\n a = foo\n b = foo\n in/.git/\n in/.gitignore = b\n in/a = foo\n in/b = foo",
        ),
        expect![[r#"
            /repo/a
            /repo/b
            /repo/in/a
            success: Some(true)"#]],
    );
}

#[test]
fn the_nearest_and_most_specific_ignore_file_wins() {
    finds(
        &tree(
            ".git/\n .gitignore = *.x\\n\n .ignore = !keep.x\\nb\n .rgignore = !b\n a.x = foo\n \
             keep.x = foo\n b = foo\n sub/.gitignore = !a.x\n sub/a.x = foo\n sub/c.x = foo",
        ),
        expect![[r#"
            /repo/b
            /repo/keep.x
            /repo/sub/a.x
            success: Some(true)"#]],
    );
}

#[test]
fn rules_above_the_search_path_apply() {
    let tree =
        tree(".git/\n .gitignore = /sub/b\\n*.x\n sub/a = foo\n sub/b = foo\n sub/c.x = foo");
    check(
        &tree,
        r#"{"pattern":"foo","path":"sub"}"#,
        expect![[r#"
            /repo/sub/a
            success: Some(true)"#]],
    );
}

#[test]
fn a_nested_repository_ignores_outer_rules() {
    finds(
        &tree(".git/\n .gitignore = b\n .ignore = c\n in/.git/\n in/b = foo\n in/c = foo"),
        expect![[r#"
            /repo/in/b
            success: Some(true)"#]],
    );
}

#[test]
fn a_jujutsu_repository_counts_as_a_repository() {
    finds(
        &tree(".jj/\n .gitignore = b\n a = foo\n b = foo"),
        expect![[r#"
            /repo/a
            success: Some(true)"#]],
    );
}

#[test]
fn the_repository_exclude_file_applies() {
    finds(
        &tree(".git/info/exclude = b\n a = foo\n b = foo"),
        expect![[r#"
            /repo/a
            success: Some(true)"#]],
    );
}

#[test]
fn a_linked_worktree_uses_the_excludes_of_its_repository() {
    let tree = tree(
        "wt/a = foo\n wt/b = foo\n main/.git/info/exclude = b\n main/.git/worktrees/wt/commondir = ../..\\n",
    );
    tree.file("wt/.git", format!("gitdir: {}\n", tree.at("main/.git/worktrees/wt")));
    let expected = expect![["/repo/wt/a\nsuccess: Some(true)"]];
    let arguments = r#"{"pattern":"foo","path":"wt"}"#;
    let confined = turn(&tree).with_root(Root::open(tree.path()).unwrap());
    assert_eq!(answer(&tree, &confined, arguments), expected.data);
    check(&tree, arguments, expected);
}

#[test]
fn the_users_excludes_come_from_the_turns_environment() {
    let tree = tree(".git/\n a = foo\n b = foo\n c = foo\n d = foo");
    let home = tree.beside();
    std::fs::create_dir_all(home.join("xdg/git")).unwrap();
    std::fs::write(home.join("xdg/git/ignore"), "a\n").unwrap();
    let xdg = home.join("xdg").into_os_string();
    check_in(
        &tree,
        &turn_with(&tree, [("XDG_CONFIG_HOME", xdg.clone())]),
        r#"{"pattern":"foo"}"#,
        expect![[r#"
            /repo/b
            /repo/c
            /repo/d
            success: Some(true)"#]],
    );
    std::fs::write(home.join("xdg/git/config"), "[core]\n excludesFile = \"~/mine\"\n").unwrap();
    std::fs::write(home.join("mine"), "b\n").unwrap();
    check_in(
        &tree,
        &turn_with(&tree, [("XDG_CONFIG_HOME", xdg.clone())]),
        r#"{"pattern":"foo"}"#,
        expect![[r#"
            /repo/a
            /repo/c
            /repo/d
            success: Some(true)"#]],
    );
    std::fs::write(home.join(".gitconfig"), "[core]\n\tEXCLUDESFILE = ~/other\n").unwrap();
    std::fs::write(home.join("other"), "c\n").unwrap();
    check_in(
        &tree,
        &turn_with(&tree, [("XDG_CONFIG_HOME", xdg)]),
        r#"{"pattern":"foo"}"#,
        expect![[r#"
            /repo/a
            /repo/b
            /repo/d
            success: Some(true)"#]],
    );
}

#[test]
fn hidden_files_are_skipped_unless_included() {
    let tree = tree(".a = foo\n .dir/b = foo\n .dot. = foo\n c = foo");
    finds(
        &tree,
        expect![[r#"
            /repo/.dot.
            /repo/c
            success: Some(true)"#]],
    );
    check(
        &tree,
        r#"{"pattern":"foo","include":".a"}"#,
        expect![[r#"
            /repo/.a
            success: Some(true)"#]],
    );
    check(
        &tree,
        r#"{"pattern":"foo","path":".dir"}"#,
        expect![[r#"
            /repo/.dir/b
            success: Some(true)"#]],
    );
}

#[test]
fn include_overrides_ignore_rules_relative_to_the_working_directory() {
    let tree = tree(".ignore = *.log\n a.log = foo\n sub/b.log = foo\n sub/c = foo");
    check(
        &tree,
        r#"{"pattern":"foo","include":"*.log"}"#,
        expect![[r#"
            /repo/a.log
            /repo/sub/b.log
            success: Some(true)"#]],
    );
    check(
        &tree,
        r#"{"pattern":"foo","include":"/sub/*","path":"sub"}"#,
        expect![[r#"
            /repo/sub/b.log
            /repo/sub/c
            success: Some(true)"#]],
    );
    check(
        &tree,
        r#"{"pattern":"foo","include":"!sub"}"#,
        expect![[r#"
            No matches found.
            success: Some(false)"#]],
    );
}

#[test]
fn a_file_given_as_path_is_always_searched() {
    let tree = tree(".ignore = *\n .secret = foo\n binary = \\0\\nfoo\n link -> .secret");
    for (path, include) in [(".secret", "*.rs"), ("binary", "!binary"), ("link", "x")] {
        let arguments = format!(r#"{{"pattern":"foo","path":"{path}","include":"{include}"}}"#);
        let text = answer(&tree, &turn(&tree), &arguments);
        assert_eq!(text, format!("/repo/{path}\nsuccess: Some(true)"));
    }
}

#[test]
fn a_symlink_is_followed_only_as_the_path() {
    let tree = tree("real/a = foo\n top/link -> ../real\n top/file -> ../real/a\n top/b = foo");
    check(
        &tree,
        r#"{"pattern":"foo","path":"top"}"#,
        expect![[r#"
            /repo/top/b
            success: Some(true)"#]],
    );
    check(
        &tree,
        r#"{"pattern":"foo","path":"top/link"}"#,
        expect![[r#"
            /repo/top/link/a
            success: Some(true)"#]],
    );
}

#[test]
fn binary_files_are_skipped_and_byte_order_marks_are_decoded() {
    let tree = TempTree::new("binary = foo\\0\n crlf = foo\\r\\n");
    let utf16: Vec<u8> = "\u{feff}foo".encode_utf16().flat_map(u16::to_le_bytes).collect();
    tree.file("utf16", utf16);
    tree.file("utf8", "\u{feff}foo");
    same_time(&tree, tree.path());
    check(
        &tree,
        r#"{"pattern":"^foo\\r?$"}"#,
        expect![[r#"
            /repo/crlf
            /repo/utf16
            /repo/utf8
            success: Some(true)"#]],
    );
}

#[test]
fn names_that_are_not_utf8_are_skipped_and_counted() {
    let tree = TempTree::new("a = foo");
    tree.file(OsStr::from_bytes(b"b\xff"), "foo");
    tree.file(OsStr::from_bytes(b"d\xff/c"), "foo");
    finds(
        &tree,
        expect![[r#"
            /repo/a
            success: Some(true)"#]],
    );
    let report = GrepFiles.run(GrepFilesArgs::new("foo"), &turn(&tree)).unwrap();
    assert_eq!((report.searched, report.skipped.not_utf8), (Some(1), 2));
}

#[test]
fn each_file_is_one_line_whatever_its_name() {
    let tree = TempTree::new("");
    tree.file("a\nb\u{1b}[31m\u{202e}", "foo");
    let text = answer(&tree, &turn(&tree), r#"{"pattern":"foo"}"#);
    expect![[r#"
        /repo/a\nb\u{1b}[31m\u{202e}
        success: Some(true)"#]]
    .assert_eq(&text);
}

#[test]
fn a_confined_search_stays_in_its_roots() {
    let tree = tree(
        "root/a = foo\n root/b = foo\n outside/c = foo\n outside/rules = a\n root/out -> ../outside\n root/.ignore -> ../outside/rules",
    );
    let confined = turn(&tree).with_root(Root::open(tree.at("root")).unwrap());
    // Rules outside the roots are not read: the result would reveal their content.
    let text = answer(&tree, &confined, r#"{"pattern":"foo","path":"root"}"#);
    assert_eq!(text, "/repo/root/a\n/repo/root/b\nsuccess: Some(true)");
    let open = answer(&tree, &turn(&tree), r#"{"pattern":"foo","path":"root"}"#);
    assert_eq!(open, "/repo/root/b\nsuccess: Some(true)");
    for path in ["/repo/outside", "root/out", "root/../outside/c", "root/out/c", "/missing"] {
        let arguments = format!(r#"{{"pattern":"foo","path":"{path}"}}"#);
        for engine in [SearchEngine::Embedded, SearchEngine::Rg] {
            let text = answer(&tree, &confined.clone().with_search_engine(engine), &arguments);
            assert!(text.ends_with("error: outside_root"), "{text}");
        }
    }
    let text = answer(&tree, &confined, r#"{"pattern":"foo"}"#);
    assert!(text.starts_with("path `/repo` is outside the roots (/repo/root); "), "{text}");
}
