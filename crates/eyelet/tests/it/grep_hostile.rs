//! `grep_files` with hostile files, patterns and programs, and at its limits.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use expect_test::expect;
use eyelet::tools::{GrepFiles, GrepFilesArgs, GrepFilesReport};
use eyelet::{CancelFlag, Root, SearchEngine, Tool as _, TurnContext};
use testkit::TempTree;

use crate::searching::{answer, check, check_in, turn, turn_with};

fn report(pattern: &str, turn: &TurnContext) -> GrepFilesReport {
    GrepFiles.run(GrepFilesArgs::new(pattern), turn).unwrap()
}

#[test]
fn special_files_and_dangling_symlinks_are_skipped() {
    let tree = TempTree::new("a = foo\n nowhere -> nothing\n loop -> loop\n self -> .");
    tree.fifos(["fifo"]);
    let _socket = UnixListener::bind(tree.path().join("socket")).unwrap();
    let start = Instant::now();
    check(
        &tree,
        r#"{"pattern":"foo"}"#,
        expect![[r#"
            /repo/a
            success: Some(true)"#]],
    );
    for path in ["fifo", "socket", "/dev/null"] {
        let arguments = format!(r#"{{"pattern":"foo","path":"{path}"}}"#);
        let text = answer(&tree, &turn(&tree), &arguments);
        assert!(text.ends_with("neither a regular file nor a directory\nerror: not_a_file"));
    }
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn an_ignore_file_that_is_a_fifo_does_not_block() {
    let tree = TempTree::new("a = foo\n .git/\n up/b = foo");
    tree.fifos([".ignore", ".gitignore", ".rgignore", ".git/info"]);
    assert_eq!(report("foo", &turn(&tree)).files.len(), 2);
    let args = GrepFilesArgs { path: Some("up".to_owned()), ..GrepFilesArgs::new("foo") };
    assert_eq!(GrepFiles.run(args, &turn(&tree)).unwrap().files.len(), 1);
}

#[test]
fn unreadable_files_are_skipped_and_counted() {
    let tree = TempTree::new("a = foo\n file = foo\n dir/b = foo");
    let deny = |mode| {
        for name in ["file", "dir"] {
            fs::set_permissions(tree.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    deny(0o000);
    let turn = turn(&tree);
    let report = report("foo", &turn);
    let by_rg = answer(&tree, &turn.with_search_engine(SearchEngine::Rg), r#"{"pattern":"foo"}"#);
    deny(0o755);
    if testkit::is_root() {
        assert_eq!((report.files.len(), report.skipped.unreadable), (3, 0));
        assert_eq!(by_rg.lines().count(), 4);
    } else {
        assert_eq!((report.files.len(), report.skipped.unreadable), (1, 2));
        expect![[r#"
            rg failed: some files could not be read
            error: search_failed"#]]
        .assert_eq(&by_rg);
    }
}

#[test]
fn a_line_above_the_memory_limit_is_streamed() {
    let tree = TempTree::new("a = foo");
    let long = |start: &str, end: &str| {
        let mut line = start.as_bytes().to_vec();
        line.resize(20 << 20, b'x');
        line.extend_from_slice(end.as_bytes());
        line
    };
    tree.file("early", long("foo\n", ""));
    tree.file("late", long("", "\nfoo"));
    tree.file("inside", long("", "foo").repeat(2));
    tree.file("without", long("", ""));
    tree.file("binary", long("", "foo\0"));
    for (pattern, files) in [
        ("foo", 4),
        ("^foo", 3),
        ("foo$", 4),
        (r"\Ax+foo\z", 0),
        (r"^x+foo.x+foo$", 1),
        (r"^(x+foo)+$", 1),
        ("xfoo(?:$|x)", 1),
        (r"\bfoo\b", 3),
        ("FOO|bar", 0),
        ("(?i)FOO$", 4),
        (r"[^\pL]foo|^$", 0),
    ] {
        let report = report(pattern, &turn(&tree));
        assert_eq!(report.files.len(), files, "{pattern}: {:?}", report.files);
        assert_eq!((report.searched, report.skipped.line_too_long), (Some(6), 0), "{pattern}");
    }
}

#[test]
fn a_line_too_long_for_its_pattern_skips_only_its_file() {
    let tree = TempTree::new("a = foo");
    // The automaton does not support Unicode word boundaries next to non-ASCII text.
    let mut line = "é".repeat(10 << 20).into_bytes();
    line.extend_from_slice(b" foo");
    tree.file("long", line);
    let report = report(r"\bfoo\b", &turn(&tree));
    assert_eq!(report.files, [tree.at("a")]);
    assert_eq!((report.searched, report.skipped.line_too_long), (Some(1), 1));
}

#[test]
fn lines_after_a_long_one_cannot_be_shown() {
    let tree = TempTree::new("");
    tree.file("long", ["x".repeat(17 << 20), "foo".to_owned()].join("\n"));
    let by_rg = turn(&tree).with_search_engine(SearchEngine::Rg);
    for path in ["/repo", "/repo/long"] {
        let arguments = format!(r#"{{"pattern":"foo","path":"{path}","show":"lines"}}"#);
        assert_eq!(
            answer(&tree, &turn(&tree), &arguments),
            "No matches found.\n[searched 0 files; skipped 1 only up to a line above 16 MiB]\nsuccess: \
             Some(false)"
        );
        assert_eq!(
            answer(&tree, &by_rg, &arguments),
            "the matches are in or after a line longer than 16 MiB, which cannot be shown; use show: \"files\" \
             or \"count\"\nerror: search_failed"
        );
    }
}

#[test]
fn every_worker_stops_within_a_long_line() {
    let tree = TempTree::new("");
    for number in 0..8 {
        tree.file(format!("{number}/long"), vec![b'x'; 32 << 20]);
    }
    let deadline = Instant::now() + Duration::from_millis(100);
    let turn = turn(&tree).with_deadline(deadline);
    let text = answer(&tree, &turn, r#"{"pattern":"(x.)*y"}"#);
    let late = deadline.elapsed();
    assert!(text.ends_with("error: timed_out"), "{text}");
    assert!(late < Duration::from_secs(3), "{late:?}");
}

#[test]
fn a_huge_pattern_or_one_with_a_nul_is_refused() {
    let tree = TempTree::new("a = foo");
    for (pattern, include) in [("a".repeat(1 << 20), "*"), ("a".into(), &*"b".repeat(9000))] {
        let arguments = format!(r#"{{"pattern":"{pattern}","include":"{include}"}}"#);
        let text = answer(&tree, &turn(&tree), &arguments);
        assert!(text.ends_with(" must be at most 8192 bytes\nerror: invalid_input"), "{text}");
    }
    check(
        &tree,
        r#"{"pattern":"a\u0000b"}"#,
        expect![[r#"
            pattern must not contain a NUL character
            error: invalid_input"#]],
    );
    let nested = format!(r#"{{"pattern":"{}{}"}}"#, "(".repeat(3000), ")".repeat(3000));
    assert!(answer(&tree, &turn(&tree), &nested).ends_with("error: invalid_input"));
    let braces =
        format!(r#"{{"pattern":"a","include":"{}{}"}}"#, "{".repeat(4000), "}".repeat(4000));
    assert_eq!(
        answer(&tree, &turn(&tree), &braces),
        "include must not nest braces deeper than 500 levels\nerror: invalid_input"
    );
}

#[test]
fn a_pattern_that_compiles_too_large_is_refused() {
    let tree = TempTree::new("a = foo");
    for pattern in [r"[\\s\\S]{0,1000000}", r"\\pL{9000}", r"((a{100}){100}){1000}"] {
        let text = answer(&tree, &turn(&tree), &format!(r#"{{"pattern":"{pattern}"}}"#));
        assert_eq!(
            text,
            "pattern is too large: it exceeds 100 MiB when compiled; use a simpler pattern, or \
             (?-u:\\w) instead of \\w if ASCII is enough\nerror: invalid_input"
        );
    }
}

#[test]
fn a_pattern_may_be_as_large_as_in_ripgrep() {
    let word = "w".repeat(60);
    let tree = TempTree::new(&format!("a = some.one@example.org {word}"));
    for pattern in [r"[\\w.+-]{1,64}@[\\w-]{1,255}\\.\\w+", r"\\w{1,230}", r"\\b\\w{40,256}\\b"] {
        check(
            &tree,
            &format!(r#"{{"pattern":"{pattern}"}}"#),
            expect![[r#"
                /repo/a
                success: Some(true)"#]],
        );
    }
}

#[test]
fn large_patterns_compile_one_at_a_time_within_the_time_limit() {
    let tree = TempTree::new("a = foo");
    let pattern = r#"{"pattern":"\\w{1,230}"}"#;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| answer(&tree, &turn(&tree), pattern));
        }
    });
    let late = turn(&tree).with_deadline(Instant::now() + Duration::from_millis(1));
    let text = answer(&tree, &late, pattern);
    assert!(
        text.starts_with("rg timed out after ") && text.ends_with("error: timed_out"),
        "{text}"
    );
}

#[test]
fn flags_as_patterns_and_a_configuration_file_execute_nothing() {
    let tree = TempTree::new("a = --pre=touch x\n b = -f/etc/passwd");
    let planted = tree.path().join("x");
    let config = tree.beside().join("config");
    fs::write(&config, format!("--pre=touch {}\n--files\n", planted.display())).unwrap();
    let turn = turn_with(&tree, [("RIPGREP_CONFIG_PATH", config.into())]);
    check_in(
        &tree,
        &turn,
        r#"{"pattern":"--pre=touch x"}"#,
        expect![[r#"
            /repo/a
            success: Some(true)"#]],
    );
    check_in(
        &tree,
        &turn,
        r#"{"pattern":"-f/etc/passwd","include":"--pre=touch"}"#,
        expect![[r#"
            No matches found.
            success: Some(false)"#]],
    );
    assert!(!planted.exists());
}

#[test]
fn a_cancelled_search_is_reported_as_cancelled() {
    let tree = TempTree::new("a = foo");
    let cancel = CancelFlag::default();
    cancel.cancel();
    check_in(
        &tree,
        &turn(&tree).with_cancel(cancel),
        r#"{"pattern":"foo"}"#,
        expect![[r#"
            grep_files was cancelled
            error: cancelled"#]],
    );
}

/// A turn whose `rg` is a shell script.
fn scripted(tree: &TempTree, script: &str) -> TurnContext {
    let folder = tree.beside().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("rg");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    turn_with(tree, [("PATH", folder.into())]).with_search_engine(SearchEngine::Rg)
}

#[test]
fn rg_is_killed_at_the_time_limit() {
    let tree = TempTree::new("a = foo");
    let pids = tree.path().join("pids");
    let script = format!("/bin/sleep 60 & echo $! $$ > '{}'; wait", pids.display());
    let deadline = Instant::now() + Duration::from_millis(700);
    let turn = scripted(&tree, &script).with_deadline(deadline);
    let text = answer(&tree, &turn, r#"{"pattern":"foo"}"#);
    assert!(deadline.elapsed() < Duration::from_secs(30));
    expect![[r#"
        rg timed out after 1 seconds
        error: timed_out"#]]
    .assert_eq(&text);
    std::thread::sleep(Duration::from_millis(100));
    for pid in fs::read_to_string(&pids).unwrap().split_whitespace() {
        let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
        assert!(stat.is_err() || stat.unwrap().contains(") Z "), "{pid} is still running");
    }
}

#[test]
fn the_output_of_rg_uses_bounded_memory() {
    let tree = TempTree::new("a = foo");
    let text = |script| answer(&tree, &scripted(&tree, script), r#"{"pattern":"foo"}"#);
    expect![[r#"
        rg failed: oops
        more
        error: search_failed"#]]
    .assert_eq(&text("echo /x; echo 'rg: oops' >&2; echo more >&2; exit 2"));
    expect![[r#"
        rg failed: exit code 3
        error: search_failed"#]]
    .assert_eq(&text("exit 3"));
    expect![[r#"
        rg failed: killed by signal 9
        error: search_failed"#]]
    .assert_eq(&text("kill -9 $$"));
    expect![[r#"
        /end
        success: Some(true)"#]]
    .assert_eq(&text("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo /end"));
    let complaint = text("head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 2");
    assert!(complaint.len() < 9000);
}

#[test]
fn an_ignore_file_may_have_a_hundred_thousand_rules() {
    let tree = TempTree::new(
        "kept = foo\n gone/a-name-that-is-long-enough-for-five-megabytes-000007 = foo",
    );
    let rules: String = (0..100_000)
        .map(|number| format!("a-name-that-is-long-enough-for-five-megabytes-{number:06}\n"))
        .collect();
    assert!(rules.len() > 5_000_000);
    tree.file(".ignore", rules);
    let start = Instant::now();
    let report = report("foo", &turn(&tree));
    assert_eq!(report.files, [tree.at("kept")]);
    let most = if cfg!(debug_assertions) { 30 } else { 10 };
    assert!(start.elapsed() < Duration::from_secs(most), "{:?}", start.elapsed());
}

#[test]
fn deeply_nested_ignore_rules_do_not_crash() {
    let tree = TempTree::new("a = foo");
    tree.file(".ignore", format!("{}a{}\n", "{".repeat(200_000), "}".repeat(200_000)));
    tree.file(".rgignore", format!("{}\n", "{".repeat(490)));
    tree.file("sub/.ignore", format!("{}b{}\n", "{".repeat(490), "}".repeat(490)));
    tree.file("sub/b", "foo");
    let turn = turn(&tree);
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let files = small.spawn(move || report("foo", &turn).files.len()).unwrap().join().unwrap();
    assert!(files >= 1);
}

#[test]
fn a_tree_deeper_than_any_path_is_searched() {
    let tree = TempTree::new("");
    let mut folder = fs::File::open(tree.path()).unwrap();
    let name = "d".repeat(100);
    for _ in 0..120 {
        rustix::fs::mkdirat(&folder, &*name, 0o755.into()).unwrap();
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
        folder = rustix::fs::openat(&folder, &*name, flags, 0.into()).unwrap().into();
    }
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
    for name in ["deep", "skipped"] {
        let file = rustix::fs::openat(&folder, name, flags, 0o644.into()).unwrap();
        rustix::io::write(&file, b"foo\n").unwrap();
    }
    let rules = rustix::fs::openat(&folder, ".ignore", flags, 0o644.into()).unwrap();
    rustix::io::write(&rules, b"skipped\n").unwrap();
    let confined = turn(&tree).with_root(Root::open(tree.path()).unwrap());
    for turn in [turn(&tree), confined] {
        let report = report("foo", &turn);
        assert_eq!(report.files.len(), 1);
        assert!(report.files[0].ends_with("/deep"));
        assert!(report.files[0].len() > 12_000);
    }
}

#[test]
fn a_changing_tree_gives_a_result_or_an_error() {
    let tree = TempTree::new("still = foo\n sub/a = foo");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::remove_dir_all(tree.path().join("sub"));
                let _ = fs::create_dir_all(tree.path().join("sub/deep"));
                let _ = fs::write(tree.path().join("sub/deep/a"), "foo\n".repeat(5000));
                let _ = fs::write(tree.path().join("shrinks"), "bar\n".repeat(50_000));
                let _ = fs::File::create(tree.path().join("shrinks"));
            }
        });
        let turn = turn(&tree);
        for _ in 0..200 {
            let report = report("foo", &turn);
            assert!(report.files.contains(&tree.at("still")));
            let args = GrepFilesArgs { path: Some("sub".into()), ..GrepFilesArgs::new("foo") };
            if let Err(error) = GrepFiles.run(args, &turn) {
                assert_eq!(error.code, eyelet::ErrorCode::NotFound, "{error}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
