//! `bash`: calls do not hang, leave no process behind and need constant memory.

use std::collections::BTreeSet;

use eyelet::Tool as _;
use eyelet::tools::{Bash, BashArgs};
use testkit::TempTree;

use crate::bash::{run, turn};

/// Whether a process exists and is not a zombie.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|state| state != "Z" && state != "X")
}

#[test]
fn the_call_ends_when_the_command_ends() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    for background in ["sleep 100", "trap '' TERM; sleep 100; sleep 100", "yes"] {
        let report = run(&turn, &format!("({background}) & echo $!; exit 4"));
        let pid = report.stdout.text().lines().next().expect("the process id");
        assert!(!is_alive(pid), "{background}");
        assert_eq!(report.exit_code, 4, "{background}");
    }
}

#[test]
fn background_processes_are_killed_even_without_a_pipe() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let command = "(trap 'echo ended > ended; exit' TERM; touch ready; sleep 100 & wait) \
                   >/dev/null 2>&1 & while [ ! -e ready ]; do :; done; echo $!";
    let report = run(&turn, command);
    assert!(!is_alive(report.stdout.text()));
    assert_eq!(std::fs::read_to_string(tree.path().join("ended")).expect("asked first"), "ended\n");
}

#[test]
fn a_background_process_may_finish_its_output() {
    let tree = TempTree::new("");
    let report = run(&turn(&tree), "echo through a substitution > >(cat)");
    assert_eq!(report.stdout.text(), "through a substitution\n");
}

#[test]
fn eyelet_waits_for_a_command_that_closes_its_outputs() {
    let tree = TempTree::new("");
    let report = run(&turn(&tree), "exec 1>&- 2>&-; sleep 1; touch made; exit 5");
    assert_eq!(report.exit_code, 5);
    assert!(tree.path().join("made").exists());
}

#[test]
fn a_timeout_kills_the_whole_process_group() {
    let tree = TempTree::new("");
    let command = "sleep 100 & echo $!; sleep 100 & echo $!; wait";
    let args = BashArgs { timeout_secs: Some(1), ..BashArgs::new(command) };
    let report = Bash.run(args, &turn(&tree)).expect("it runs");
    assert!(report.timed_out);
    assert_eq!(report.stdout.text().lines().filter(|pid| is_alive(pid)).count(), 0);
    assert_eq!(report.stdout.lines, 2);
}

#[test]
fn long_output_on_one_stream_does_not_block_the_other() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let report = run(&turn, "head -c 50000000 /dev/zero >&2; echo one line");
    assert_eq!((report.stdout.text(), report.stderr.total_bytes), ("one line\n", 50_000_000));
    let report = run(
        &turn,
        "for i in 1 2 3 4 5 6 7 8; do head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; done",
    );
    assert_eq!((report.stdout.total_bytes, report.stderr.total_bytes), (24_000_000, 24_000_000));
}

#[test]
fn concurrent_calls_do_not_mix_output() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    std::thread::scope(|scope| {
        for caller in 1..=8 {
            let turn = &turn;
            scope.spawn(move || {
                for round in 0..5 {
                    let command = format!("yes {caller}{round} | head -n 30000; exit {caller}");
                    let report = run(turn, &command);
                    assert_eq!((report.exit_code, report.stdout.lines), (caller, 30_000));
                    let file = report.stdout.file().expect("saved");
                    let text = std::fs::read_to_string(file).expect("readable");
                    assert!(text == format!("{caller}{round}\n").repeat(30_000));
                }
            });
        }
    });
}

#[test]
fn a_command_inherits_only_its_standard_file_descriptors() {
    let tree = TempTree::new("");
    let report = run(&turn(&tree), "for f in /proc/$$/fd/*; do readlink $f; done");
    let spill = tree.beside();
    let inherited = inheritable();
    let files: Vec<_> = report.stdout.text().lines().map(str::to_owned).collect();
    assert!(files.iter().all(|file| !file.starts_with(spill.to_str().expect("UTF-8"))));
    assert!(!files.contains(&tree.str().to_owned()), "{files:?}");
    assert!(files.len() <= 3 + inherited, "{files:?}");
}

/// How many open files this process inherited and passes on.
fn inheritable() -> usize {
    let entries = std::fs::read_dir("/proc/self/fdinfo").expect("Linux");
    let infos = entries.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
    let is_inherited = |info: &String| {
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        flags.is_some_and(|flags| {
            i64::from_str_radix(flags.trim(), 8).unwrap_or(0) & 0o2_000_000 == 0
        })
    };
    infos.filter(is_inherited).count().saturating_sub(3)
}

#[test]
fn many_calls_leave_no_zombie_and_no_open_file() {
    testkit::in_own_process("bash_processes::many_calls_leave_no_zombie_and_no_open_file", || {
        let tree = TempTree::new("");
        let turn = turn(&tree);
        let files = || -> BTreeSet<_> {
            let entries = std::fs::read_dir("/proc/self/fd").expect("Linux");
            entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
        };
        run(&turn, "printf '%060000d' 0");
        let before = files();
        for round in 0..300 {
            let command = if round % 50 == 0 { "printf '%060000d' 0; sleep 9 &" } else { "true" };
            assert_eq!(run(&turn, command).exit_code, 0);
        }
        assert_eq!(files(), before);
        let mine = std::process::id().to_string();
        for entry in std::fs::read_dir("/proc").expect("Linux").filter_map(Result::ok) {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
            assert_ne!(parent, Some(mine.as_str()), "a child is left: {stat}");
        }
    });
}

#[test]
fn memory_does_not_grow_with_the_output() {
    testkit::in_own_process("bash_processes::memory_does_not_grow_with_the_output", || {
        let tree = TempTree::new("");
        let turn = turn(&tree);
        run(&turn, "printf '%060000d' 0");
        let before = testkit::peak_memory();
        let report = run(&turn, "head -c 200000000 /dev/zero | tr '\\0' x");
        assert_eq!((report.stdout.total_bytes, report.stdout.lines), (200_000_000, 1));
        assert!(
            testkit::peak_memory() - before < 8 << 20,
            "grew by {} bytes",
            testkit::peak_memory() - before
        );
    });
}
