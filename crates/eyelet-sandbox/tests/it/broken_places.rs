//! Attacks that make a restore fail, or that hide a repository from the next session.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use eyelet::Tool as _;
use eyelet::tools::{Bash, BashArgs};
use eyelet_sandbox::Tier;
use testkit::workspace::{SECOND, TIERS, Workspace};

use crate::planted_settings::{BOTH, has_plant, repositories, run, user_git};
use crate::supervision::session;

/// A path of 1,900 folders, deeper than the number of files that a process may open.
const DEEP: &str = "$(printf 'd/%.0s' $(seq 1900))";

#[test]
fn a_deep_conflict_copy_does_not_stop_the_restore() {
    for tier in BOTH {
        let workspace = repositories();
        let turn = session(&workspace, tier);
        for command in [
            format!("mkdir -p .mcp.json.eyelet-conflict/{DEEP}; echo evil > .mcp.json"),
            format!("mkdir -p .vscode/{DEEP}; echo evil > .vscode/tasks.json"),
            "true".to_owned(),
        ] {
            run(&turn, &command);
            assert!(!workspace.at(".mcp.json").exists(), "{tier:?}");
            assert!(!workspace.at(".vscode").exists(), "{tier:?}");
        }
    }
}

#[test]
fn a_deep_protected_folder_does_not_disable_the_protection() {
    // The second tier cannot restore such a folder, and refuses commands.
    for tier in BOTH {
        let workspace = repositories();
        fs::create_dir_all(workspace.at(&format!(".claude/{}", "d/".repeat(60)))).unwrap();
        let turn = session(&workspace, tier);
        let command = "echo evil > .mcp.json; echo evil > .claude/settings.json";
        let report = Bash.run(BashArgs::new(command), &turn);
        assert!(!workspace.at(".mcp.json").exists(), "{tier:?}: {report:?}");
        assert!(!workspace.at(".claude/settings.json").exists(), "{tier:?}: {report:?}");
        if let Err(error) = report {
            assert!(error.message.contains("/.claude: "), "{tier:?}: {error:?}");
        }
    }
}

#[test]
fn names_of_255_bytes_do_not_stop_the_restore() {
    let long = "x".repeat(255);
    for tier in BOTH {
        let workspace = repositories();
        user_git(&workspace, &["init", "-q", &long]);
        fs::create_dir_all(workspace.at(".git/hooks")).unwrap();
        let turn = session(&workspace, tier);
        // The third restore of a path kills the command.
        for content in ["evil", "evil, too"] {
            let report = run(&turn, &format!("echo {content} > t; mv t .git/hooks/{long}"));
            assert!(!workspace.at(&format!(".git/hooks/{long}")).exists(), "{tier:?} {report:?}");
            // In the first tier, the write fails.
            if tier == Tier::Landlock {
                let copies = fs::read_dir(workspace.at(".git/hooks.eyelet-conflict")).unwrap();
                let texts = copies.map(|copy| fs::read_to_string(copy.unwrap().path()).unwrap());
                assert!(texts.into_iter().any(|text| text.trim() == content), "{report:?}");
            }
        }
        // The first tier does not let commands rename it.
        let report = run(&turn, &format!("mv {long} away; mkdir {long}; echo evil > {long}/.git"));
        assert!(workspace.at(&format!("{long}/.git/HEAD")).exists(), "{tier:?} {report:?}");
    }
}

#[test]
fn renamed_folders_in_renamed_folders_are_moved_back() {
    for tier in BOTH {
        let workspace = repositories();
        user_git(&workspace, &["init", "-q", "a/b/c/d"]);
        let attack = "mv a/b/c/d a/b/c/z; mv a/b/c a/b/y; mv a/b a/x; mv a w; \
                      echo evil >> w/x/y/z/.git/config; true";
        let report = run(&session(&workspace, tier), attack);
        assert!(workspace.at("a/b/c/d/.git/HEAD").exists(), "{tier:?} {report:?}");
        assert!(!has_plant(&workspace, "a/b/c/d/.git"), "{tier:?}");
    }
}

#[test]
fn a_repository_that_a_command_broke_stays_protected_in_the_next_session() {
    for tier in BOTH {
        let workspace = repositories();
        user_git(&workspace, &["init", "-q", "--bare", "mirror.git"]);
        run(&session(&workspace, tier), "mv mirror.git/HEAD mirror.git/H");
        let plant = "echo evil >> mirror.git/config; echo evil > mirror.git/hooks/pre-commit; \
                     mv mirror.git/H mirror.git/HEAD";
        run(&session(&workspace, tier), plant);
        assert!(!has_plant(&workspace, "mirror.git"), "{tier:?}");
    }
}

