//! Kills eyelet and its supervisors at any time: no process is left, and no output is lost.

use std::fs;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use eyelet::tools::{Bash, BashArgs, Read, ReadArgs};
use eyelet::{
    CancelFlag, Environment, OutputStore, PrivateTemp, Root, SandboxPolicy, SandboxSettings,
    Tool as _, TurnContext,
};
use eyelet_sandbox::{Supervisor, Tier, TierChoice, parent_process};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::eyelet_bin;
use testkit::workspace::{
    FIRST, SECOND, SUPERVISED, Workspace, envelope, is_mentioned, marked, marker, with_marker,
    within,
};

const ROUNDS: usize = 12;

fn pid(process: &Child) -> Pid {
    Pid::from_raw(i32::try_from(process.id()).unwrap()).unwrap()
}

/// A call whose command has started two processes that would run for a long time.
fn under_way(workspace: &Workspace, flags: &[&str], marker: &str) -> Child {
    let command = format!("echo early; setsid sleep {marker} & sleep {marker}; true");
    begun(workspace, flags, marker, &command)
}

/// Starts a call and waits until its command has started two processes with the marker.
fn begun(workspace: &Workspace, flags: &[&str], marker: &str, command: &str) -> Child {
    let mut eyelet = workspace.eyelet(flags);
    eyelet.args(["call", "bash", &serde_json::json!({ "command": command }).to_string()]);
    let child = eyelet.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    assert!(within(Duration::from_secs(30), || marked(marker) == 2), "{flags:?} did not start");
    child
}

#[test]
fn killing_eyelet_kills_its_commands_within_a_second() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        for round in 0..ROUNDS {
            let marker = marker();
            let mut eyelet = under_way(&workspace, flags, &marker);
            // Not INT: it may be ignored if the tests run in the background.
            let signal = [Signal::KILL, Signal::TERM][round % 2];
            kill_process(pid(&eyelet), signal).unwrap();
            eyelet.wait().unwrap();
            assert!(
                within(Duration::from_secs(30), || marked(&marker) == 0),
                "{flags:?} round {round}: {} left",
                marked(&marker)
            );
        }
    }
    // The next start removes the temp directories of killed processes.
    workspace.stdout(SUPERVISED[0], "true");
    let left = fs::read_dir(workspace.tree.beside()).unwrap().filter_map(Result::ok);
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("-tmp-")), "{left:?}");
}

#[test]
fn a_start_under_any_policy_removes_temp_directories_of_killed_processes() {
    for flags in SUPERVISED {
        let workspace = Workspace::new("");
        let left = || {
            let entries = fs::read_dir(workspace.tree.beside()).unwrap().filter_map(Result::ok);
            let names = entries.map(|entry| entry.file_name());
            names.filter(|name| name.to_string_lossy().contains("-tmp-")).count()
        };
        let marker = marker();
        let mut eyelet = under_way(&workspace, SUPERVISED[0], &marker);
        kill_process(pid(&eyelet), Signal::KILL).unwrap();
        eyelet.wait().unwrap();
        assert!(within(Duration::from_secs(30), || marked(&marker) == 0), "{flags:?}");
        assert_eq!(left(), 1, "{flags:?}");
        workspace.stdout(flags, "true");
        assert_eq!(left(), 0, "{flags:?}");
    }
}

/// The children of a process.
pub(crate) fn children(parent: u32) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let child = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let found = parent_process(pid)?;
        (found.unsigned_abs() == parent).then(|| Pid::from_raw(pid)).flatten()
    };
    processes.filter_map(child).collect()
}

#[test]
fn killing_a_supervisor_ends_the_call_and_its_processes() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        for round in 0..ROUNDS {
            let marker = marker();
            let eyelet = under_way(&workspace, flags, &marker);
            let outer = children(eyelet.id());
            // The monitor and the init process in turn.
            let target = if round % 2 == 0 {
                outer[0]
            } else {
                children(outer[0].as_raw_pid().unsigned_abs())[0]
            };
            kill_process(target, Signal::KILL).unwrap();
            let start = Instant::now();
            let answer = envelope(&eyelet.wait_with_output().unwrap());
            assert!(start.elapsed() < Duration::from_secs(30), "{flags:?} {:?}", start.elapsed());
            assert_eq!(answer["data"]["stdout"], "early\n", "{flags:?} {answer}");
            assert_ne!(answer["data"]["exit_code"], 0, "{flags:?} {answer}");
            assert!(within(Duration::from_secs(30), || marked(&marker) == 0), "{flags:?} {round}");
        }
    }
}

