//! Linked git worktrees whose main repository lies outside the roots.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use testkit::mcp_client::Server;
use testkit::workspace::{FIRST, SECOND, TIERS, Workspace, envelope, within};

/// Runs git outside of the sandbox.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(folder).args(arguments).stdin(Stdio::null());
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "a@b");
    }
    let output = git.output().unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A repository with one commit.
fn repository(folder: &Path) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    git(folder, &["init", "-q", "-b", "main"]);
    git(folder, &["config", "user.name", "a"]);
    git(folder, &["config", "user.email", "a@b"]);
    fs::write(folder.join("file"), "one\n").unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "first"]);
    folder.to_owned()
}

/// A workspace that is a linked worktree of the repository `main` outside.
fn worktree() -> (Workspace, PathBuf) {
    let workspace = Workspace::new("");
    let main = repository(&workspace.outside().join("main"));
    link(&main, workspace.tree.path());
    (workspace, main)
}

fn link(main: &Path, worktree: &Path) {
    git(main, &["worktree", "add", "-q", "-b", "side", worktree.to_str().unwrap()]);
}

/// What a worktree is used for.
const WORK: &str = "set -e; export GIT_EDITOR=true; git status --short; \
    echo two >> file; git commit -qam second; git branch other; git checkout -q other; \
    echo three > new; git add new; git commit -qm third; git checkout -q side; \
    echo four >> file; git commit -qam fourth; git rebase -q other; \
    echo five >> file; git stash -q; git stash list | wc -l; git stash apply -q; git checkout -q file; \
    git tag v1; git fetch -q origin; git log --oneline origin/main | wc -l; \
    git log --oneline | wc -l; git reflog | grep -c commit:";

#[test]
fn git_works_in_a_worktree_of_a_repository_outside() {
    for tier in TIERS {
        let (workspace, main) = worktree();
        let origin = repository(&workspace.outside().join("origin"));
        git(&main, &["remote", "add", "origin", origin.to_str().unwrap()]);
        assert_eq!(workspace.stdout(tier, WORK), "1\n1\n4\n3\n", "{tier:?}");
        // The main repository sees the work.
        assert_eq!(git(&main, &["log", "--oneline", "side"]).lines().count(), 4, "{tier:?}");
        assert_eq!(git(&main, &["status", "--short"]), "", "{tier:?}");
    }
}

#[test]
fn git_works_in_a_worktree_below_the_temp_directory() {
    for tier in TIERS {
        let workspace = Workspace::new("");
        // In the first tier, the private temp directory covers this path.
        let main = repository(&workspace.tree.beside().join("main"));
        link(&main, workspace.tree.path());
        let commit = "echo two >> file && git commit -qam second && git log --oneline | wc -l";
        assert_eq!(workspace.stdout(tier, commit), "2\n", "{tier:?}");
        assert_eq!(git(&main, &["log", "--oneline", "side"]).lines().count(), 2, "{tier:?}");
    }
}

