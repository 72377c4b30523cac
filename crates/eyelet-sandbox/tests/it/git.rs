//! Attacks of sandboxed commands on repositories: git must not execute planted code when a person runs
//! it later. The tests run the real git.

use std::path::PathBuf;
use std::process::Command;
use testkit::workspace::{FIRST, SECOND, TIERS, Workspace};

/// A repository with a submodule, a linked worktree and another repository in it.
const MAKE: &str = "
    set -e
    git init -q seed && cd seed && echo s > s && git add s && git commit -qm seed && cd ..
    git init -q . && echo f > f && git add f && git commit -qm first
    git -c protocol.file.allow=always submodule --quiet add ./seed vendor/sub 2>/dev/null
    git commit -qm second
    git config extensions.worktreeConfig true
    git worktree add -q linked -b side
    git init -q nested && cd nested && echo n > n && git add n && git commit -qm nested";

/// What a person runs later. It triggers every place from which git executes code.
const PERSON: &str = "
    for place in . vendor/sub linked nested; do
        git -C $place status --short > /dev/null || exit 9
        git -C $place commit --allow-empty -qm more || exit 8
    done";

struct Project {
    workspace: Workspace,
    /// Exists once git has executed planted code.
    mark: PathBuf,
}

impl Project {
    fn new() -> Self {
        let mut workspace = Workspace::new("");
        let mark = workspace.outside().join("executed");
        let evil = format!("touch {}; false", mark.display());
        workspace.set("EVIL", evil);
        let project = Project { workspace, mark };
        project.person(MAKE).unwrap();
        project
    }

    /// Runs a script outside of the sandbox.
    fn person(&self, script: &str) -> Result<(), String> {
        let output = Command::new("bash")
            .args(["-c", script])
            .current_dir(self.workspace.tree.path())
            .env("HOME", self.workspace.tree.beside())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "a")))
            .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "a@b")))
            .output()
            .unwrap();
        if output.status.success() { Ok(()) } else { Err(format!("{output:?}")) }
    }

    /// Runs a script in the sandbox.
    fn attack(&self, tier: &[&str], script: &str) -> serde_json::Value {
        let flags = [tier, &["--env", "EVIL"]].concat();
        let names = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
        self.workspace.data(&flags, &format!("{names}; {script}"))
    }

    /// Checks that a person's git works and executes no planted code.
    fn check(&self, what: &str) {
        self.person(PERSON).unwrap_or_else(|why| panic!("{what}: {why}"));
        assert!(!self.mark.exists(), "{what}: git executed planted code");
    }
}

/// Creates a git directory whose config executes code.
const PLANT: &str = "cp -r .git evil; git config --file evil/config core.fsmonitor \"$EVIL\"";

const ATTACKS: &[&str] = &[
    // Submodules.
    "git config --file .git/modules/vendor/sub/config core.fsmonitor \"$EVIL\"",
    "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > h; chmod +x h; mv h .git/modules/vendor/sub/hooks/pre-commit",
    "echo $PWD/evil > .git/modules/vendor/sub/commondir",
    "echo \"gitdir: $PWD/evil\" > vendor/sub/.git",
    "rm -f vendor/sub/.git; ln -s \"$PWD/evil\" vendor/sub/.git",
    "mv .git/modules .git/m; cp -r .git/m .git/modules; git config --file .git/modules/vendor/sub/config core.fsmonitor \"$EVIL\"",
    "mv vendor v; cp -r v vendor; rm -f vendor/sub/.git; echo \"gitdir: $PWD/evil\" > vendor/sub/.git; rm -rf v",
    // Linked worktrees.
    "echo $PWD/evil > .git/worktrees/linked/commondir",
    "git config --file .git/worktrees/linked/config.worktree core.fsmonitor \"$EVIL\"",
    "echo \"gitdir: $PWD/evil\" > linked/.git",
    "mv .git/worktrees .git/w; cp -r .git/w .git/worktrees; echo $PWD/evil > .git/worktrees/linked/commondir",
    // Repositories below the root.
    "git config --file nested/.git/config core.fsmonitor \"$EVIL\"",
    "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > nested/.git/hooks/pre-commit; chmod +x nested/.git/hooks/pre-commit",
    "mv nested/.git n; cp -r n nested/.git; git config --file nested/.git/config core.fsmonitor \"$EVIL\"; rm -rf n2",
    "mv nested x; cp -r x nested; git config --file nested/.git/config core.fsmonitor \"$EVIL\"",
    "mv nested/.git y; ln -s \"$PWD/evil\" nested/.git",
    // The repository of the root.
    "mv .git old; ln -s evil .git",
    "mv .git old; echo \"gitdir: $PWD/evil\" > .git",
    "mv .git old; cp -r evil .git",
    "git config --file .git/config.worktree core.fsmonitor \"$EVIL\"",
];

#[test]
fn git_does_not_execute_planted_hooks_or_config() {
    for tier in TIERS {
        let project = Project::new();
        project.attack(tier, PLANT);
        for attack in ATTACKS {
            let data = project.attack(tier, attack);
            project.check(&format!("{tier:?} {attack}: {data}"));
        }
    }
}