#[test]
fn killing_a_supervisor_restores_or_reports_protected_paths() {
    const UNCHECKED: &str = "protected paths in this root may have changed and were not checked";
    for flags in [FIRST, SECOND] {
        for round in 0..ROUNDS {
            let workspace = Workspace::new(".vscode/tasks.json = kept");
            let marker = marker();
            let command = format!(
                "echo evil > .mcp.json; echo evil > .vscode/tasks.json; setsid sleep {marker} & sleep {marker}; \
                 echo on > gone-on"
            );
            let eyelet = begun(&workspace, flags, &marker, &command);
            let outer = children(eyelet.id())[0];
            let inner = children(outer.as_raw_pid().unsigned_abs())[0];
            let targets = [vec![outer], vec![inner], vec![inner, outer]][round % 3].clone();
            // The second may have died with the first.
            for target in targets {
                let _ = kill_process(target, Signal::KILL);
            }
            let answer = envelope(&eyelet.wait_with_output().unwrap());
            let reported = answer["data"]["sandbox_reverted"].to_string();
            let now = (
                fs::read_to_string(workspace.at(".vscode/tasks.json")).unwrap(),
                workspace.at(".mcp.json").exists(),
            );
            let is_reverted = now == ("kept".to_owned(), false);
            // In the first tier both die together, and existing files could not be written.
            let is_reported = reported.contains("/.mcp.json: ") || reported.contains(UNCHECKED);
            assert!(
                is_reported && (is_reverted || reported.contains(UNCHECKED)),
                "{flags:?} {round} {answer}"
            );
            if flags == SECOND && round % 3 < 2 {
                assert!(is_reverted && !reported.contains(UNCHECKED), "{round} {now:?} {answer}");
            }
            assert!(flags == SECOND || now.0 == "kept", "{round} {now:?} {answer}");
            if flags == SECOND && round % 3 == 2 {
                // In the second tier no process is left to kill the command's children; only its shell dies.
                for left in with_marker(&marker) {
                    let _ = kill_process(left, Signal::KILL);
                }
            }
            assert!(within(Duration::from_secs(30), || marked(&marker) == 0), "{flags:?} {round}");
            // The command's shell is dead too.
            assert!(
                within(Duration::from_secs(30), || !is_mentioned(&marker)),
                "{flags:?} {round}"
            );
            assert!(!workspace.at("gone-on").exists(), "{flags:?} {round}");
        }
    }
}

#[test]
fn a_stopped_and_continued_eyelet_loses_no_output() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        for _ in 0..ROUNDS {
            let command =
                r#"{"command":"for i in 1 2 3 4 5; do echo $i; sleep 0.02; done; exit 4"}"#;
            let mut eyelet = workspace.eyelet(flags);
            let eyelet =
                eyelet.args(["call", "bash", command]).stdout(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(30));
            kill_process(pid(&eyelet), Signal::STOP).unwrap();
            std::thread::sleep(Duration::from_millis(120));
            kill_process(pid(&eyelet), Signal::CONT).unwrap();
            let answer = envelope(&eyelet.wait_with_output().unwrap());
            assert_eq!(answer["data"]["stdout"], "1\n2\n3\n4\n5\n", "{flags:?}");
            assert_eq!(answer["data"]["exit_code"], 4, "{flags:?}");
        }
    }
}

/// A session in this process, like that of a server.
pub(crate) fn session(workspace: &Workspace, tier: Tier) -> TurnContext {
    let temp = workspace.tree.beside();
    let settings = SandboxSettings::new(Supervisor::at(eyelet_bin()))
        .with_tier(TierChoice::Only(tier))
        .with_private_temp(Arc::new(PrivateTemp::session(&temp)));
    let environment: Environment =
        std::env::var_os("PATH").map(|path| ("PATH", path)).into_iter().collect();
    TurnContext::new(workspace.tree.path(), SandboxPolicy::WorkspaceWrite)
        .unwrap()
        .with_root(Root::open(workspace.tree.path()).unwrap())
        .with_environment(environment)
        .with_output_store(Arc::new(OutputStore::session(workspace.tree.beside())))
        .with_sandbox_settings(Arc::new(settings))
}

const BOTH: [Tier; 2] = [Tier::Namespaces, Tier::Landlock];

#[test]
fn a_cancelled_call_leaves_no_process() {
    let workspace = Workspace::new("");
    for tier in BOTH {
        for _ in 0..ROUNDS {
            let marker = marker();
            let cancel = CancelFlag::default();
            let turn = session(&workspace, tier).with_cancel(cancel.clone());
            let command = format!("echo early; setsid sleep {marker} & sleep {marker}");
            std::thread::scope(|scope| {
                let call = scope.spawn(|| Bash.run(BashArgs::new(&command), &turn).unwrap());
                assert!(within(Duration::from_secs(30), || marked(&marker) == 2));
                cancel.cancel();
                let report = call.join().unwrap();
                assert!(report.cancelled && report.stdout.text() == "early\n");
            });
            assert_eq!(marked(&marker), 0, "{tier:?}");
        }
    }
}

