//! The memory limit of a command.

use std::sync::Arc;

use eyelet::{MemoryLimit, SandboxSettings};
#[cfg(target_env = "gnu")]
use eyelet_sandbox::release_free_memory;
use eyelet_sandbox::{Supervisor, TierChoice};
use serde_json::{Value, json};
use testkit::eyelet_bin;
use testkit::mcp_client::Server;
use testkit::workspace::{FIRST, SECOND, SUPERVISED, Workspace, marked, marker};

use crate::planted_settings::{BOTH, run};
use crate::supervision::session;

pub(crate) const LIMIT: &[&str] = &["--memory", "200M"];

/// 400 MB in a variable of the shell.
pub(crate) const ALLOCATE: &str = "printf -v x '%*s' 400000000 '';";

fn is_killed(data: &Value) -> bool {
    (&data["exit_code"], &data["killed"]) == (&json!(137), &json!("memory limit 200 MiB"))
        && data["timed_out"] != true
}

/// The resident set size of this process in KiB.
#[cfg(target_env = "gnu")]
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[cfg(target_env = "gnu")]
fn free_memory_is_returned_to_the_system() {
    testkit::in_own_process("memory::free_memory_is_returned_to_the_system", || {
        let blocks: Vec<_> = (0..64 * 1024).map(|_| vec![1_u8; 1024]).collect();
        // One block in a hundred stays, at the end too: the allocator alone returns nothing.
        let (kept, freed): (Vec<_>, Vec<_>) =
            blocks.into_iter().enumerate().partition(|(number, _)| number % 100 == 99);
        drop(freed);
        let before = resident();
        release_free_memory();
        let after = resident();
        assert!(after < before / 2, "{before} KiB before, {after} KiB after");
        assert_eq!(kept.len(), 655);
    });
}

#[test]
fn a_command_above_its_memory_limit_is_killed() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        let marker = marker();
        let command = format!("echo early; setsid sleep {marker} & {ALLOCATE} sleep {marker}");
        let data = workspace.data(&[flags, LIMIT].concat(), &command);
        assert!(is_killed(&data) && data["stdout"] == "early\n", "{flags:?} {data}");
        assert_eq!(marked(&marker), 0, "{flags:?}");
    }
}

#[test]
fn the_processes_of_a_command_share_its_memory_limit() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        let flags = [flags, LIMIT].concat();
        let part = "(printf -v x '%*s' 80000000 ''; sleep 60; :) &";
        let data = workspace.data(&flags, &format!("{part} {part} {part} {part} wait"));
        assert!(is_killed(&data), "{flags:?} {data}");
    }
}

#[test]
fn memory_that_processes_share_counts_once() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        let flags = [flags, LIMIT].concat();
        // Eleven processes with 30 MB each; more while the shell fills the variable.
        let command =
            "printf -v x '%*s' 30000000 ''; for i in {1..10}; do (sleep 1; :) & done; wait";
        let data = workspace.data(&flags, command);
        assert_eq!(
            (&data["exit_code"], &data["killed"]),
            (&json!(0), &Value::Null),
            "{flags:?} {data}"
        );
    }
}

#[test]
fn shared_memory_counts() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        let map = match flags == SECOND {
            // The second tier has no `/dev/shm` of its own.
            true => "memory = mmap.mmap(-1, size)",
            false => {
                "path = f'/dev/shm/eyelet-test-{os.getpid()}'; file = open(path, 'w+b'); os.unlink(path); \
                 file.truncate(size); memory = mmap.mmap(file.fileno(), size)"
            }
        };
        let command = format!(
            "python3 -c \"\nimport mmap, os, time\nsize = 400 << 20\n{map}\n\
             for at in range(0, size, 4096): memory[at] = 1\ntime.sleep(60)\""
        );
        let data = workspace.data(&[flags, LIMIT].concat(), &command);
        assert!(is_killed(&data), "{flags:?} {data}");
    }
}

#[test]
fn files_in_memory_that_nobody_maps_are_limited() {
    let workspace = Workspace::new("");
    let flags = [FIRST, LIMIT].concat();
    let data = workspace
        .data(&flags, "head -c 800000000 /dev/zero > /dev/shm/file; stat -c %s /dev/shm/file");
    assert_eq!(data["stdout"], format!("{}\n", 400 << 20), "{data}");
}

#[test]
fn files_in_memory_have_at_most_twice_a_limit_in_percent() {
    let workspace = Workspace::new("");
    let flags = [FIRST, &["--memory", "10%"]].concat();
    let size = workspace.stdout(&flags, "echo $(($(stat -f -c '%b * %S' /dev/shm)))");
    let most = MemoryLimit::Percent(20).bytes().unwrap();
    assert!(size.trim().parse::<u64>().unwrap().abs_diff(most) < 1 << 20, "{size} {most}");
}

#[test]
fn the_page_cache_does_not_count() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        let command =
            "head -c 400000000 /dev/zero > large; cat large > /dev/null; sleep 0.6; rm large";
        let data = workspace.data(&[flags, LIMIT].concat(), command);
        assert_eq!(
            (&data["exit_code"], &data["killed"]),
            (&json!(0), &Value::Null),
            "{flags:?} {data}"
        );
    }
}

#[test]
fn commands_are_the_first_to_be_killed_without_memory() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        let score: i32 =
            workspace.stdout(flags, "cat /proc/self/oom_score_adj").trim().parse().unwrap();
        assert!(score >= 500, "{flags:?} {score}");
    }
}

#[test]
fn the_header_names_the_memory_limit_and_the_server_stays() {
    let workspace = Workspace::new("");
    let mut eyelet = workspace.eyelet(&[FIRST, LIMIT].concat());
    let mut server = Server::run(eyelet.arg("mcp"));
    server.initialize("test", &json!({}));
    let said =
        server.text("bash", json!({ "command": format!("echo early; {ALLOCATE} sleep 60") }));
    assert_eq!(said, "[killed: memory limit 200 MiB; stdout 1 line; stderr empty]\nearly\n");
    let said = server.text("bash", json!({ "command": "echo works" }));
    assert_eq!(said, "[exit 0; stdout 1 line; stderr empty]\nworks\n");
}

#[test]
fn a_host_sets_the_memory_limit() {
    let workspace = Workspace::new("");
    for tier in BOTH {
        let limit = "100M".parse::<MemoryLimit>().unwrap();
        let settings = SandboxSettings::new(Supervisor::at(eyelet_bin()))
            .with_tier(TierChoice::Only(tier))
            .with_memory_limit(limit);
        let turn = session(&workspace, tier).with_sandbox_settings(Arc::new(settings));
        let report = run(&turn, &format!("{ALLOCATE} sleep 60"));
        assert_eq!(report.killed.as_deref(), Some("memory limit 100 MiB"), "{tier:?} {report:?}");
        assert_eq!(report.exit_code, 137, "{tier:?}");
    }
}