#[test]
fn git_works_in_worktrees_of_bare_repositories() {
    for tier in TIERS {
        let workspace = Workspace::new("");
        let main = repository(&workspace.outside().join("main"));
        let bare = workspace.outside().join("bare");
        git(&main, &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
        link(&bare, workspace.tree.path());
        let commit = "git config user.name >/dev/null || export GIT_AUTHOR_NAME=a \
                      GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; \
                      echo two >> file && git commit -qam second && git log --oneline | wc -l";
        assert_eq!(workspace.stdout(tier, commit), "2\n", "{tier:?}");
    }
}

#[test]
fn deleting_and_packing_refs_works_with_mounts_only() {
    let delete = "git branch other && git branch -q -D other";
    let pack = "git pack-refs --all";
    let (workspace, main) = worktree();
    workspace.stdout(FIRST, &format!("{delete} && {pack} && git gc -q"));
    assert!(main.join(".git/packed-refs").is_file());
    let (workspace, _) = worktree();
    for command in [delete, pack] {
        let data = workspace.data(SECOND, command);
        assert_ne!(data["exit_code"], 0, "{data}");
        let blocked = data["sandbox_blocked"][0].as_str().unwrap();
        assert!(blocked.contains("packed-refs"), "{data}");
    }
}

#[test]
fn commands_run_in_the_repository_and_its_worktrees_at_the_same_time() {
    for tier in TIERS {
        let (workspace, main) = worktree();
        let commit = "echo two >> file && git commit -qam second";
        let (outside, inside) = (main.to_str().unwrap(), workspace.tree.str());
        for (first, second) in [(outside, inside), (inside, outside)] {
            let call = |root: &str, command: &str| {
                let mut eyelet = testkit::cli::command(&workspace.tree);
                eyelet.args(["--root", root, "--cwd", root]).args(tier);
                eyelet.args(["call", "bash", &json!({ "command": command }).to_string()]);
                eyelet
            };
            let wait = "touch started; until [ -e stop ]; do sleep 0.02; done; rm stop started";
            let mut waiting = call(first, wait).stdout(Stdio::null()).spawn().unwrap();
            let is_started = || fs::exists(format!("{first}/started")).unwrap();
            assert!(within(Duration::from_secs(30), is_started), "{tier:?}");
            let answer = envelope(&call(second, commit).output().unwrap());
            fs::write(format!("{first}/stop"), "").unwrap();
            assert!(waiting.wait().unwrap().success(), "{tier:?}");
            assert_eq!(answer["data"]["exit_code"], 0, "{tier:?} {answer}");
            assert_eq!(answer["data"].get("sandbox_reverted"), None, "{tier:?} {answer}");
        }
    }
}

#[test]
fn everything_else_of_the_repository_outside_is_protected() {
    for tier in TIERS {
        let (workspace, main) = worktree();
        let other = workspace.outside().join("other");
        git(&main, &["worktree", "add", "-q", "-b", "other", other.to_str().unwrap()]);
        let common = main.join(".git");
        let before = fs::read(common.join("config")).unwrap();
        let head = fs::read(common.join("worktrees/other/HEAD")).unwrap();
        for attack in [
            "echo x >> $C/config",
            "git config core.fsmonitor ./evil",
            "echo x > $C/config.worktree",
            "echo x > $C/commondir",
            "echo x > $C/hooks/post-checkout",
            "mv $C/hooks $C/old && mkdir $C/hooks && echo x > $C/hooks/post-checkout",
            "mkdir -p $C/info && echo '* filter=evil' > $C/info/attributes",
            "mkdir -p $C/modules/evil && echo x > $C/modules/evil/config",
            "echo x > $C/worktrees/other/HEAD",
            "mv $C/worktrees/other $C/worktrees/old",
            "mkdir $C/worktrees/new",
            "echo x > $C/worktrees/w/config.worktree",
            "echo x > $C/worktrees/w/commondir",
            "echo x > $C/worktrees/w/gitdir",
            "echo x > $C/HEAD",
            "echo x > $C/index",
            "mv $C $C.old",
            "echo x > $C/../file",
        ] {
            let command = format!("C={}; {attack}", common.display());
            // The command may succeed in the moment before the restore.
            workspace.data(tier, &command);
            assert_eq!(fs::read(common.join("config")).unwrap(), before, "{tier:?} {attack}");
            for absent in [
                "config.worktree",
                "commondir",
                "hooks/post-checkout",
                "info/attributes",
                "modules",
                "worktrees/new",
                "worktrees/w/config.worktree",
            ] {
                assert!(!common.join(absent).exists(), "{tier:?} {attack}: {absent}");
            }
            let kept = fs::read(common.join("worktrees/other/HEAD")).unwrap();
            assert_eq!(kept, head, "{tier:?} {attack}");
            assert_eq!(fs::read_to_string(main.join("file")).unwrap(), "one\n", "{tier:?}");
            git(workspace.tree.path(), &["status"]);
            git(&main, &["status"]);
        }
    }
}

#[test]
fn submodules_of_a_linked_worktree_outside_are_protected() {
    for tier in TIERS {
        let workspace = Workspace::new("");
        let main = repository(workspace.tree.path());
        let seed = repository(&workspace.outside().join("seed"));
        let seed = seed.to_str().unwrap();
        let file = ["-c", "protocol.file.allow=always"];
        git(&main, &[&file[..], &["submodule", "--quiet", "add", seed, "m"]].concat());
        git(&main, &["commit", "-qm", "submodule"]);
        let linked = workspace.outside().join("linked");
        link(&main, &linked);
        git(&linked, &[&file[..], &["submodule", "--quiet", "update", "--init"]].concat());
        let module = main.join(".git/worktrees/linked/modules/m");
        let data = workspace.data(tier, &format!("echo evil >> {}/config", module.display()));
        let config = fs::read_to_string(module.join("config")).unwrap();
        assert!(!config.contains("evil"), "{tier:?} {data}");
    }
}

/// Whether a command can write to the objects of this repository.
fn can_write(workspace: &Workspace, tier: &[&str], common: &Path) -> bool {
    let write = format!("echo x > {}/objects/plant", common.display());
    let data = workspace.data(tier, &write);
    let is_written = common.join("objects/plant").exists();
    assert_eq!(data["exit_code"] == 0, is_written, "{data}");
    if is_written {
        fs::remove_file(common.join("objects/plant")).unwrap();
    }
    is_written
}

#[test]
fn a_git_file_that_nobody_points_back_to_widens_nothing() {
    for tier in TIERS {
        // Another worktree, whose own back-pointer names another place.
        let workspace = Workspace::new("");
        let main = repository(&workspace.outside().join("main"));
        link(&main, &workspace.outside().join("side"));
        let target = main.join(".git/worktrees/side");
        fs::write(workspace.at(".git"), format!("gitdir: {}\n", target.display())).unwrap();
        assert!(!can_write(&workspace, tier, &main.join(".git")), "{tier:?}");
        // The repository itself.
        let target = main.join(".git");
        fs::write(workspace.at(".git"), format!("gitdir: {}\n", target.display())).unwrap();
        assert!(!can_write(&workspace, tier, &main.join(".git")), "{tier:?}");
    }
}

#[test]
fn a_forged_repository_does_not_widen_to_another() {
    for tier in TIERS {
        let workspace = Workspace::new("");
        let main = repository(&workspace.outside().join("main"));
        let common = main.join(".git");
        // Everything that a command could write itself: a repository in the root that claims the other one.
        let forged = workspace.at("forged/worktrees/w");
        fs::create_dir_all(&forged).unwrap();
        for (name, text) in [
            ("HEAD", "ref: refs/heads/main\n".to_owned()),
            ("index", String::new()),
            ("gitdir", format!("{}\n", workspace.at(".git").display())),
            ("commondir", format!("{}\n", common.display())),
        ] {
            fs::write(forged.join(name), text).unwrap();
        }
        fs::write(workspace.at(".git"), format!("gitdir: {}\n", forged.display())).unwrap();
        fs::write(forged.join("index"), "").unwrap();
        assert!(!can_write(&workspace, tier, &common), "{tier:?}");
        // With symlinks to the other one.
        fs::write(forged.join("commondir"), "../..\n").unwrap();
        for name in ["objects", "refs", "config", "HEAD"] {
            std::os::unix::fs::symlink(common.join(name), workspace.at("forged").join(name))
                .unwrap();
        }
        assert!(!can_write(&workspace, tier, &common), "{tier:?}");
    }
}

#[test]
fn symlinks_on_the_way_to_the_repository_widen_nothing() {
    for tier in TIERS {
        let (workspace, main) = worktree();
        assert!(can_write(&workspace, tier, &main.join(".git")), "{tier:?}");
        let alias = workspace.outside().join("alias");
        std::os::unix::fs::symlink(&main, &alias).unwrap();
        let target = alias.join(".git/worktrees/w");
        fs::write(workspace.at(".git"), format!("gitdir: {}\n", target.display())).unwrap();
        // Git itself accepts this.
        git(workspace.tree.path(), &["status"]);
        assert!(!can_write(&workspace, tier, &main.join(".git")), "{tier:?}");
    }
}

#[test]
fn a_git_file_that_a_command_makes_widens_nothing() {
    for tier in TIERS {
        let workspace = Workspace::new("sub/");
        let main = repository(&workspace.outside().join("main"));
        let common = main.join(".git");
        // A worktree that the user removed without telling git, so that the back-pointer still exists.
        link(&main, &workspace.at("sub/w"));
        let text = fs::read_to_string(workspace.at("sub/w/.git")).unwrap();
        fs::remove_dir_all(workspace.at("sub/w")).unwrap();
        let mut eyelet = workspace.eyelet(&[]);
        let mut server = Server::run(eyelet.arg("mcp").args(tier));
        server.initialize("test", &json!({}));
        let plant = format!("mkdir sub/w && printf '{text}' > sub/w/.git");
        server.text("bash", json!({ "command": plant }));
        assert!(workspace.at("sub/w/.git").is_file(), "{tier:?}");
        let write = format!("echo x > {}/objects/plant", common.display());
        server.text("bash", json!({ "command": write }));
        assert!(!common.join("objects/plant").exists(), "{tier:?}");
        // Nor in a later session.
        assert!(!can_write(&workspace, tier, &common), "{tier:?}");
    }
}
