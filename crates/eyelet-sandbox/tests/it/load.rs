//! Load: many commands, few file descriptors, long output, full disks.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use eyelet::tools::{Bash, BashArgs};
use eyelet::{CancelFlag, Tool as _};
use eyelet_sandbox::Tier;
use serde_json::{Value, json};
use testkit::cli::command;
use testkit::mcp_client::Server;
use testkit::workspace::{FIRST, FULL, SECOND, Workspace, envelope, within};
use testkit::{TempTree, eyelet_bin};

use crate::supervision::{children, session};

fn open_files(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}

/// A server with a limit on open files.
fn limited(tree: &TempTree, files: usize, flags: &[&str]) -> Server {
    let mut limited = std::process::Command::new("sh");
    let script = format!("ulimit -n {files}; exec \"$0\" mcp {}", flags.join(" "));
    limited.args(["-c", &script]).arg(eyelet_bin()).current_dir(tree.path()).env_clear();
    let like = command(tree);
    limited.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut server = Server::run(&mut limited);
    server.initialize("test", &json!({}));
    server
}

/// Sends `count` calls at once and checks that each gets one reply. Returns how many succeeded.
fn calls(server: &mut Server, count: usize, command: &str) -> usize {
    let sent: BTreeSet<u64> =
        (0..count).map(|_| server.send_call("bash", json!({ "command": command }))).collect();
    let mut answered = BTreeSet::new();
    let mut well = 0;
    for _ in 0..count {
        let answer = server.message();
        assert!(answered.insert(answer["id"].as_u64().unwrap()), "twice: {answer}");
        well +=
            usize::from(answer["result"].get("isError").is_none() && answer.get("error").is_none());
    }
    assert_eq!(answered, sent);
    well
}

/// Whether load tests run at full size, which takes minutes.
fn is_whole() -> bool {
    std::env::var_os("EYELET_TEST_WHOLE").is_some()
}

#[test]
fn many_commands_leave_no_process_or_open_file_in_the_server() {
    let sandboxed = if is_whole() { 50 } else { 4 };
    for (flags, rounds) in [(FULL, 50), (FIRST, sandboxed), (SECOND, sandboxed)] {
        let tree = TempTree::new("");
        // If each call leaked a file descriptor, the limit would soon be reached.
        let mut server = limited(&tree, 128, flags);
        // The server keeps as many inotify instances as commands ever ran at once: first reach that number.
        for _ in 0..5 {
            assert_eq!(calls(&mut server, 40, "true"), 40);
        }
        // Only root can list the server's open files.
        let files = |server: &Server| testkit::is_root().then(|| open_files(server.id()));
        let before = files(&server);
        for _ in 0..rounds {
            assert_eq!(calls(&mut server, 40, "true"), 40);
        }
        // A supervisor may still be about to exit.
        let is_clean = || children(server.id()).is_empty() && files(&server) == before;
        assert!(within(Duration::from_secs(30), is_clean), "{flags:?} {before:?}");
    }
}

#[test]
fn saved_output_stays_below_the_session_limit() {
    let (kept, bytes) = if is_whole() { (256 << 20, 200_000_000) } else { (2 << 20, 1_600_000) };
    let tree = TempTree::new("temp/");
    // The file system has room for the session limit, a little for directories, and one file that was removed
    // while a process that was just being started still held it open.
    let room = 4 * kept + bytes + (1 << 20);
    let script = format!(
        "mount -t tmpfs -o size={room},mode=700 none temp && TMPDIR=$PWD/temp exec \"$0\" mcp --reply envelope --spill-bytes {kept}"
    );
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["-Urm", "sh", "-c", &script]).arg(eyelet_bin()).current_dir(tree.path());
    let mut server = Server::run(&mut unshare);
    server.initialize("test", &json!({}));
    let answer = |server: &mut Server| -> Value {
        let answer = server.message();
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
    };
    let (mut files, mut removed) = (BTreeSet::new(), 0);
    for _ in 0..10 {
        // Five at once nearly reach the session limit.
        for _ in 0..5 {
            server.send_call("bash", json!({ "command": format!("head -c {bytes} /dev/zero") }));
        }
        for _ in 0..5 {
            let data = &answer(&mut server)["data"];
            assert_eq!(
                (&data["exit_code"], &data["stdout_total_bytes"]),
                (&json!(0), &json!(bytes))
            );
            assert!(data.get("stdout_spill_error").is_none(), "{data}");
            files.insert(data["stdout_file"].as_str().unwrap().to_owned());
            removed += data["spill_removed"].as_array().map_or(0, Vec::len);
        }
    }
    let names: Vec<_> = files.iter().cloned().collect();
    let command = format!("stat -c %s '{}' 2>/dev/null; true", names.join("' '"));
    server.send_call("bash", json!({ "command": command }));
    let sizes = answer(&mut server)["data"]["stdout"].as_str().unwrap().to_owned();
    let whole = sizes.lines().filter(|size| *size == bytes.to_string()).count();
    assert_eq!((files.len(), sizes.lines().count(), removed), (50, whole, 50 - whole));
    assert!(whole >= 5 && whole * bytes <= 4 * kept, "{whole} are left");
}

