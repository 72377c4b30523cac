//! Protected paths that change while a command runs: plants are removed at once, and the user's edits are kept.

use std::fs;
use std::time::Duration;

use eyelet_sandbox::Tier;
use testkit::workspace::{Workspace, within};

use crate::planted_settings::{BOTH, has_plant, repositories, run, user_git};
use crate::supervision::session;

/// Whether a file still contains a plant.
fn is_evil(workspace: &Workspace, path: &str) -> bool {
    fs::read_to_string(workspace.at(path)).is_ok_and(|text| text.contains("evil"))
}

#[test]
fn a_plant_is_removed_while_the_command_runs() {
    for tier in BOTH {
        for (path, attack) in [
            (".git/commondir", "echo evil > .git/commondir"),
            (".git/config", "echo evil >> .git/config"),
            (".git/config", "cp .git/config c; echo evil >> c; mv -f c .git/config"),
            (".git/hooks/pre-commit", "echo evil > .git/hooks/pre-commit"),
            (".git/remotes/origin", "mkdir .git/remotes; echo evil > .git/remotes/origin"),
            (".git/branches/main", "mkdir -p .git/branches; echo evil > .git/branches/main"),
            (".mcp.json", "echo evil > .mcp.json"),
            (".cargo/config.toml", "mkdir -p .cargo; echo evil > .cargo/config.toml"),
            (".claude/a/b", "mkdir -p .claude/a; echo evil > .claude/a/b"),
            ("sub/.git/config", "mv sub/.git g; mkdir sub/.git; echo evil > sub/.git/config"),
        ] {
            let workspace = repositories();
            let turn = session(&workspace, tier);
            let command = format!("{attack}; : > planted; until [ -e ended ]; do sleep 0.01; done");
            std::thread::scope(|scope| {
                let call = scope.spawn(|| run(&turn, &command));
                assert!(within(Duration::from_secs(30), || workspace.at("planted").exists()));
                let is_gone = within(Duration::from_secs(30), || !is_evil(&workspace, path));
                fs::write(workspace.at("ended"), "").unwrap();
                let report = call.join().unwrap();
                assert!(is_gone, "{tier:?} {attack}: {report:?}");
                assert!(report.exit_code == 0, "{tier:?} {attack}: {report:?}");
            });
        }
    }
}

#[test]
fn writing_to_the_memory_of_a_mapped_file_does_not_plant() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = repositories();
    let turn = session(&workspace, Tier::Landlock);
    let attack = r#"python3 -c '
import mmap, os, time
file = open(".git/config", "r+b")
size = os.fstat(file.fileno()).st_size
memory = mmap.mmap(file.fileno(), size)
time.sleep(0.2)
memory[:4] = b"evil"
open("planted", "w")
while not os.path.exists("ended"): time.sleep(0.01)
'"#;
    std::thread::scope(|scope| {
        let call = scope.spawn(|| run(&turn, attack));
        assert!(within(Duration::from_secs(30), || workspace.at("planted").exists()));
        let is_gone = within(Duration::from_secs(30), || !is_evil(&workspace, ".git/config"));
        fs::write(workspace.at("ended"), "").unwrap();
        let report = call.join().unwrap();
        assert!(is_gone && report.exit_code == 0, "{report:?}");
    });
}

#[test]
fn a_command_that_keeps_planting_is_killed() {
    for tier in BOTH {
        for attack in [
            "while :; do echo evil > .git/commondir; done",
            "while :; do mkdir .claude; echo evil > .claude/x; done 2>/dev/null",
            "while :; do ln -s /etc .mcp.json; done 2>/dev/null",
        ] {
            let workspace = repositories();
            let other = session(&workspace, tier);
            let turn = session(&workspace, tier);
            std::thread::scope(|scope| {
                // Commands on the same root cannot be told apart.
                let innocent = scope.spawn(|| run(&other, ": > up; sleep 60"));
                assert!(within(Duration::from_secs(30), || workspace.at("up").exists()));
                let report = run(&turn, attack);
                assert_eq!(report.exit_code, 137, "{tier:?} {attack}: {report:?}");
                let killed = report.killed.as_deref().unwrap_or_default();
                assert!(
                    killed.starts_with("protected path ") && killed.ends_with(" kept changing"),
                    "{tier:?} {attack}: {report:?}"
                );
                assert_eq!(innocent.join().unwrap().exit_code, 137, "{tier:?} {attack}");
            });
            assert!(!has_plant(&workspace, ".git"), "{tier:?} {attack}");
            assert!(!workspace.at(".claude").exists(), "{tier:?} {attack}");
            assert!(!workspace.at(".mcp.json").is_symlink(), "{tier:?} {attack}");
        }
    }
}

