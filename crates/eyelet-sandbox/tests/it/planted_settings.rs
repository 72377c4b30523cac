//! Attacks that need several commands, one after another or at once: none may leave a setting behind that runs code
//! outside the sandbox.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use eyelet::tools::{Bash, BashArgs, BashReport};
use eyelet::{DenyList, Root, Tool as _, TurnContext};
use eyelet_sandbox::Tier;
use rustix::process::{Signal, kill_process};
use testkit::workspace::{TIERS, Workspace, within};

use crate::supervision::{children, session};

pub(crate) const BOTH: [Tier; 2] = [Tier::Namespaces, Tier::Landlock];

/// Runs a command in a session.
pub(crate) fn run(turn: &TurnContext, command: &str) -> BashReport {
    let arguments = BashArgs { timeout_secs: Some(60), ..BashArgs::new(command) };
    Bash.run(arguments, turn).unwrap_or_else(|error| panic!("{command}: {error:?}"))
}

/// Runs git for the user, outside of the sandbox.
pub(crate) fn user_git(workspace: &Workspace, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]);
    let git = git.args(arguments).current_dir(workspace.tree.path());
    let output = git.env("HOME", workspace.tree.beside()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// Whether some setting of the repository at `git` was planted.
pub(crate) fn has_plant(workspace: &Workspace, git: &str) -> bool {
    let is_evil = |path: &str| {
        fs::read_to_string(workspace.at(git).join(path)).is_ok_and(|text| text.contains("evil"))
    };
    ["config", "commondir", "hooks/pre-commit", "config.worktree"].iter().any(|path| is_evil(path))
}

/// A workspace with a repository at the top and one in `sub`.
pub(crate) fn repositories() -> Workspace {
    let workspace = Workspace::new("");
    user_git(&workspace, &["init", "-q", "."]);
    user_git(&workspace, &["init", "-q", "sub"]);
    workspace
}

const PLANT: &str = "echo '[core]fsmonitor=evil' >> .git/config; echo evil > .git/commondir; \
                     echo evil > .mcp.json; true";

#[test]
fn a_parallel_command_does_not_keep_a_plant() {
    for tier in BOTH {
        let workspace = repositories();
        let (one, other) = (session(&workspace, tier), session(&workspace, tier));
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                run(
                    &one,
                    &format!("{PLANT} : > planted; until [ -e started ]; do sleep 0.01; done"),
                )
            });
            assert!(within(Duration::from_secs(30), || workspace.at("planted").exists()));
            let second =
                scope.spawn(|| run(&other, ": > started; until [ -e ended ]; do sleep 0.01; done"));
            first.join().unwrap();
            fs::write(workspace.at("ended"), "").unwrap();
            second.join().unwrap();
        });
        assert!(!has_plant(&workspace, ".git") && !workspace.at(".mcp.json").exists(), "{tier:?}");
        // The next command does not take it for the user's either.
        run(&one, "true");
        assert!(!has_plant(&workspace, ".git") && !workspace.at(".mcp.json").exists(), "{tier:?}");
    }
}

#[test]
fn repositories_and_denied_files_are_searched_once_per_session() {
    for tier in BOTH {
        let workspace = Workspace::new("");
        let first = session(&workspace, tier);
        run(&first, "true");
        user_git(&workspace, &["init", "-q", "sub"]);
        let report = run(&first.for_another_session(), "echo evil >> sub/.git/config");
        assert!(!has_plant(&workspace, "sub/.git"), "{tier:?} {report:?}");
    }
    // Only the first tier hides files that globs match.
    let workspace = Workspace::new("");
    let denied = DenyList::empty().with_glob("**/.env", &[workspace.tree.path()]).unwrap();
    let first = session(&workspace, Tier::Namespaces).with_deny_list(denied);
    run(&first, "true");
    fs::write(workspace.at(".env"), "CANARY").unwrap();
    let report = run(&first.for_another_session(), "cat .env");
    assert_eq!(report.stdout.text(), "", "{report:?}");
}