#[test]
fn the_same_attacks_succeed_without_a_sandbox() {
    // Otherwise the test above could pass because git ignores the planted files.
    for attack in
        [ATTACKS[0], ATTACKS[2], ATTACKS[3], ATTACKS[7], ATTACKS[8], ATTACKS[11], ATTACKS[16]]
    {
        let project = Project::new();
        project.attack(testkit::workspace::FULL, &format!("{PLANT}; {attack}"));
        let _ = project.person(PERSON);
        assert!(project.mark.exists(), "{attack}");
    }
}

#[test]
fn commits_work_in_submodules_worktrees_and_nested_repositories() {
    for tier in TIERS {
        let project = Project::new();
        let work = "set -e; for place in . vendor/sub linked nested; do cd $place; echo new > new; \
                    git add new; git commit -qm new; git status --short; cd \"$OLDPWD\"; done";
        let data = project.attack(tier, work);
        assert_eq!(data["exit_code"], 0, "{tier:?} {data}");
        assert!(data.get("sandbox_reverted").is_none(), "{tier:?} {data}");
        // A directory with a repository stays where it is.
        let data = project.attack(tier, "mv nested moved");
        assert!(project.workspace.at("nested/.git/config").exists(), "{tier:?} {data}");
        assert!(!project.workspace.at("moved").exists(), "{tier:?} {data}");
    }
}

#[test]
fn a_symlink_that_replaced_a_parent_of_a_repository_is_moved_away() {
    for tier in TIERS {
        for folder in ["nested", "vendor"] {
            let project = Project::new();
            let attack = format!(
                "mv {folder} x; cp -r x evil; for place in evil evil/sub; do [ -e $place/.git ] || continue; \
                 rm -rf $place/.git; git init -q $place; git config --file $place/.git/config core.fsmonitor \"$EVIL\"; \
                 done; ln -s evil {folder}"
            );
            let data = project.attack(tier, &attack);
            // In the first tier, the directory cannot be moved at all.
            if tier == SECOND {
                let reported =
                    data["sandbox_reverted"][0].as_str().unwrap_or_else(|| panic!("{data}"));
                assert!(reported.contains(&format!("/{folder}: restored")), "{reported}");
            }
            assert!(!project.workspace.at(folder).is_symlink(), "{tier:?} {folder}: {data}");
            project.check(&format!("{tier:?} {folder}: {data}"));
        }
    }
}

#[test]
fn an_unwritable_directory_is_still_restored() {
    for attack in [
        "git config --file .git/config core.fsmonitor \"$EVIL\"; chmod 500 .git",
        "git config --file nested/.git/config core.fsmonitor \"$EVIL\"; chmod 000 nested/.git",
        "mv .git/hooks h; mkdir .git/hooks; printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > .git/hooks/pre-commit; \
         chmod 777 .git/hooks/pre-commit; chmod 500 .git/hooks .git",
        "mv nested/.git n; cp -r n nested/.git; git config --file nested/.git/config core.fsmonitor \"$EVIL\"; \
         chmod 500 nested/.git nested",
    ] {
        let project = Project::new();
        let data = project.attack(SECOND, attack);
        assert!(data["sandbox_reverted"].is_array(), "{attack}: {data}");
        assert!(!data["sandbox_reverted"].to_string().contains("could not"), "{attack}: {data}");
        project.person("chmod u+rwx nested .git nested/.git .git/hooks").unwrap();
        project.check(&format!("{attack}: {data}"));
    }
}

#[test]
fn a_replaced_repository_is_restored_and_reported() {
    for attack in [
        "mv .git old; mkdir .git; echo evil > .git/config",
        "mv .git old; ln -s old .git",
        "mv nested/.git x; mkdir -p nested/.git; echo evil > nested/.git/config",
    ] {
        let project = Project::new();
        let data = project.attack(SECOND, attack);
        let reported = data["sandbox_reverted"].to_string();
        assert!(reported.contains("/.git: restored"), "{reported}");
        project.check(attack);
    }
}

#[test]
fn a_checkout_that_cannot_change_settings_is_reported() {
    for (tier, expected) in [
        (
            FIRST,
            "sandbox probably blocked: change of .vscode/settings.json; git checkout -f leads back",
        ),
        (SECOND, "sandbox blocked: change of .vscode/settings.json; git checkout -f leads back"),
    ] {
        let project = Project::new();
        let workspace = &project.workspace;
        let read = |path: &str| std::fs::read_to_string(workspace.at(path)).unwrap();
        let change = "
            mkdir -p .vscode; echo one > .vscode/settings.json; echo one > f
            git add .vscode f && git commit -qm one
            git checkout -qb other; echo two > .vscode/settings.json; echo two > f
            git commit -qam two && git branch one HEAD~1";
        project.person(change).unwrap();
        let data = workspace.data(tier, "git checkout one");
        assert_eq!(data["exit_code"], 0, "{tier:?}: {data}");
        assert_eq!(data["sandbox_blocked"], serde_json::json!([expected]), "{tier:?}: {data}");
        assert_eq!((read(".vscode/settings.json"), read("f")), ("two\n".into(), "one\n".into()));
        // Afterwards the file is as in the commit.
        project.person("git checkout -qf").unwrap();
        assert_eq!(read(".vscode/settings.json"), "one\n");
        // Nothing is said if nothing was blocked.
        let data = workspace.data(tier, "git status; git log -1");
        assert!(data.get("sandbox_blocked").is_none(), "{tier:?}: {data}");
    }
}
