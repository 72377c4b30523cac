//! The user edits protected files while commands run: what is harmless stays, and commands cannot use the moment to plant
//! a setting.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use eyelet::TurnContext;
use eyelet::tools::BashReport;
use eyelet_sandbox::Tier;
use testkit::workspace::{Workspace, within};

use crate::planted_settings::{BOTH, has_plant, repositories, run, user_git};
use crate::supervision::session;

const WAIT: &str = "until [ -e ended ]; do sleep 0.01; done";

/// Runs the same command in each session until the user has done `edit`.
fn meanwhile(
    workspace: &Workspace,
    turns: &[TurnContext],
    command: &str,
    edit: impl FnOnce(),
) -> Vec<BashReport> {
    std::thread::scope(|scope| {
        let commands = (0..turns.len()).map(|number| format!(": > up{number}; {command}"));
        let calls: Vec<_> = turns
            .iter()
            .zip(commands)
            .map(|(turn, command)| scope.spawn(move || run(turn, &command)))
            .collect();
        let is_up = |number| workspace.at(&format!("up{number}")).exists();
        assert!(within(Duration::from_secs(30), || (0..turns.len()).all(is_up)), "{command}");
        edit();
        fs::write(workspace.at("ended"), "").unwrap();
        let reports = calls.into_iter().map(|call| call.join().unwrap()).collect();
        fs::remove_file(workspace.at("ended")).unwrap();
        for number in 0..turns.len() {
            fs::remove_file(workspace.at(&format!("up{number}"))).unwrap();
        }
        reports
    })
}

fn config(workspace: &Workspace) -> String {
    fs::read_to_string(workspace.at(".git/config")).unwrap()
}

/// Uses all processors until it is dropped.
struct Load(std::sync::Arc<AtomicBool>);