#[test]
fn a_command_after_the_end_of_its_session_leaves_no_directory() {
    for tier in BOTH {
        let workspace = Workspace::new("");
        let turn = session(&workspace, tier);
        let call = || Bash.run(BashArgs::new("head -c 100000 /dev/zero"), &turn).unwrap();
        let left = || {
            let entries = fs::read_dir(workspace.tree.beside()).unwrap().filter_map(Result::ok);
            let names = entries.map(|entry| entry.file_name());
            names.filter(|name| name.to_string_lossy().starts_with("eyelet-")).count()
        };
        call();
        assert_eq!(left(), 2, "{tier:?}");
        turn.end_session();
        call();
        assert_eq!(left(), 0, "{tier:?}");
    }
}

#[test]
fn many_supervised_calls_leave_no_process_or_open_file() {
    let name = "supervision::many_supervised_calls_leave_no_process_or_open_file";
    testkit::in_own_process(name, || {
        let workspace = Workspace::new("");
        let files = || fs::read_dir("/proc/self/fd").unwrap().count();
        for tier in BOTH {
            let turn = session(&workspace, tier);
            let run = || Bash.run(BashArgs::new("true"), &turn).unwrap();
            run();
            let before = files();
            (0..60).for_each(|_| assert_eq!(run().exit_code, 0));
            // A supervisor may still be about to exit.
            let is_clean = || children(std::process::id()).is_empty() && files() == before;
            assert!(within(Duration::from_secs(30), is_clean), "{tier:?}");
        }
    });
}

