//! The rules of `list_dir`.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use eyelet::Progress;
use serde_json::{Value, json};
use testkit::TempTree;

use crate::ask::{content, data, envelope, turn};

/// Lists `tree` with `more` arguments.
fn list(tree: &TempTree, more: Value) -> String {
    let mut arguments = json!({ "dir_path": tree.str() });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    tree.redact(&content(&turn(tree.path()), "list_dir", &arguments))
}

fn check(tree: &str, more: Value, expected: Expect) {
    expected.assert_eq(&list(&TempTree::new(tree), more));
}

#[test]
fn seed_example_basic_list_depth_2() {
    check(
        "nested/child.txt\nroot.txt",
        json!({"offset": 1, "limit": 10, "depth": 2}),
        expect![[r#"
            Absolute path: /repo
            nested/
              child.txt
            root.txt"#]],
    );
}

#[test]
fn seed_example_paging_with_truncation_notice() {
    check(
        "a/b/c\nd\ne",
        json!({"offset": 1, "limit": 3, "depth": 3}),
        expect![[r#"
            Absolute path: /repo
            a/
            d
            e
            More than 3 entries found"#]],
    );
}

#[test]
fn seed_example_offset_beyond_entries() {
    check(
        "a",
        json!({"offset": 999, "limit": 5, "depth": 1}),
        expect!["error invalid_input: offset exceeds directory entry count"],
    );
}

#[test]
fn seed_example_non_absolute_path() {
    let tree = TempTree::new("");
    for path in ["./relative", "", ".", "~", "$HOME", "file:///etc"] {
        let answer = content(&turn(tree.path()), "list_dir", &json!({ "dir_path": path }));
        assert_eq!(
            tree.redact(&answer),
            "error invalid_input: dir_path must be an absolute path; the working directory is `/repo`"
        );
    }
}

#[test]
fn zero_is_refused_for_each_number_in_the_seed_order() {
    let zeros = json!({"offset": 0, "limit": 0, "depth": 0});
    check("a", zeros, expect!["error invalid_input: offset must be a 1-indexed entry number"]);
    let zeros = json!({"limit": 0, "depth": 0});
    check("a", zeros, expect!["error invalid_input: limit must be greater than zero"]);
    check(
        "a",
        json!({"depth": 0}),
        expect!["error invalid_input: depth must be greater than zero"],
    );
}

#[test]
fn defaults_are_25_entries_and_2_levels() {
    let tree = TempTree::new("");
    for number in 10..36 {
        tree.file(format!("d{number}/e/f"), "");
    }
    let listing = list(&tree, json!({}));
    assert_eq!(listing.lines().count(), 27);
    assert!(listing.ends_with("d34/\nMore than 25 entries found"), "{listing}");
    let rest = list(&tree, json!({"offset": 26, "limit": 100}));
    assert_eq!(rest.lines().filter(|line| *line == "  e/").count(), 26);
    assert!(!rest.contains('f'), "{rest}");
}

#[test]
fn entries_are_paged_breadth_first_and_the_page_is_sorted() {
    let tree = "b/x/deep\na/y\nc";
    let page = |offset| json!({"offset": offset, "limit": 2, "depth": 3});
    check(
        tree,
        page(1),
        expect![[r#"
            Absolute path: /repo
            a/
            b/
            More than 2 entries found"#]],
    );
    check(
        tree,
        page(3),
        expect![[r#"
            Absolute path: /repo
              y
            c
            More than 2 entries found"#]],
    );
    check(
        tree,
        page(5),
        expect![[r#"
            Absolute path: /repo
              x/
                deep"#]],
    );
}

#[test]
fn children_follow_their_directory() {
    check(
        "src/main.rs\nsrc-old/x\nsrc.txt\nsrc/a/b",
        json!({"depth": 3}),
        expect![[r#"
            Absolute path: /repo
            src/
              a/
                b
              main.rs
            src-old/
              x
            src.txt"#]],
    );
}

#[test]
fn kinds_are_marked_and_symlinks_are_not_followed() {
    let tree = TempTree::new("dir/inside\nfile\nlink -> dir\ndangling -> nowhere\nloop -> loop");
    let _socket = UnixListener::bind(tree.path().join("socket")).unwrap();
    tree.fifos(["fifo"]);
    expect![[r#"
        Absolute path: /repo
        dangling@
        dir/
          inside
        fifo?
        file
        link@
        loop@
        socket?"#]]
    .assert_eq(&list(&tree, json!({"depth": 9})));
}

#[test]
fn an_empty_directory_is_only_the_header_at_any_offset() {
    for offset in [1, 2, 999] {
        check("", json!({ "offset": offset }), expect!["Absolute path: /repo"]);
    }
}

#[test]
fn the_last_line_names_the_number_of_entries() {
    let tree = "a\nb\nc";
    for (offset, limit, notice) in [
        (1, 2, Some("More than 2 entries found")),
        (2, 1, Some("More than 1 entries found")),
        (1, 3, None),
        (2, 2, None),
        (3, 9, None),
    ] {
        let listing = list(&TempTree::new(tree), json!({"offset": offset, "limit": limit}));
        assert_eq!(listing.lines().find(|line| line.starts_with("More")), notice, "{listing}");
    }
}

#[test]
fn an_unreadable_directory_is_a_system_error() {
    let tree = TempTree::new("file\nshut/x");
    let ask = |path: &str| {
        let arguments = json!({ "dir_path": tree.at(path) });
        tree.redact(&content(&turn(tree.path()), "list_dir", &arguments))
    };
    expect!["error not_found: failed to read directory: No such file or directory (os error 2); the path is `/repo/missing`"]
        .assert_eq(&ask("missing"));
    expect!["error not_a_directory: failed to read directory: Not a directory (os error 20); the path is `/repo/file`"]
        .assert_eq(&ask("file"));
    std::fs::set_permissions(tree.path().join("shut"), Permissions::from_mode(0o000)).unwrap();
    let shut = ask("shut");
    std::fs::set_permissions(tree.path().join("shut"), Permissions::from_mode(0o700)).unwrap();
    if testkit::is_root() {
        assert_eq!(shut, "Absolute path: /repo/shut\nx");
    } else {
        expect![
            "error permission_denied: failed to read directory: Permission denied (os error 13); the path is `/repo/shut`"
        ]
        .assert_eq(&shut);
    }
}

#[test]
fn an_unreadable_subdirectory_is_listed_without_children() {
    let tree = TempTree::new("open/x\nshut/y");
    std::fs::set_permissions(tree.path().join("shut"), Permissions::from_mode(0o000)).unwrap();
    let (listing, reply) = (list(&tree, json!({})), reply(&tree, json!({})));
    std::fs::set_permissions(tree.path().join("shut"), Permissions::from_mode(0o700)).unwrap();
    let (child, mark) = if testkit::is_root() { ("\n  y", "") } else { ("", " …") };
    let start = "Absolute path: /repo\nopen/\n  x\nshut/";
    assert_eq!(listing, format!("{start}{child}"));
    assert_eq!(reply, format!("{start}{child}{mark}"));
}

#[test]
fn names_are_shown_on_one_line_each() {
    let tree = TempTree::new("");
    for name in [
        &b"new\nline"[..],
        b"tab\t",
        b"cr\r",
        b"esc\x1b[31m",
        b"bad\xff\xfe",
        "rtl\u{202e}x".as_bytes(),
        "sep\u{2028}".as_bytes(),
        "c1\u{9b}".as_bytes(),
        b"back\\slash",
        "\u{e9}\u{1F600}".as_bytes(),
    ] {
        tree.file(OsStr::from_bytes(name), "");
    }
    expect![[r#"
        Absolute path: /repo
        back\slash
        bad��
        c1\u{9b}
        cr\r
        esc\u{1b}[31m
        new\nline
        rtl\u{202e}x
        sep\u{2028}
        tab\t
        é😀"#]]
    .assert_eq(&list(&tree, json!({})));
}

#[test]
fn entries_are_sorted_by_displayed_name_then_by_bytes() {
    let tree = TempTree::new("");
    // The first two look the same. The control character is displayed as a backslash, which sorts
    // after `Z`.
    for name in [&b"q\xfe"[..], b"q\xff", b"\x01", b"Z", b"a"] {
        tree.file([name, b"/", name].concat().as_slice().to_os(), "");
    }
    expect![[r#"
        Absolute path: /repo
        Z/
          Z
        \u{1}/
          \u{1}
        a/
          a
        q�/
          q�
        q�/
          q�"#]]
    .assert_eq(&list(&tree, json!({})));
}

trait ToOs {
    fn to_os(&self) -> &OsStr;
}

impl ToOs for [u8] {
    fn to_os(&self) -> &OsStr {
        OsStr::from_bytes(self)
    }
}

#[test]
fn names_above_500_bytes_are_truncated_at_a_character() {
    let tree = TempTree::new("");
    // 255 bytes on disk; each U+FFFD is 3 bytes, so 166 of them are 498.
    tree.file(vec![0xff; 255].to_os(), "");
    tree.file("é".repeat(127), "");
    let listing = list(&tree, json!({}));
    assert_eq!(
        listing,
        format!("Absolute path: /repo\n{}\n{}", "é".repeat(127), "\u{FFFD}".repeat(166))
    );
}

#[test]
fn the_header_shows_the_requested_path_on_one_line() {
    let tree = TempTree::new("a/x\nodd\\nname/y");
    let ask = |path: &str| {
        tree.redact(&content(&turn(tree.path()), "list_dir", &json!({ "dir_path": path })))
    };
    assert_eq!(ask(&tree.at("a/../a/./")), "Absolute path: /repo/a/../a/./\nx");
    let odd = TempTree::new("");
    odd.file("new\nline/y", "");
    assert_eq!(
        odd.redact(&content(
            &turn(odd.path()),
            "list_dir",
            &json!({"dir_path": odd.at("new\nline")})
        )),
        "Absolute path: /repo/new\\nline\ny"
    );
}

#[test]
fn a_symlink_as_dir_path_is_followed() {
    let tree = TempTree::new("real/x\nlink -> real");
    let answer = content(&turn(tree.path()), "list_dir", &json!({"dir_path": tree.at("link")}));
    assert_eq!(tree.redact(&answer), "Absolute path: /repo/link\nx");
}

#[test]
fn numbers_of_any_size_are_safe() {
    let most = u64::MAX;
    check(
        "a/b",
        json!({"limit": most, "depth": most}),
        expect![[r#"
            Absolute path: /repo
            a/
              b"#]],
    );
    check(
        "a/b",
        json!({"offset": most, "limit": most, "depth": most}),
        expect!["error invalid_input: offset exceeds directory entry count"],
    );
}

#[test]
fn the_envelope_holds_content_and_success() {
    let tree = TempTree::new("a");
    let arguments = json!({ "dir_path": tree.str() });
    expect![[r#"{"ok":true,"data":{"content":"Absolute path: /repo\na","success":true}}"#]]
        .assert_eq(&tree.redact(&envelope(&turn(tree.path()), "list_dir", &arguments)));
}

#[test]
fn the_report_has_the_next_offset() {
    use eyelet::Tool as _;
    use eyelet::tools::{ListDir, ListDirArgs};
    let tree = TempTree::new("a\nb\nc");
    let args = ListDirArgs { offset: Some(2), limit: Some(1), ..ListDirArgs::new(tree.str()) };
    let report = ListDir.run(args, &turn(tree.path())).unwrap();
    assert_eq!(report.entries.len(), 1);
    assert_eq!(report.entries[0].name, "b");
    assert_eq!(report.next_offset, Some(3));
}

#[test]
fn a_passed_deadline_and_a_cancel_stop_the_listing() {
    let tree = TempTree::new("a");
    let arguments = json!({ "dir_path": tree.str() });
    let late = turn(tree.path()).with_deadline(Instant::now() - Duration::from_secs(1));
    expect!["error timed_out: list_dir timed out after 0 seconds"]
        .assert_eq(&content(&late, "list_dir", &arguments));
    let cancelled = turn(tree.path());
    let flag = eyelet::CancelFlag::default();
    flag.cancel();
    expect!["error cancelled: list_dir was cancelled"].assert_eq(&content(
        &cancelled.with_cancel(flag),
        "list_dir",
        &arguments,
    ));
}

#[test]
fn a_tree_deeper_than_any_path_is_listed_completely() {
    let tree = TempTree::new("");
    let mut here = std::fs::File::open(tree.path()).unwrap();
    let name = "d".repeat(200);
    for _ in 0..40 {
        use rustix::fs::{Mode, OFlags, mkdirat, openat};
        mkdirat(&here, &name, Mode::RWXU).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        here = openat(&here, &name, flags, Mode::empty()).unwrap().into();
    }
    let listing = data(
        &turn(tree.path()),
        "list_dir",
        &json!({"dir_path": tree.str(), "depth": 100, "limit": 100}),
    );
    assert_eq!(listing["content"].as_str().unwrap().lines().count(), 41);
}

#[test]
fn directories_that_the_page_does_not_need_are_not_read() {
    let tree = TempTree::new("a/1\na/2\nb/1\nc/1\nd/1");
    let seen = Progress::default();
    let turn = turn(tree.path()).with_progress(seen.clone());
    content(&turn, "list_dir", &json!({ "dir_path": tree.str(), "limit": 5 }));
    // The four entries of the top directory, and two of the first directory below it.
    assert_eq!(seen.count(), 6);
}

/// The text reply to a model.
fn reply(tree: &TempTree, more: Value) -> String {
    let mut arguments = json!({ "dir_path": tree.str() });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let turn = turn(tree.path()).with_environment([("HOME", tree.beside())].into_iter().collect());
    let call = eyelet::ToolInvocation::new("list_dir", arguments.to_string(), &turn);
    tree.redact(&eyelet::ToolRouter::new().call(&call).unwrap().reply().unwrap())
}

#[test]
fn a_reply_names_directories_that_are_not_on_the_page() {
    let tree = TempTree::new("a/b/c/1\na/b/c/2\na/b/d\na/e\nf/g/\nf/h\ni");
    let pages: Vec<_> = (0..4)
        .map(|page| reply(&tree, json!({"offset": page * 3 + 1, "limit": 3, "depth": 9})))
        .collect();
    expect![[r#"
        Absolute path: /repo
        a/ …
        f/ …
        i
        More than 3 entries found; next offset 4

        Absolute path: /repo
        [in a/]
          b/ …
          e
        [in f/]
          g/ …
        More than 3 entries found; next offset 7

        Absolute path: /repo
        [in a/b/]
            c/ …
            d
        [in f/]
          h
        More than 3 entries found; next offset 10

        Absolute path: /repo
        [in a/b/c/]
              1
              2"#]]
    .assert_eq(&pages.join("\n\n"));
}

#[test]
fn only_directories_that_are_listed_and_incomplete_are_marked() {
    let tree = TempTree::new("a/1\na/2\nb/3\nempty/\ndeep/er/x");
    expect![[r#"
        Absolute path: /repo
        a/
          1
          2
        b/
          3
        deep/
          er/
        empty/"#]]
    .assert_eq(&reply(&tree, json!({"limit": 25})));
    // `b` has an entry that is not on the page, and `empty` was not opened.
    expect![[r#"
        Absolute path: /repo
        a/
          1
          2
        b/ …
        deep/ …
        empty/ …
        More than 6 entries found; next offset 7"#]]
    .assert_eq(&reply(&tree, json!({"limit": 6})));
    expect![[r#"
        Absolute path: /repo
        a/
        b/
        deep/
        More than 3 entries found; next offset 4"#]]
    .assert_eq(&reply(&tree, json!({"limit": 3, "depth": 1})));
}

#[test]
fn ignored_entries_can_be_skipped_and_are_counted() {
    let tree = TempTree::new(
        r".git/config
        .gitignore = target\n*.log
        .env
        src/main.rs
        src/a.log
        src/deep/b.log
        target/out/x
        z.log",
    );
    expect![[r#"
        Absolute path: /repo
        .env
        .gitignore
        src/
          deep/
          main.rs
        [3 ignored entries skipped]"#]]
    .assert_eq(&reply(&tree, json!({"ignored": "skip"})));
    expect![[r#"
        Absolute path: /repo
        .env
        .gitignore
        src/ …
        [3 ignored entries skipped]
        More than 3 entries found; next offset 4"#]]
    .assert_eq(&reply(&tree, json!({"ignored": "skip", "limit": 3})));
    // Rules of the directories above apply. The other forms have the seed's content.
    let below = tree.at("src");
    let arguments = json!({"dir_path": below, "ignored": "skip"});
    expect![[r#"
        Absolute path: /repo/src
        deep/
        main.rs"#]]
    .assert_eq(&tree.redact(&content(&turn(tree.path()), "list_dir", &arguments)));
    let shown = reply(&tree, json!({"ignored": "show", "depth": 1}));
    assert_eq!(shown, reply(&tree, json!({"depth": 1})));
    assert!(shown.contains("\n.git/\n") && !shown.contains("skipped"));
    let only = TempTree::new(".ignore = *\na\nb");
    expect![[r#"
        Absolute path: /repo
        [3 ignored entries skipped]"#]]
    .assert_eq(&reply(&only, json!({"ignored": "skip"})));
}

#[test]
fn a_reply_with_the_names_of_directories_fits_its_budget() {
    testkit::each_seed(20, |random| {
        let tree = TempTree::new(".ignore = *.log");
        for number in 0..random.usize(1..400) {
            let part = |random: &mut fastrand::Rng| "d".repeat(random.usize(1..60));
            let folder: Vec<_> = (0..random.usize(1..6)).map(|_| part(random)).collect();
            let kind = ["log", "txt"][random.usize(..2)];
            tree.file(format!("{}/{number}.{kind}", folder.join("/")), "");
        }
        let bytes = random.usize(4096..9000);
        let turn = turn(tree.path()).with_reply_budget(eyelet::ReplyBudget::new(bytes));
        let ignored = ["show", "skip"][random.usize(..2)];
        let list = |turn: &eyelet::TurnContext, offset: u64| {
            let arguments = json!({"dir_path": tree.str(), "offset": offset, "limit": 100_000,
                "depth": 99, "ignored": ignored});
            let call = eyelet::ToolInvocation::new("list_dir", arguments.to_string(), turn);
            eyelet::ToolRouter::new().call(&call).unwrap()
        };
        let (mut joined, mut offset) = (Vec::new(), Some(1));
        while let Some(first) = offset {
            let output = list(&turn, first);
            let text = output.reply().unwrap();
            assert!(text.len() <= bytes && !text.contains("bytes truncated]"), "{text}");
            let content = output.function().unwrap().content;
            let entries = content.lines().skip(1).filter(|line| !line.starts_with("More than "));
            joined.extend(entries.map(str::to_owned));
            offset = output.next_offset();
        }
        let whole = list(&crate::ask::turn(tree.path()), 1).function().unwrap().content;
        let mut whole: Vec<_> = whole.lines().skip(1).map(str::to_owned).collect();
        whole.sort();
        joined.sort();
        assert_eq!(joined, whole);
    });
}