impl Load {
    fn new() -> Self {
        let is_over = std::sync::Arc::new(AtomicBool::new(false));
        for _ in 0..4 {
            let is_over = is_over.clone();
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Load(is_over)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn remotes_and_branches_that_the_user_changes_during_commands_stay() {
    let workspace = repositories();
    user_git(&workspace, &["commit", "-q", "--allow-empty", "-m", "a"]);
    user_git(&workspace, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let turns = [(); 2].map(|()| session(&workspace, Tier::Namespaces));
    let before = config(&workspace);
    let _load = Load::new();
    for round in 0..20 {
        let reports = meanwhile(&workspace, &turns, WAIT, || {
            user_git(&workspace, &["remote", "add", "origin", "https://example.org/x"]);
            user_git(&workspace, &["remote", "add", "other", "git@example.org:x"]);
            user_git(&workspace, &["branch", "-u", "origin/main"]);
            user_git(&workspace, &["remote", "remove", "other"]);
        });
        for report in reports {
            assert!(report.sandbox_reverted.is_empty(), "{round}: {report:?}");
            assert_eq!(report.exit_code, 0, "{round}: {report:?}");
        }
        let expected = "[remote \"origin\"]\n\turl = https://example.org/x\n\
                        \tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                        [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
        assert_eq!(config(&workspace), format!("{before}{expected}"), "{round}");
        fs::write(workspace.at(".git/config"), &before).unwrap();
    }
    assert!(!workspace.at(".git/config.eyelet-conflict").exists());
}

#[test]
fn a_command_that_ends_while_the_user_edits_is_not_killed() {
    let workspace = repositories();
    let turns = [(); 2].map(|()| session(&workspace, Tier::Namespaces));
    let before = config(&workspace);
    for round in 0..40 {
        // The commands end somewhere among these edits.
        let versions = (0..10).map(|number| {
            format!("{before}[remote \"r{number}\"]\n\turl = https://example.org/{round}\n")
        });
        let reports = meanwhile(&workspace, &turns, WAIT, || {
            fs::write(workspace.at("ended"), "").unwrap();
            for version in versions {
                fs::write(workspace.at(".git/config.lock"), version).unwrap();
                fs::rename(workspace.at(".git/config.lock"), workspace.at(".git/config")).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        for report in reports {
            assert_eq!((report.exit_code, &report.killed), (0, &None), "{round}: {report:?}");
        }
    }
}

/// Python that plants a setting in `.git/config` as soon as the user replaces it; `attack` is called again and again.
fn planter(attack: &str) -> String {
    format!(
        r#"
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
plant = b"[core]\n\tfsmonitor = evil\n"
content = open(".git/config", "rb").read() + plant
def exchange(one, other):
    return libc.renameat2(-100, one, -100, other, 2)
def write(path):
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(file, plant)
    os.close(file)
{attack}
open("attacking", "w")
while not os.path.exists("ended"):
    try:
        attack()
    except OSError:
        pass
"#
    )
}

const SWAP_BY_EXCHANGE: &str = r#"
def attack():
    open(".git/mine", "wb").write(content)
    while exchange(b".git/mine", b".git/config.lock") != 0:
        if os.path.exists("ended"): return
    os.unlink(".git/mine")
"#;

const SWAP_BY_RENAME: &str = r#"
def attack():
    if not os.path.exists(".git/mine"):
        open(".git/mine", "wb").write(content)
    os.stat(".git/config.lock")
    os.rename(".git/mine", ".git/config.lock")
"#;

const KEEP_A_HANDLE: &str = r#"
known, handles = [], []
def attack():
    handle = os.open(".git/config", os.O_PATH)
    number = os.fstat(handle).st_ino
    if number in known:
        os.close(handle)
    else:
        known.append(number)
        handles.append(handle)
    for handle in handles:
        try:
            write("/proc/self/fd/%d" % handle)
        except OSError:
            pass
"#;

const LINK: &str = r#"
def attack():
    os.link(".git/config.lock", "link")
    try:
        file = os.open("link", os.O_WRONLY | os.O_APPEND)
    finally:
        os.unlink("link")
    while os.path.exists(".git/config.lock"): pass
    os.write(file, plant)
    os.close(file)
"#;

const LINK_AND_WRITE_LATER: &str = r#"
def attack():
    handle = os.open(".git/config", os.O_PATH)
    linked = libc.linkat(-100, b"/proc/self/fd/%d" % handle, -100, b"link", 0x400)
    os.close(handle)
    if linked == 0:
        time.sleep(0.1)
        write("link")
        os.unlink("link")
"#;

#[test]
fn a_command_cannot_plant_while_the_user_replaces_the_config() {
    if testkit::lacks("python3") {
        return;
    }
    let mut planted = Vec::new();
    for (name, attack) in [
        ("swap by exchange", SWAP_BY_EXCHANGE),
        ("swap by rename", SWAP_BY_RENAME),
        ("keep a handle", KEEP_A_HANDLE),
        ("link", LINK),
        ("link and write later", LINK_AND_WRITE_LATER),
    ] {
        for tier in BOTH {
            let workspace = repositories();
            fs::write(workspace.at("attack.py"), planter(attack)).unwrap();
            // The attacker and a command that does nothing.
            let turns = [(); 2].map(|()| session(&workspace, tier));
            let command = "mkdir first 2>/dev/null && exec python3 attack.py; \
                           until [ -e ended ]; do sleep 0.01; done";
            meanwhile(&workspace, &turns, command, || {
                let is_attacking = || workspace.at("attacking").exists();
                assert!(within(Duration::from_secs(30), is_attacking), "{name} {tier:?}");
                for number in 0..30 {
                    // The attack may make it fail.
                    let git = Command::new("git")
                        .args(["remote", "add", &format!("r{number}"), "https://example.org/x"])
                        .current_dir(workspace.tree.path())
                        .output();
                    assert!(git.is_ok());
                }
            });
            let at_first = has_plant(&workspace, ".git");
            // The next command restores what the record says.
            run(&turns[0], "true");
            if at_first || has_plant(&workspace, ".git") {
                planted.push((name, tier));
            }
        }
    }
    assert!(planted.is_empty(), "{planted:?}");
}

#[test]
fn a_lock_file_that_an_ending_command_swapped_does_not_plant() {
    for tier in BOTH {
        let workspace = repositories();
        let turn = session(&workspace, tier);
        let command = "until [ -e .git/config.lock ]; do :; done; cd .git; cp config mine; \
                       echo '[core]fsmonitor=evil' >> mine; mv -f mine config.lock";
        std::thread::scope(|scope| {
            let call = scope.spawn(|| run(&turn, command));
            // What git does, slowly.
            let lock = workspace.at(".git/config.lock");
            fs::write(&lock, config(&workspace)).unwrap();
            let is_evil = || fs::read_to_string(&lock).unwrap().contains("evil");
            assert!(within(Duration::from_secs(30), is_evil), "{tier:?}");
            // Less than eyelet waits, also on a busy machine.
            std::thread::sleep(Duration::from_millis(20));
            fs::rename(&lock, workspace.at(".git/config")).unwrap();
            call.join().unwrap();
        });
        assert!(!has_plant(&workspace, ".git"), "{tier:?}");
        run(&turn, "true");
        assert!(!has_plant(&workspace, ".git"), "{tier:?}");
    }
}

#[test]
fn settings_of_the_user_that_may_start_programs_are_kept_beside() {
    let workspace = repositories();
    let turns = [session(&workspace, Tier::Namespaces)];
    let before = config(&workspace);
    let reports = meanwhile(&workspace, &turns, WAIT, || {
        user_git(&workspace, &["config", "core.editor", "vim"]);
        assert!(within(Duration::from_secs(30), || config(&workspace) == before));
    });
    let said = reports[0].reverted_in_words().join("\n");
    assert!(said.contains("/.git/config.eyelet-conflict"), "{said}");
    let copy = fs::read_to_string(workspace.at(".git/config.eyelet-conflict")).unwrap();
    assert!(copy.contains("editor = vim"), "{copy}");
    assert_eq!(config(&workspace), before);
}

#[test]
fn settings_that_the_user_replaces_are_kept_beside_unless_in_a_protected_folder() {
    let workspace = repositories();
    fs::create_dir(workspace.at(".vscode")).unwrap();
    for path in [".mcp.json", ".vscode/settings.json"] {
        fs::write(workspace.at(path), "old").unwrap();
    }
    let turns = [session(&workspace, Tier::Namespaces)];
    let reports = meanwhile(&workspace, &turns, WAIT, || {
        for path in [".mcp.json", ".vscode/settings.json"] {
            fs::write(workspace.at("new"), "new").unwrap();
            fs::rename(workspace.at("new"), workspace.at(path)).unwrap();
        }
        let copy = workspace.at(".mcp.json.eyelet-conflict");
        let is_moved = || fs::read_to_string(&copy).is_ok_and(|text| text == "new");
        assert!(within(Duration::from_secs(30), is_moved));
    });
    let said = reports[0].reverted_in_words().join("\n");
    assert!(said.contains("/.mcp.json.eyelet-conflict") && !said.contains(".vscode"), "{said}");
    let now = [".mcp.json", ".vscode/settings.json"]
        .map(|path| fs::read_to_string(workspace.at(path)).unwrap());
    assert_eq!(now, ["old", "new"]);
}

#[test]
fn a_command_of_the_second_tier_cannot_help_one_of_the_first_to_plant() {
    let workspace = repositories();
    let [first, second] = BOTH.map(|tier| session(&workspace, tier));
    let before = config(&workspace);
    // The second tier creates another name of the file, and the first one keeps it open.
    let command = "until [ -e link ]; do sleep 0.01; done; exec 3>>link; : > open; \
                   until [ -e helped ]; do sleep 0.01; done; echo '[core]fsmonitor=evil' >&3";
    meanwhile(&workspace, &[first], &format!("{command}; {WAIT}"), || {
        let help = "ln .git/config link; until [ -e open ]; do sleep 0.01; done; rm link";
        assert_eq!(run(&second, help).exit_code, 0);
        fs::write(workspace.at("helped"), "").unwrap();
        assert!(within(Duration::from_secs(30), || !has_plant(&workspace, ".git")));
    });
    run(&second, "true");
    assert_eq!(config(&workspace), before);
}

#[test]
fn a_file_that_the_user_removes_during_commands_stays_removed() {
    let workspace = repositories();
    fs::write(workspace.at(".mcp.json"), "old").unwrap();
    let turns = [(); 2].map(|()| session(&workspace, Tier::Namespaces));
    let reports = meanwhile(&workspace, &turns, WAIT, || {
        fs::remove_file(workspace.at(".mcp.json")).unwrap();
    });
    assert!(reports.iter().all(|report| report.sandbox_reverted.is_empty()), "{reports:?}");
    run(&turns[0], "true");
    assert!(!workspace.at(".mcp.json").exists());
}