#[test]
fn an_unusable_temp_directory_falls_back_to_tmp() {
    let workspace = Workspace::new("file = no folder");
    for temp in ["/nonexistent", "/proc", workspace.at("file").to_str().unwrap()] {
        for tier in &SUPERVISED[..2] {
            let mut eyelet = workspace.eyelet(tier);
            eyelet.env("TMPDIR", temp).args(["call", "bash"]);
            eyelet.arg(r#"{"command":"cd \"$TMPDIR\" && echo t > t; cat t"}"#);
            let answer = envelope(&eyelet.output().unwrap());
            assert_eq!(answer["data"]["stdout"], "t\n", "{tier:?} {temp}: {answer}");
        }
    }
}

#[test]
fn tools_and_commands_share_the_temp_directory() {
    let workspace = Workspace::new("");
    for tier in BOTH {
        let turn = session(&workspace, tier);
        let run = |command: &str| Bash.run(BashArgs::new(command), &turn).unwrap();
        let report = run("echo from bash > \"$TMPDIR/note\"; echo $TMPDIR/note; seq 20000");
        let path = report.stdout.text().lines().next().unwrap().to_owned();
        assert_eq!(path.starts_with("/tmp/note"), tier == Tier::Namespaces, "{path}");
        let read = |path: &str| Read.run(ReadArgs::new(path), &turn);
        let shown = serde_json::to_value(read(&path).unwrap()).unwrap();
        assert_eq!(shown["content"], "from bash\n", "{tier:?}");
        // The next command can read both files, and cannot change the saved output.
        let kept = report.stdout.file().unwrap().to_str().unwrap().to_owned();
        assert_eq!(
            run(&format!("cat \"$TMPDIR/note\"; tail -n 1 '{kept}'")).stdout.text(),
            "from bash\n20000\n"
        );
        assert_ne!(run(&format!("echo x >> '{kept}'")).exit_code, 0, "{tier:?}");
        assert!(read(&kept).is_ok());
        // Another session has its own temp directory.
        let other = session(&workspace, tier);
        assert!(Read.run(ReadArgs::new(&path), &other).is_err());
        let theirs = Bash.run(BashArgs::new(format!("cat '{path}'")), &other).unwrap();
        assert_ne!(theirs.exit_code, 0, "{tier:?} {theirs:?}");
    }
}

#[test]
fn denied_globs_are_hidden_or_commands_are_refused() {
    let workspace = Workspace::new(
        "
        .env = CANARY
        sub/.ENV = CANARY
        secret/key = CANARY
        deep/er/secret/key = CANARY
        open = seen
    ",
    );
    let deny = ["--deny", "**/.env", "--deny", "secret"];
    let command = "cat .env sub/.ENV {,deep/er/}secret/key; ln -s .env l; cat l; rm -f .env; mv sub/.ENV x; \
                   cat x; cat open; grep -rc CANARY . | grep -v :0";
    let data = workspace.data(&[SUPERVISED[0], &deny].concat(), command);
    assert_eq!(data["stdout"], "seen", "{data}");
    assert_eq!(fs::read_to_string(workspace.at("sub/.ENV")).unwrap(), "CANARY");
    let answer = workspace.answer(&[SUPERVISED[1], &deny].concat(), command);
    assert_eq!(answer["error"]["code"], "sandbox_unavailable", "{answer}");
    assert!(answer.to_string().contains("deny globs cannot be enforced"), "{answer}");
}

#[test]
fn large_outputs_are_saved_completely() {
    let workspace = Workspace::new("");
    for (flags, stdout, stderr) in [
        (SUPERVISED[0], 100_000_000, 7_000_001),
        (SUPERVISED[1], 51_201, 40_000_000),
        (SUPERVISED[2], 30_000_000, 0),
    ] {
        let command = format!(
            "head -c {stdout} /dev/urandom | tee one; head -c {stderr} /dev/urandom | tee two >&2"
        );
        let answer =
            workspace.answer_of(flags, &json!({ "command": command, "timeout_secs": 600 }));
        let data = &answer["data"];
        for (name, file, bytes) in [("stdout", "one", stdout), ("stderr", "two", stderr)] {
            assert_eq!(data[format!("{name}_total_bytes")], bytes, "{flags:?}");
            if bytes > 0 {
                let kept = data[format!("{name}_file")].as_str().unwrap();
                assert!(
                    fs::read(kept).unwrap() == fs::read(workspace.at(file)).unwrap(),
                    "{flags:?} {name}"
                );
                fs::remove_file(kept).unwrap();
            }
        }
    }
}

/// Passes pages to its output by reference, and overwrites them once a full pipe came after them, when
/// they must have been read.
const LENDER: &str = r#"
import ctypes, fcntl, mmap
libc = ctypes.CDLL(None)
class Piece(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
size = fcntl.fcntl(1, 1032)
buffers = [mmap.mmap(-1, size) for _ in range(2)]
for turn in range(3 * 10**7 // size):
    buffer = buffers[turn % 2]
    buffer[:] = b"%7d\n" % turn * (size // 8)
    start = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    done = 0
    while done < size:
        piece = Piece(start + done, size - done)
        done += libc.vmsplice(1, ctypes.byref(piece), 1, 0)
"#;

#[test]
fn spliced_pages_are_saved_before_the_command_reuses_them() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    fs::write(workspace.at("lender"), LENDER).unwrap();
    let data = workspace.data(SUPERVISED[2], "python3 lender");
    let total = data["stdout_total_bytes"].as_u64().unwrap();
    assert!(total > 20_000_000 && data["exit_code"] == 0, "{data}");
    let kept = fs::read_to_string(data["stdout_file"].as_str().unwrap()).unwrap();
    assert_eq!(kept.len() as u64, total);
    let turns: Vec<u64> = kept.lines().map(|line| line.trim().parse().unwrap()).collect();
    let each = turns.iter().take_while(|turn| **turn == 0).count();
    let wrong = turns.iter().enumerate().filter(|(at, turn)| (at / each) as u64 != **turn).count();
    assert_eq!(wrong, 0, "of {} lines", turns.len());
}

#[test]
fn a_swapped_root_is_not_written() {
    let workspace = Workspace::new("w/file = kept");
    let root = Root::open(workspace.at("w")).unwrap();
    fs::rename(workspace.at("w"), workspace.at("moved")).unwrap();
    std::os::unix::fs::symlink(workspace.outside(), workspace.at("w")).unwrap();
    for tier in BOTH {
        let settings =
            SandboxSettings::new(Supervisor::at(eyelet_bin())).with_tier(TierChoice::Only(tier));
        let turn = TurnContext::new(workspace.at("w"), SandboxPolicy::WorkspaceWrite)
            .unwrap()
            .with_root(Root::open(workspace.at("moved")).unwrap())
            .with_environment(std::env::vars_os().collect())
            .with_sandbox_settings(Arc::new(settings));
        let args = BashArgs {
            cwd: Some(workspace.at("moved").to_str().unwrap().to_owned()),
            ..BashArgs::new("echo x > made; echo y > ../w/made; cat file")
        };
        let report = Bash.run(args, &turn).unwrap();
        assert_eq!(report.stdout.text(), "kept", "{report:?}");
        assert_eq!(fs::read_dir(workspace.outside()).unwrap().count(), 0);
    }
    drop(root);
}