#[test]
fn with_few_file_descriptors_every_call_gets_a_reply() {
    let tree = TempTree::new("");
    let mut server = limited(&tree, 64, FULL);
    let well = calls(&mut server, 100, "echo out; echo err >&2; sleep 0.01");
    assert!(well > 0, "not one ran");
    let said = server.text("bash", json!({ "command": "echo works" }));
    assert_eq!(said, "[exit 0; stdout 1 line; stderr empty]\nworks\n");
    assert!(within(Duration::from_secs(30), || children(server.id()).is_empty()));
}

#[test]
fn supervised_output_needs_constant_memory() {
    let name = "load::supervised_output_needs_constant_memory";
    testkit::in_own_process(name, || {
        let workspace = Workspace::new("");
        for tier in [Tier::Namespaces, Tier::Landlock] {
            let turn = session(&workspace, tier);
            let run = |command: &str| Bash.run(BashArgs::new(command), &turn).unwrap();
            run("printf '%060000d' 0");
            let before = testkit::peak_memory();
            let bytes = 512 << 20;
            let report = run(&format!("head -c {bytes} /dev/zero; head -c 1000000 /dev/zero >&2"));
            assert_eq!((report.stdout.total_bytes, report.stderr.total_bytes), (bytes, 1_000_000));
            let flood = "yes | head -c 20000000; : > flooded; exec yes";
            let args = BashArgs { timeout_secs: Some(20), ..BashArgs::new(flood) };
            let cancel = CancelFlag::default();
            let turn = turn.with_cancel(cancel.clone());
            let report = std::thread::scope(|scope| {
                let call = scope.spawn(|| Bash.run(args, &turn).unwrap());
                let flooded = workspace.at("flooded");
                assert!(within(Duration::from_secs(30), || flooded.exists()), "{tier:?}");
                cancel.cancel();
                fs::remove_file(flooded).unwrap();
                call.join().unwrap()
            });
            assert!(report.cancelled && report.stdout.total_bytes >= 20_000_000, "{tier:?}");
            assert!(report.stdout.text().len() <= 51_200);
            let kept = fs::metadata(report.stdout.file().unwrap()).unwrap().len();
            assert!(kept <= 256 << 20, "{tier:?}: {kept} bytes are saved");
            let grown = testkit::peak_memory() - before;
            assert!(grown < 16 << 20, "{tier:?}: grew by {grown} bytes");
        }
    });
}

#[test]
fn a_full_temp_directory_loses_only_the_saved_file() {
    // The disk is full at the first write, and in the middle of long output.
    for (room, keep, bytes, shown) in
        [("64k", "both", 300_000, 25_600), ("2m", "head", 9_000_000, 51_200)]
    {
        for (stream, redirect) in [("stdout", ""), ("stderr", " >&2")] {
            let command = format!("printf '%0{bytes}d' 7{redirect}; exit 3");
            let data = in_small_temp_folder(room, &json!({ "command": command, "keep": keep }));
            assert_eq!(
                (&data["exit_code"], &data[format!("{stream}_total_bytes")]),
                (&json!(3), &json!(bytes)),
                "{data}"
            );
            assert_eq!(data[stream].as_str().unwrap().len(), shown);
            let tail = data.get(format!("{stream}_tail"));
            assert_eq!(tail.is_some(), keep == "both");
            assert!(tail.is_none_or(|tail| tail.as_str().unwrap().ends_with("07")));
            let reason = data[format!("{stream}_spill_error")].as_str().unwrap();
            assert_eq!(reason, "No space left on device (os error 28)");
            assert!(data.get(format!("{stream}_file")).is_none());
        }
    }
}

/// The result of a call whose temp directory is a file system of this size.
fn in_small_temp_folder(room: &str, arguments: &Value) -> Value {
    let tree = TempTree::new("temp/");
    let script = format!(
        "mount -t tmpfs -o size={room},mode=700 none temp && TMPDIR=$PWD/temp exec \"$0\" call bash \"$1\""
    );
    let mut full = std::process::Command::new("unshare");
    full.args(["-Urm", "sh", "-c", &script]).arg(eyelet_bin()).arg(arguments.to_string());
    envelope(&full.current_dir(tree.path()).output().unwrap())["data"].take()
}