#[test]
fn renaming_a_repository_away_and_back_does_not_plant() {
    for tier in BOTH {
        for (first, second) in [
            ("mv sub sub2", "echo evil >> sub2/.git/config; mv sub2 sub"),
            ("mv sub/.git sub/g", "echo evil >> sub/g/config; mv sub/g sub/.git"),
            ("mv sub $TMPDIR/s", "echo evil >> $TMPDIR/s/.git/config; mv $TMPDIR/s sub"),
            ("cp -r sub s; rm -rf sub", "echo evil >> s/.git/config; mv s sub"),
            ("mv .git $TMPDIR/g", "echo evil >> $TMPDIR/g/config; mv $TMPDIR/g .git"),
        ] {
            let workspace = repositories();
            let turn = session(&workspace, tier);
            let reports = [run(&turn, first), run(&turn, second)];
            for git in [".git", "sub/.git"] {
                assert!(!has_plant(&workspace, git), "{tier:?} {second}: {reports:?}");
            }
            // In the first tier, `mv` copies it to the other mount and removes it.
            let is_there = workspace.at(".git/HEAD").exists();
            assert!(is_there || tier == Tier::Namespaces, "{second}: {reports:?}");
        }
    }
}

#[test]
fn renaming_the_folder_of_submodules_away_and_back_does_not_plant() {
    for tier in BOTH {
        let workspace = Workspace::new("");
        user_git(&workspace, &["init", "-q", "seed"]);
        user_git(&workspace, &["-C", "seed", "commit", "-qm", "x", "--allow-empty"]);
        user_git(&workspace, &["init", "-q", "."]);
        let add =
            ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./seed", "lib/m"];
        user_git(&workspace, &add);
        let turn = session(&workspace, tier);
        run(&turn, "mv .git/modules .git/m");
        let report = run(&turn, "echo evil >> .git/m/lib/m/config; mv .git/m .git/modules");
        assert!(!has_plant(&workspace, ".git/modules/lib/m"), "{tier:?} {report:?}");
    }
}

#[test]
fn fake_worktrees_do_not_exhaust_the_protection() {
    for tier in BOTH {
        let workspace = repositories();
        let other = Workspace::new("");
        user_git(&other, &["init", "-q", "."]);
        let with_both =
            || session(&workspace, tier).with_root(Root::open(other.tree.path()).unwrap());
        run(&with_both(), "mkdir -p .git/worktrees/{1..260}");
        let attack = format!(
            "echo evil >> sub/.git/config; echo evil >> '{}/.git/config'; true",
            other.tree.str()
        );
        let report = run(&with_both(), &attack);
        assert!(!has_plant(&workspace, "sub/.git"), "{tier:?} {report:?}");
        assert!(!has_plant(&other, ".git"), "{tier:?} {report:?}");
    }
}

#[test]
fn many_files_in_the_hooks_of_a_worktree_do_not_disable_commands() {
    for tier in BOTH {
        let workspace = repositories();
        user_git(&workspace, &["commit", "-qm", "x", "--allow-empty"]);
        user_git(&workspace, &["worktree", "add", "-q", "linked"]);
        let attack = "mkdir .git/worktrees/linked/hooks; cd .git/worktrees/linked/hooks; \
                      seq 10001 | xargs touch";
        run(&session(&workspace, tier), attack);
        assert_eq!(
            run(&session(&workspace, tier), "echo works").stdout.text(),
            "works\n",
            "{tier:?}"
        );
    }
}

#[test]
fn many_files_in_the_hooks_of_a_repository_do_not_disable_commands() {
    for tier in BOTH {
        let workspace = repositories();
        run(&session(&workspace, tier), "cd .git/hooks; seq 10001 | xargs touch; true");
        assert!(!workspace.at(".git/hooks/1").exists(), "{tier:?}");
        assert_eq!(
            run(&session(&workspace, tier), "echo works").stdout.text(),
            "works\n",
            "{tier:?}"
        );
    }
}

#[test]
fn a_repository_that_cannot_be_protected_is_named() {
    let workspace = repositories();
    let hooks = workspace.at("sub/.git/hooks");
    (0..10_001).for_each(|number| fs::write(hooks.join(number.to_string()), "").unwrap());
    let turn = session(&workspace, Tier::Landlock);
    let error = format!("{:?}", Bash.run(BashArgs::new("true"), &turn).unwrap_err());
    assert!(error.contains("/sub/.git/hooks"), "{error}");
    // Mounts protect it whatever its size.
    let report = run(&session(&workspace, Tier::Namespaces), "echo evil > sub/.git/hooks/1");
    assert!(report.exit_code != 0, "{report:?}");
}