#[test]
fn the_users_edits_during_a_command_stay() {
    let workspace = repositories();
    fs::write(workspace.at(".mcp.json"), "old").unwrap();
    // Two commands at once, as of two agents.
    let turns = [(); 2].map(|()| session(&workspace, Tier::Namespaces));
    std::thread::scope(|scope| {
        let attack = "until [ -e ended ]; do (echo evil >> .git/config; echo evil > .mcp.json) 2>/dev/null; \
                      sleep 0.01; done";
        let calls: Vec<_> = (0..2)
            .map(|number| {
                let command = format!(": > up{number}; {attack}");
                let turn = &turns[number];
                scope.spawn(move || run(turn, &command))
            })
            .collect();
        let is_up = || workspace.at("up0").exists() && workspace.at("up1").exists();
        assert!(within(Duration::from_secs(30), is_up));
        // In place.
        fs::write(workspace.at(".mcp.json"), "new").unwrap();
        fs::write(workspace.at(".git/hooks/post-commit"), "mine").unwrap();
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(fs::read_to_string(workspace.at(".mcp.json")).unwrap(), "new");
        fs::write(workspace.at("ended"), "").unwrap();
        for call in calls {
            let report = call.join().unwrap();
            assert!(report.sandbox_reverted.is_empty() && report.exit_code == 0, "{report:?}");
        }
    });
    run(&turns[0], "true");
    assert_eq!(fs::read_to_string(workspace.at(".mcp.json")).unwrap(), "new");
    assert_eq!(fs::read_to_string(workspace.at(".git/hooks/post-commit")).unwrap(), "mine");
    assert!(!has_plant(&workspace, ".git"));
}

#[test]
fn a_file_that_the_user_replaces_during_commands_is_protected_again() {
    for commands in [1, 2] {
        let workspace = repositories();
        let turns = [(); 2].map(|()| session(&workspace, Tier::Namespaces));
        std::thread::scope(|scope| {
            let calls: Vec<_> = (0..commands)
                .map(|number| {
                    let command = format!(
                        ": > up{number}; until [ -e replaced ]; do sleep 0.01; done; \
                         until [ ! -w .git/config ]; do sleep 0.01; done; \
                         echo evil >> .git/config; echo $? > tried{number}; \
                         until [ -e ended ]; do sleep 0.01; done"
                    );
                    let turn = &turns[number];
                    scope.spawn(move || run(turn, &command))
                })
                .collect();
            let exist = |name: &str| {
                (0..commands).all(|number| workspace.at(&format!("{name}{number}")).exists())
            };
            assert!(within(Duration::from_secs(30), || exist("up")));
            // Renames a new file over the old one.
            user_git(&workspace, &["config", "remote.origin.url", "https://example.org/x"]);
            fs::write(workspace.at("replaced"), "").unwrap();
            assert!(within(Duration::from_secs(30), || exist("tried")));
            fs::write(workspace.at("ended"), "").unwrap();
            for call in calls {
                let report = call.join().unwrap();
                assert!(report.sandbox_reverted.is_empty() && report.exit_code == 0, "{report:?}");
                assert!(report.stderr.text().contains("Read-only file system"), "{report:?}");
            }
        });
        let config = fs::read_to_string(workspace.at(".git/config")).unwrap();
        assert!(config.contains("example.org") && !config.contains("evil"), "{config}");
    }
}

#[test]
fn a_write_to_a_file_that_the_user_just_replaced_does_not_plant() {
    for _ in 0..5 {
        let workspace = repositories();
        let turn = session(&workspace, Tier::Namespaces);
        std::thread::scope(|scope| {
            // Writes as soon as the mount is gone, and keeps the file open for another write.
            let command = ": > up; until exec 3>>.git/config || [ -e ended ]; do :; done 2>/dev/null; echo evil >&3; \
                           : > written; until [ -e ended ]; do sleep 0.01; done; echo evil >&3";
            let call = scope.spawn(|| run(&turn, command));
            assert!(within(Duration::from_secs(30), || workspace.at("up").exists()));
            user_git(&workspace, &["remote", "add", "origin", "https://example.org/x"]);
            // The write may come too late.
            within(Duration::from_millis(300), || workspace.at("written").exists());
            assert!(within(Duration::from_secs(30), || !has_plant(&workspace, ".git")));
            fs::write(workspace.at("ended"), "").unwrap();
            call.join().unwrap();
        });
        assert!(!has_plant(&workspace, ".git"));
        let kept = ["config", "config.eyelet-conflict"]
            .map(|name| fs::read_to_string(workspace.at(".git").join(name)).unwrap_or_default());
        assert!(kept.concat().contains("example.org"), "{kept:?}");
    }
}

#[test]
fn edits_that_cannot_be_attributed_are_kept_beside() {
    for tier in BOTH {
        let workspace = repositories();
        let turn = session(&workspace, tier);
        std::thread::scope(|scope| {
            let call =
                scope.spawn(|| run(&turn, ": > up; until [ -e ended ]; do sleep 0.01; done"));
            assert!(within(Duration::from_secs(30), || workspace.at("up").exists()));
            fs::write(workspace.at(".mcp.json"), "mine").unwrap();
            let copy = workspace.at(".mcp.json.eyelet-conflict");
            let is_moved = || fs::read_to_string(&copy).is_ok_and(|text| text == "mine");
            assert!(within(Duration::from_secs(30), is_moved), "{tier:?}");
            fs::write(workspace.at("ended"), "").unwrap();
            let report = call.join().unwrap();
            let said = report.reverted_in_words().join("\n");
            assert!(said.contains("/.mcp.json.eyelet-conflict"), "{tier:?} {said}");
        });
        assert!(!workspace.at(".mcp.json").exists(), "{tier:?}");
    }
}
