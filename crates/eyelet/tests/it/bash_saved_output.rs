//! `bash`: where long output is saved, and for how long.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use eyelet::tools::{Bash, BashArgs, BashReport, GrepFiles, GrepFilesArgs, Keep, Read, ReadArgs};
use eyelet::{ErrorCode, OutputStore, Root, SandboxPolicy, Tool as _, TurnContext};
use rustix::process::{Resource, getrlimit};
use testkit::{TempTree, is_root};

use crate::bash::run;

const LONG: &str = "printf '%060000d' 0";

fn turn(tree: &TempTree, spill: OutputStore) -> TurnContext {
    TurnContext::new(tree.path(), SandboxPolicy::Full)
        .expect("absolute")
        .with_environment(std::env::vars_os().collect())
        .with_output_store(Arc::new(spill))
}

fn uid() -> u32 {
    fs::metadata("/proc/self").expect("Linux").uid()
}

fn file(report: &BashReport) -> PathBuf {
    report.stdout.file().unwrap_or_else(|| panic!("not saved: {:?}", report.stdout.saved)).clone()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is there");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

#[test]
fn the_saved_file_has_every_byte() {
    let tree = TempTree::new("");
    let turn = turn(&tree, OutputStore::session(tree.beside()));
    for bytes in [51_200, 51_201, 262_144, 5_000_003] {
        // One after the other, and both at once.
        for and in [";", "&"] {
            let command = format!(
                "head -c {bytes} /dev/urandom > copy; cat copy {and} head -c {bytes} copy >&2; wait"
            );
            let report = run(&turn, &command);
            let copy = fs::read(tree.path().join("copy")).expect("readable");
            assert_eq!(copy.len(), bytes);
            for stream in [&report.stdout, &report.stderr] {
                assert_eq!((stream.total_bytes, stream.save_error()), (bytes as u64, None));
                let saved = fs::read(stream.file().expect("saved")).expect("readable");
                assert!(saved == copy, "{bytes} bytes, {and}");
            }
        }
    }
}

#[test]
fn no_directory_is_created_until_it_is_needed() {
    let tree = TempTree::new("");
    let turn = turn(&tree, OutputStore::session(tree.beside()));
    run(&turn, "echo short");
    assert_eq!(names(&tree.beside()), Vec::<String>::new());
    run(&turn, LONG);
    assert_eq!(names(&tree.beside()).len(), 1);
}

#[test]
fn directory_and_file_are_private_with_any_umask() {
    // The umask applies to the whole process, so another process runs the test.
    for umask in ["umask 000", "umask 022", "umask 077"] {
        let test = "bash_saved_output::directory_and_file_are_private_with_any_umask";
        testkit::in_own_process_after(umask, test, private_folder_and_file);
    }
}

fn private_folder_and_file() {
    let tree = TempTree::new("");
    for spill in [OutputStore::session(tree.beside()), OutputStore::per_user(tree.beside())] {
        let turn = turn(&tree, spill);
        let file = file(&run(&turn, LONG));
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o7777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().expect("a folder")), 0o700);
        let name = file.file_name().expect("a name").to_str().expect("UTF-8");
        assert!(name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}

#[test]
fn names_cannot_be_guessed() {
    let tree = TempTree::new("");
    let turn = turn(&tree, OutputStore::session(tree.beside()));
    let start = |file: PathBuf| {
        let name = file.file_name().expect("a name").as_encoded_bytes();
        name.get(..16).expect("128 bits").to_owned()
    };
    let mut starts: Vec<_> = (0..20).map(|_| start(file(&run(&turn, LONG)))).collect();
    starts.sort();
    starts.dedup();
    assert_eq!(starts.len(), 20);
}

#[test]
fn output_that_cannot_be_saved_does_not_fail_the_call() {
    let tree = TempTree::new("file");
    let reason = |temp: PathBuf| {
        let turn = turn(&tree, OutputStore::session(temp));
        let report = run(&turn, "printf '%060000d' 0; exit 3");
        assert_eq!(report.stdout.text().len(), 51_200);
        assert_eq!((report.exit_code, report.stdout.total_bytes), (3, 60_000));
        assert_eq!(report.stdout.file(), None);
        tree.redact(&report.stdout.save_error().expect("a reason"))
    };
    let reasons = [
        reason(tree.path().join("missing")),
        reason(tree.path().join("file")),
        reason(PathBuf::from("relative")),
    ];
    if !is_root() {
        let read_only = tree.dir("read-only");
        fs::set_permissions(&read_only, fs::Permissions::from_mode(0o500)).expect("ours");
        let reported = reason(read_only);
        assert!(reported.ends_with("Permission denied (os error 13)"), "{reported}");
    }
    expect_test::expect![[r#"
        /repo/missing: No such file or directory (os error 2)
        /repo/file: Not a directory (os error 20)
        the directory `relative` is not an absolute path"#]]
    .assert_eq(&reasons.join("\n"));
}

#[test]
fn the_process_limit_on_file_size_is_respected() {
    // Writing beyond the limit would kill the process.
    let test = "bash_saved_output::the_process_limit_on_file_size_is_respected";
    for (before, bytes) in [("ulimit -f 60", 100_000), ("ulimit -f 1500", 6_000_000)] {
        testkit::in_own_process_after(before, test, || {
            let tree = TempTree::new("");
            let turn = turn(&tree, OutputStore::session(tree.beside()));
            let report = run(&turn, &format!("printf '%0{bytes}d' 0"));
            let limit = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
            assert_eq!(fs::metadata(file(&report)).expect("it is there").len(), limit.min(bytes));
            let error = format!("only the first {limit} of {bytes} bytes were saved");
            assert_eq!(report.stdout.save_error(), (limit < bytes).then_some(error));
        });
    }
}

#[test]
fn a_planted_directory_is_refused() {
    let tree = TempTree::new("victim/");
    let name = format!("eyelet-{}", uid());
    let planted = tree.beside().join(&name);
    let reason = || {
        let report = run(&turn(&tree, OutputStore::per_user(tree.beside())), LONG);
        assert_eq!(report.stdout.file(), None);
        report.stdout.save_error().expect("a reason")
    };

    symlink(tree.path().join("victim"), &planted).expect("ours");
    assert!(reason().ends_with("Not a directory (os error 20)"), "{}", reason());
    assert_eq!(names(&tree.path().join("victim")), Vec::<String>::new());
    fs::remove_file(&planted).expect("ours");

    fs::write(&planted, "a file").expect("ours");
    assert!(reason().ends_with("Not a directory (os error 20)"), "{}", reason());
    fs::remove_file(&planted).expect("ours");

    fs::create_dir(&planted).expect("ours");
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o755)).expect("ours");
    assert!(reason().ends_with("is accessible to other users"), "{}", reason());

    fs::set_permissions(&planted, fs::Permissions::from_mode(0o700)).expect("ours");
    if is_root() {
        std::os::unix::fs::chown(&planted, Some(65_534), None).expect("root");
        assert!(reason().ends_with("belongs to another user"), "{}", reason());
    }
}

#[test]
fn a_saved_file_stops_at_its_limit_and_the_reply_says_so() {
    let tree = TempTree::new("");
    let turn =
        |limit, all| turn(&tree, OutputStore::session(tree.beside()).with_limits(limit, all));
    for (turn, kept, bytes) in [
        (turn(55_000, 1_000_000), 55_000, 300_000),
        // At the limit of one file, and at the limit of all files.
        (turn(2_500_001, 9_000_000), 2_500_001, 7_000_000),
        (turn(2_500_001, 1_500_001), 1_500_001, 7_000_000),
    ] {
        let report = run(&turn, &format!("head -c {bytes} /dev/urandom | tee copy"));
        let copy = fs::read(tree.path().join("copy")).expect("readable");
        assert!(fs::read(file(&report)).expect("readable") == copy[..kept], "{kept}");
        assert_eq!(report.stdout.total_bytes, bytes);
        assert_eq!(
            report.stdout.save_error(),
            Some(format!("only the first {kept} of {bytes} bytes were saved"))
        );
    }
}

#[test]
fn all_lines_of_a_long_output_are_counted() {
    const BYTES: u64 = 20 << 20;
    let tree = TempTree::new("");
    let turn = turn(&tree, OutputStore::session(tree.beside()).with_limits(100_000, 1_000_000));
    let command = format!("yes 0123456 | head -c {BYTES}; printf end");
    for (keep, text) in [(Keep::Head, "0123456\n01"), (Keep::Tail, "0123456\nend")] {
        let args = BashArgs { keep: Some(keep), ..BashArgs::new(&command) };
        let report = Bash.run(args, &turn).expect("it runs");
        assert_eq!((report.stdout.total_bytes, report.stdout.lines), (BYTES + 3, BYTES / 8 + 1));
        assert!(report.stdout.text().contains(text), "{keep:?}");
        let saved = fs::read(file(&report)).expect("readable");
        assert!(saved == "0123456\n".repeat(12_500).as_bytes(), "{keep:?}");
    }
}

#[test]
fn the_oldest_files_are_removed_at_the_session_limit() {
    let tree = TempTree::new("");
    let turn = turn(&tree, OutputStore::session(tree.beside()).with_limits(100_000, 200_000));
    let files: Vec<_> = (0..5).map(|_| file(&run(&turn, LONG))).collect();
    let there: Vec<_> = files.iter().map(|file| file.exists()).collect();
    assert_eq!(there, [false, false, true, true, true]);
}

#[test]
fn removed_files_are_reported_now_and_when_read_later() {
    let tree = TempTree::new("");
    let turn = turn(&tree, OutputStore::session(tree.beside()).with_limits(100_000, 200_000));
    let first = run(&turn, LONG);
    let others: Vec<_> = (0..3).map(|_| run(&turn, LONG)).collect();
    assert_eq!(first.removed.count() + others[0].removed.count() + others[1].removed.count(), 0);
    assert_eq!(others[2].removed.named(), [file(&first)]);
    let data = serde_json::to_value(&others[2]).expect("JSON");
    assert_eq!(data["spill_removed"], serde_json::json!([file(&first)]));
    assert!(serde_json::to_value(&first).expect("JSON").get("spill_removed").is_none());

    let gone = file(&first).to_str().expect("UTF-8").to_owned();
    let reason = "was removed: saved output exceeded the session limit of 200000 bytes; run the \
                  command again";
    let confined = turn.with_root(Root::open(tree.path()).expect("there"));
    let error = Read.run(ReadArgs::new(&gone), &confined).expect_err("it is gone");
    assert_eq!(error.code, ErrorCode::NotFound);
    assert_eq!(error.message, format!("path `{gone}` {reason}"));
    let args = GrepFilesArgs { path: Some(gone.clone()), ..GrepFilesArgs::new("0") };
    let error = GrepFiles.run(args, &confined).expect_err("it is gone");
    assert_eq!(
        (error.code, error.message),
        (ErrorCode::NotFound, format!("path `{gone}` {reason}"))
    );
    // A file that never existed is not reported as removed.
    let never = format!("{}{}", &gone[..gone.len() - 1], if gone.ends_with('0') { 1 } else { 0 });
    let error = Read.run(ReadArgs::new(&never), &confined).expect_err("it never was there");
    assert!(!error.message.contains("removed"), "{}", error.message);
}

#[test]
fn a_missing_file_of_the_command_line_says_why() {
    let tree = TempTree::new("");
    let here = turn(&tree, OutputStore::per_user(tree.beside()));
    let kept = file(&run(&here, LONG));
    fs::remove_file(&kept).expect("ours");
    let next = turn(&tree, OutputStore::per_user(tree.beside()));
    let error = Read.run(ReadArgs::new(kept.to_str().expect("UTF-8")), &next).expect_err("gone");
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(
        error.message.contains("no longer exists: saved output is removed after 24 hours"),
        "{error:?}"
    );
}

#[test]
fn open_files_never_exceed_the_session_limit() {
    let tree = TempTree::new("");
    let turn = turn(&tree, OutputStore::session(tree.beside()).with_limits(100_000, 150_000));
    let report = run(&turn, "printf '%0100000d' 0; printf '%0100000d' 0 >&2");
    let kept = |file: &Path| fs::metadata(file).expect("it is there").len();
    let both = kept(&file(&report)) + kept(report.stderr.file().expect("saved"));
    assert_eq!(both, 150_000);
}

#[test]
fn a_session_removes_its_directory_when_it_ends() {
    let tree = TempTree::new("");
    let turn = turn(&tree, OutputStore::session(tree.beside()));
    let file = file(&run(&turn, LONG));
    assert!(file.exists());
    drop(turn);
    assert_eq!(names(&tree.beside()), Vec::<String>::new());
}

#[test]
fn a_start_removes_only_directories_of_dead_sessions() {
    let tree = TempTree::new("");
    let live = turn(&tree, OutputStore::session(tree.beside()));
    let live_file = file(&run(&live, LONG));
    let dead = tree.beside().join(format!("eyelet-{}-{}", uid(), "0".repeat(32)));
    let strange = tree.beside().join(format!("eyelet-{}-strange", uid()));
    for folder in [&dead, &strange] {
        fs::create_dir(folder).expect("ours");
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("ours");
        fs::write(folder.join("file"), "left").expect("ours");
    }
    let _next = OutputStore::session(tree.beside());
    assert!(!dead.exists() && strange.exists() && live_file.exists());
}

#[test]
fn files_of_the_command_line_outlive_it_for_a_day() {
    let tree = TempTree::new("");
    let kept = |spill| file(&run(&turn(&tree, spill), LONG));
    let [old, new] = [(); 2].map(|()| kept(OutputStore::per_user(tree.beside())));
    assert!(old.exists() && old.parent() == new.parent());
    let yesterday = SystemTime::now() - Duration::from_secs(24 * 60 * 60 + 60);
    fs::File::options()
        .write(true)
        .open(&old)
        .expect("ours")
        .set_modified(yesterday)
        .expect("ours");
    let _next = OutputStore::per_user(tree.beside());
    assert!(!old.exists() && new.exists());
}

#[test]
fn files_of_earlier_commands_count_toward_the_limit() {
    let tree = TempTree::new("");
    let kept = || {
        let spill = OutputStore::per_user(tree.beside()).with_limits(100_000, 150_000);
        file(&run(&turn(&tree, spill), LONG))
    };
    let [first, second, third] = [(); 3].map(|()| {
        let file = kept();
        // File times have a limited resolution; these differ for certain.
        let old = SystemTime::now() - Duration::from_secs(100);
        fs::File::options().write(true).open(&file).expect("ours").set_modified(old).expect("ours");
        file
    });
    assert!(third.exists());
    assert_eq!([first, second].iter().filter(|file| file.exists()).count(), 1);
}

#[test]
fn a_directory_removed_by_a_cleaner_is_created_again() {
    let tree = TempTree::new("");
    for spill in [OutputStore::session(tree.beside()), OutputStore::per_user(tree.beside())] {
        let turn = turn(&tree, spill);
        let first = file(&run(&turn, LONG));
        fs::remove_dir_all(first.parent().expect("a folder")).expect("ours");
        assert!(file(&run(&turn, LONG)).exists());
    }
}

#[test]
fn a_saved_file_is_readable_with_roots() {
    let tree = TempTree::new("");
    let root = || Root::open(tree.path()).expect("it is there");
    let first = turn(&tree, OutputStore::per_user(tree.beside())).with_root(root());
    let file = file(&run(&first, LONG));
    let path = file.to_str().expect("UTF-8");
    assert!(first.resolve_path("path", path).is_ok());
    let next = turn(&tree, OutputStore::per_user(tree.beside())).with_root(root());
    assert!(next.resolve_path("path", path).is_ok());
    let beside = tree.beside();
    assert!(next.resolve_path("path", beside.to_str().expect("UTF-8")).is_err());
    let other = turn(&tree, OutputStore::session(tree.beside())).with_root(root());
    assert!(other.resolve_path("path", path).is_err());
}