/// Python that moves a directory `sub` to the end of a path that is longer than the system accepts, and back.
const MOVE_DEEP: &str = "
import os, sys
here = os.open('.', os.O_RDONLY)
for _ in range(60):
    os.makedirs('x' * 100, exist_ok=True)
    os.chdir('x' * 100)
there = os.open('.', os.O_RDONLY)
try:
    if sys.argv[1] == 'away': os.rename('sub', 'sub', src_dir_fd=here, dst_dir_fd=there)
    else:
        open('sub/.git/config', 'a').write('evil')
        os.mkdir('sub/.vscode')
        open('sub/.vscode/tasks.json', 'w').write('evil')
        os.rename('sub', 'sub', src_dir_fd=there, dst_dir_fd=here)
except OSError: pass
";

#[test]
fn a_repository_that_a_command_moved_out_of_reach_stays_protected_in_the_next_session() {
    if testkit::lacks("python3") {
        return;
    }
    for tier in TIERS {
        let workspace = Workspace::new("");
        user_git(&workspace, &["init", "-q", "sub"]);
        fs::write(workspace.at("deep.py"), MOVE_DEEP).unwrap();
        workspace.data(tier, "python3 deep.py away");
        workspace.data(tier, "true");
        let data = workspace.data(tier, "python3 deep.py back");
        assert!(!has_plant(&workspace, "sub/.git"), "{tier:?} {data}");
        assert!(!workspace.at("sub/.vscode").exists(), "{tier:?} {data}");
        fs::remove_file(workspace.at("deep.py")).unwrap();
    }
}

#[test]
fn a_repository_that_a_command_moved_to_its_caches_is_moved_back() {
    // In the first tier, the caches are another mount: `mv` copies it.
    let workspace = Workspace::new("");
    user_git(&workspace, &["init", "-q", "sub"]);
    let data = workspace.data(SECOND, "mkdir -p $NPM_CONFIG_CACHE; mv sub $NPM_CONFIG_CACHE/sub");
    assert!(workspace.at("sub/.git/HEAD").exists(), "{data}");
}

#[test]
fn another_repository_in_the_place_of_a_moved_one_has_no_plant() {
    if testkit::lacks("python3") {
        return;
    }
    // Exchanges both at once: there is no time to move it back before.
    let attack = "cp -r sub/.git other; echo evil >> other/config; \
                  python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'sub/.git', -100, b'other', 2)\"";
    for tier in BOTH {
        let workspace = repositories();
        let report = run(&session(&workspace, tier), attack);
        assert!(!has_plant(&workspace, "sub/.git"), "{tier:?} {report:?}");
        // The check restored this path before the search for the moved directory.
        assert!(!has_plant(&workspace, "sub/.git.eyelet-conflict"), "{tier:?} {report:?}");
        let is_moved_away = workspace.at("sub/.git.eyelet-conflict").exists();
        assert_eq!(is_moved_away, tier == Tier::Landlock, "{report:?}");
    }
}

#[test]
fn a_protected_folder_with_very_many_entries_is_moved_away_as_a_whole() {
    if testkit::lacks("python3") {
        return;
    }
    // Also if they could all be recorded.
    for count in [10_001, 200] {
        let workspace = Workspace::new(".vscode/tasks.json = kept");
        let attack = format!(
            "mkdir big; cd big; seq {count} | xargs touch; echo evil > tasks.json; cd ..; stat -c %i big; \
             python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'big', -100, b'.vscode', 2)\""
        );
        let data = workspace.data(SECOND, &attack);
        let kept = fs::read_to_string(workspace.at(".vscode/tasks.json")).unwrap();
        assert_eq!(kept, "kept", "{count}: {data}");
        assert!(!workspace.at(".vscode/1").exists(), "{count}: {data}");
        // Not file by file, which would take long.
        let moved = fs::metadata(workspace.at(".vscode.eyelet-conflict")).unwrap().ino();
        assert_eq!(data["stdout"], format!("{moved}\n"), "{count}: {data}");
    }
}

#[test]
fn the_top_of_a_work_tree_does_not_become_a_bare_repository() {
    for tier in BOTH {
        let workspace = repositories();
        let plant = "mv .git/HEAD .git/H; echo ref: refs/heads/main > HEAD; mkdir objects refs; \
                     printf '[core]\n\tworktree = .\n\tfsmonitor = evil\n' > config";
        run(&session(&workspace, tier), plant);
        assert!(!workspace.at("HEAD").exists(), "{tier:?}");
    }
}
