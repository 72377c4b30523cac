//! Kills eyelet and its supervisors while a plant is in place: it is gone before the next command runs.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use testkit::workspace::{SECOND, TIERS, Workspace, marker, with_marker, within};

use crate::planted_settings::{has_plant, user_git};
use crate::supervision::children;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    Server,
    Monitor,
    Init,
    Supervisor,
    All,
}

/// Starts a command that plants settings while its supervisor is stopped, so that they are there when the processes are
/// killed.
fn crash(workspace: &Workspace, tier: &[&str], killed: Killed) {
    let marker = marker();
    let command = format!(
        ": > up; until [ -e go ]; do sleep 0.01; done; echo evil > .git/commondir; \
         (echo evil >> .git/config; echo evil > .git/hooks/pre-commit) 2>/dev/null; echo evil > .mcp.json; \
         : > planted; sleep {marker}; true"
    );
    let mut eyelet = workspace.eyelet(tier);
    eyelet.args(["call", "bash", &serde_json::json!({ "command": command }).to_string()]);
    let mut eyelet = eyelet.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(within(Duration::from_secs(30), || workspace.at("up").exists()), "{tier:?}");
    let server = Pid::from_raw(i32::try_from(eyelet.id()).unwrap()).unwrap();
    let monitor = children(eyelet.id())[0];
    let init = children(monitor.as_raw_pid().unsigned_abs())[0];
    kill_process(monitor, Signal::STOP).unwrap();
    fs::write(workspace.at("go"), "").unwrap();
    assert!(within(Duration::from_secs(30), || workspace.at("planted").exists()), "{tier:?}");
    assert!(has_plant(workspace, ".git"), "{tier:?}: there is nothing to restore");
    assert!(within(Duration::from_secs(30), || !with_marker(&marker).is_empty()), "{tier:?}");
    let targets = match killed {
        Killed::Server => vec![server],
        Killed::Monitor => vec![monitor],
        Killed::Init => vec![init],
        Killed::Supervisor => vec![init, monitor],
        Killed::All => vec![server, init, monitor],
    };
    for target in targets {
        // It may have died with another one.
        let _ = kill_process(target, Signal::KILL);
    }
    let _ = kill_process(monitor, Signal::CONT);
    eyelet.wait().unwrap();
    if tier == SECOND && matches!(killed, Killed::Supervisor | Killed::All) {
        // In the second tier no process is left to kill the command's children.
        assert!(!with_marker(&marker).is_empty(), "{tier:?}");
        for left in with_marker(&marker) {
            let _ = kill_process(left, Signal::KILL);
        }
    }
    assert!(within(Duration::from_secs(30), || with_marker(&marker).is_empty()), "{tier:?}");
    for name in ["up", "go", "planted"] {
        fs::remove_file(workspace.at(name)).unwrap();
    }
}

fn plants_are_gone_after(killed: Killed) {
    for tier in TIERS {
        let workspace = Workspace::new("");
        user_git(&workspace, &["init", "-q", "."]);
        crash(&workspace, tier, killed);
        let is_restored = || !has_plant(&workspace, ".git") && !workspace.at(".mcp.json").exists();
        // If a supervisor process is left, it restores.
        let is_left = match killed {
            Killed::Server | Killed::Init => true,
            Killed::Monitor => tier == SECOND,
            Killed::Supervisor | Killed::All => false,
        };
        assert!(!is_left || within(Duration::from_secs(30), is_restored), "{tier:?}");
        // The next command finds no plant in any case.
        let data = workspace
            .data(tier, "cat .git/commondir .git/hooks/pre-commit .mcp.json; cat .git/config");
        assert!(!data["stdout"].to_string().contains("evil"), "{tier:?} {data}");
        assert!(is_restored(), "{tier:?} {data}");
        // It reports what nobody could report before.
        let reported = data["sandbox_reverted"].to_string();
        assert!(is_left || reported.contains("/.git/commondir: restored"), "{tier:?} {data}");
        // The one after that has nothing to restore.
        let data = workspace.data(tier, "true");
        assert!(data.get("sandbox_reverted").is_none(), "{tier:?} {data}");
    }
}

#[test]
fn killing_the_server_leaves_no_plant() {
    plants_are_gone_after(Killed::Server);
}

#[test]
fn killing_the_monitor_leaves_no_plant() {
    plants_are_gone_after(Killed::Monitor);
}

#[test]
fn killing_the_init_process_leaves_no_plant() {
    plants_are_gone_after(Killed::Init);
}

#[test]
fn killing_the_whole_supervisor_leaves_no_plant() {
    plants_are_gone_after(Killed::Supervisor);
}

#[test]
fn killing_server_and_supervisor_leaves_no_plant() {
    plants_are_gone_after(Killed::All);
}
