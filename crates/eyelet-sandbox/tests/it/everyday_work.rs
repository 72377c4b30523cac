//! Everyday work in a repository stays possible in the sandbox, and renames do not reveal denied files.

use std::fs;
use std::path::Path;

use eyelet_sandbox::Tier;
use testkit::workspace::{FIRST, Workspace};

use crate::planted_settings::{BOTH, repositories, run, user_git};
use crate::supervision::session;

const NAMES: &str = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; \
                     set -e; ";

/// A workspace with a repository that has commits, and another repository in `sub`.
fn project() -> Workspace {
    let workspace = repositories();
    for path in ["a/one", "b/two", "top"] {
        fs::create_dir_all(workspace.at(path).parent().unwrap_or(Path::new(""))).unwrap();
        fs::write(workspace.at(path), path).unwrap();
    }
    fs::write(workspace.at(".gitignore"), "/sub\n").unwrap();
    user_git(&workspace, &["add", "."]);
    user_git(&workspace, &["commit", "-qm", "first"]);
    workspace
}

/// Runs commands of one session, which must succeed and change no protected path.
fn works(tier: Tier, commands: &[&str]) {
    let workspace = project();
    let turn = session(&workspace, tier);
    for command in commands {
        let report = run(&turn, &format!("{NAMES}{command}"));
        assert_eq!(report.exit_code, 0, "{tier:?} {command}: {report:?}");
        assert!(report.sandbox_reverted.is_empty(), "{tier:?} {command}: {report:?}");
    }
}

#[test]
fn commits_branches_stashes_and_rebases_work() {
    for tier in BOTH {
        works(
            tier,
            &[
                "echo 1 >> a/one; git commit -qam second",
                "git checkout -qb side HEAD~; echo 2 >> b/two; git commit -qam third",
                "git rebase -q main; git log --oneline | wc -l | grep -x 3",
                "echo 3 >> top; git stash -q; git checkout -q main; git stash pop -q; git diff --quiet && exit 1; true",
                "git commit -qam fourth; git merge -q --no-edit side; git tag v1; git gc -q; git fsck",
                "echo 4 >> sub/file; git -C sub add file; git -C sub commit -qm own",
            ],
        );
    }
}

#[test]
fn files_move_between_folders_without_repositories() {
    for tier in BOTH {
        works(
            tier,
            &[
                "git mv a/one b/one; git mv b c; mkdir d; git mv c/two d/two; git commit -qm moved; mv d e; mv e d",
            ],
        );
    }
}

#[test]
fn worktrees_can_be_added_and_removed() {
    for tier in BOTH {
        works(
            tier,
            &[
                "git worktree add -q linked -b linked",
                "cd linked; echo new > new; git add new; git commit -qm new; git status --short",
                "git worktree remove linked; git worktree prune; git branch -D linked",
            ],
        );
    }
}

#[test]
fn what_commands_created_can_be_removed() {
    for tier in BOTH {
        works(
            tier,
            &[
                "git init -q new; git -C new config user.name a; mkdir -p new/.vscode; echo {} > new/.vscode/x",
                "mkdir -p node_modules/p/.vscode; echo {} > node_modules/p/.vscode/settings.json",
                "git clone -q . copy; git -C copy config user.name a",
                "mv new renamed; rm -rf renamed node_modules copy",
            ],
        );
    }
}

#[test]
fn npm_installs_packages_again_and_again() {
    if testkit::lacks("npm") {
        return;
    }
    for tier in BOTH {
        works(
            tier,
            &[
                "mkdir -p package/.vscode; cd package; echo '{\"name\":\"p\",\"version\":\"1.0.0\"}' > package.json; \
                 echo {} > .vscode/settings.json; export npm_config_cache=$TMPDIR/c; npm pack --silent; cd ..; \
                 echo '{\"name\":\"t\",\"version\":\"1.0.0\",\"dependencies\":{\"p\":\"file:package/p-1.0.0.tgz\"}}' > package.json; \
                 npm install --silent --no-audit --offline --no-fund; [ -e node_modules/p/package.json ]",
                "export npm_config_cache=$TMPDIR/c; npm ci --silent --no-audit --no-fund --offline; rm -rf node_modules",
                "export npm_config_cache=$TMPDIR/c; npm ci --silent --no-audit --no-fund --offline",
            ],
        );
    }
}

#[test]
fn renaming_the_folder_of_a_denied_file_does_not_reveal_it() {
    let workspace = Workspace::new("conf/deep/.env = CANARY");
    let flags = [FIRST, &["--deny", "**/.env"]].concat();
    for attack in [
        "mv conf c; cat c/deep/.env",
        "mv conf/deep d; cat d/.env",
        "cat c/deep/.env d/.env conf/d/.env; cp -r conf copy; cat copy/deep/.env",
        "mkdir x; mv conf x/; cat x/conf/deep/.env",
    ] {
        let data = workspace.data(&flags, attack);
        assert!(!data.to_string().contains("CANARY"), "{attack}: {data}");
        assert_eq!(
            fs::read_to_string(workspace.at("conf/deep/.env")).unwrap(),
            "CANARY",
            "{attack}"
        );
    }
}