#[test]
fn settings_of_bare_repositories_stay_unchanged() {
    let attack =
        "echo evil >> config; echo '#evil' > hooks/pre-commit; echo evil > commondir; true";
    for tier in BOTH {
        // As the root, and below it.
        for (path, command) in
            [(".", attack.to_owned()), ("mirror.git", format!("cd mirror.git; {attack}"))]
        {
            let workspace = Workspace::new("");
            user_git(&workspace, &["init", "-q", "--bare", path]);
            let report = run(&session(&workspace, tier), &command);
            assert!(!has_plant(&workspace, path), "{tier:?} {path}: {report:?}");
        }
    }
}

#[test]
fn settings_in_work_trees_below_the_root_are_protected() {
    for tier in BOTH {
        let workspace = repositories();
        fs::create_dir(workspace.at("sub/.vscode")).unwrap();
        fs::write(workspace.at("sub/.vscode/tasks.json"), "kept").unwrap();
        let attack = "echo evil > sub/.vscode/tasks.json; echo evil > sub/.mcp.json; \
                      mkdir -p other/.vscode; echo own > other/.vscode/tasks.json; true";
        let report = run(&session(&workspace, tier), attack);
        let now = fs::read_to_string(workspace.at("sub/.vscode/tasks.json")).unwrap();
        assert_eq!(now, "kept", "{tier:?} {report:?}");
        assert!(!workspace.at("sub/.mcp.json").exists(), "{tier:?} {report:?}");
        // Not in other folders.
        assert!(workspace.at("other/.vscode/tasks.json").exists(), "{tier:?} {report:?}");
    }
}

#[test]
fn changes_between_commands_are_the_users() {
    for tier in BOTH {
        let workspace = repositories();
        let turn = session(&workspace, tier);
        run(&turn, "true");
        user_git(&workspace, &["config", "user.name", "someone"]);
        fs::write(workspace.at(".mcp.json"), "mine").unwrap();
        let report = run(&turn, "cat .git/config .mcp.json");
        assert!(report.sandbox_reverted.is_empty(), "{tier:?} {report:?}");
        run(&turn, PLANT);
        let config = fs::read_to_string(workspace.at(".git/config")).unwrap();
        assert!(config.contains("someone") && !has_plant(&workspace, ".git"), "{tier:?} {config}");
        assert_eq!(fs::read_to_string(workspace.at(".mcp.json")).unwrap(), "mine", "{tier:?}");
        // A repository that the user removes is not restored.
        fs::remove_dir_all(workspace.at("sub/.git")).unwrap();
        let report = run(&turn, "git init -q sub && git -C sub config user.name other");
        assert_eq!(report.exit_code, 0, "{tier:?} {report:?}");
    }
}

#[test]
fn a_symlink_that_a_parallel_command_creates_is_not_recorded() {
    for tier in TIERS {
        let workspace = Workspace::new("");
        user_git(&workspace, &["init", "-q", "."]);
        let command = ": > up; until [ -e go ]; do sleep 0.01; done; mkdir evil; \
                       echo evil > evil/config.toml; ln -s evil .cargo; : > planted; \
                       until [ -e ended ]; do sleep 0.01; done";
        let mut eyelet = workspace.eyelet(tier);
        eyelet.args(["call", "bash", &serde_json::json!({ "command": command }).to_string()]);
        let mut eyelet = eyelet.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        assert!(within(Duration::from_secs(30), || workspace.at("up").exists()), "{tier:?}");
        // Delays the restore.
        let monitor = children(eyelet.id())[0];
        kill_process(monitor, Signal::STOP).unwrap();
        fs::write(workspace.at("go"), "").unwrap();
        assert!(within(Duration::from_secs(30), || workspace.at("planted").exists()), "{tier:?}");
        let refused = workspace.answer(tier, "true");
        kill_process(monitor, Signal::CONT).unwrap();
        assert!(refused["error"].to_string().contains("/.cargo"), "{tier:?} {refused}");
        let is_gone = within(Duration::from_secs(30), || !workspace.at(".cargo").is_symlink());
        assert!(is_gone, "{tier:?}");
        workspace.stdout(tier, "true");
        fs::write(workspace.at("ended"), "").unwrap();
        eyelet.wait().unwrap();
        workspace.stdout(tier, "true");
        assert!(!workspace.at(".cargo").is_symlink(), "{tier:?}");
    }
}
