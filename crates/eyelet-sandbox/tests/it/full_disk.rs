//! Commands that fill the disk so that protected paths cannot be restored: the plant goes first.

use std::fs;

use testkit::workspace::{SECOND, TIERS, Workspace};

use crate::restore::{among_mounts, reported};

/// Mounts a small file system, and copies what the command left.
fn script(options: &str) -> String {
    format!(
        "mount -t tmpfs -o {options},mode=755 none w; cp -r kept/. w; call; mkdir left; \
         cp -a w/.mcp.json w/.claude left 2>/dev/null || true"
    )
}

const FILES: &str = "w/\nkept/.mcp.json = kept\nkept/.claude/settings.json = kept";
const FILL: &str = "head -c 2000000 /dev/zero > full; ";
/// Uses up the inodes, except for one.
const FILL_INODES: &str = "i=0; while : > f$i; do i=$((i+1)); done 2>/dev/null; rm f0; ";

#[test]
fn a_plant_on_a_full_disk_is_deleted_and_the_file_restored() {
    for (options, fill) in [("size=1m", FILL), ("size=1m,nr_inodes=64", FILL_INODES)] {
        let workspace = Workspace::new(FILES);
        let command = format!("{fill} echo evil > .mcp.json; : > f0; true");
        let data = among_mounts(&workspace, SECOND, &script(options), &command);
        let left = fs::read_to_string(workspace.at("left/.mcp.json"));
        assert_eq!(left.ok().as_deref(), Some("kept"), "{data}");
        assert!(!data.to_string().contains("could not be restored"), "{data}");
    }
}

#[test]
fn a_plant_without_space_for_a_conflict_copy_is_deleted() {
    for tier in TIERS {
        let workspace = Workspace::new("w/\nkept/.claude/settings.json = kept");
        let options = "size=1m,nr_inodes=64";
        let command =
            format!("{FILL_INODES} echo evil > .claude/more; echo evil > .mcp.json; true");
        let data = among_mounts(&workspace, tier, &script(options), &command);
        let left = fs::read_to_string(workspace.at("left/.claude/settings.json"));
        assert_eq!(left.ok().as_deref(), Some("kept"), "{tier:?} {data}");
        for plant in ["left/.claude/more", "left/.mcp.json"] {
            assert!(!workspace.at(plant).exists(), "{tier:?} {plant}: {data}");
        }
        if tier == SECOND {
            let expected = "restored; the disk is full, so the changed version was deleted";
            assert!(reported(&data, ".claude/more").ends_with(expected), "{data}");
        }
    }
}

#[test]
fn what_a_full_disk_cannot_hold_is_restored_by_the_next_command() {
    let workspace = Workspace::new(FILES);
    let script = format!(
        "{}; rm w/full; COMMAND='{{\"command\":\"true\"}}'; call > again; cp -a w/.mcp.json later",
        script("size=1m")
    );
    // Deleting a symlink frees no space.
    let command = format!("{FILL} rm .mcp.json; ln -s evil .mcp.json; cat /dev/zero >> full; true");
    let data = among_mounts(&workspace, SECOND, &script, &command);
    assert!(!workspace.at("left/.mcp.json").is_symlink(), "{data}");
    let again = fs::read_to_string(workspace.at("again")).unwrap();
    let later = fs::read_to_string(workspace.at("later"));
    assert_eq!(later.ok().as_deref(), Some("kept"), "{data} {again}");
}
