//! Attempts to leave the roots, and other hostile paths.

use std::ffi::OsStr;
use std::path::Path;

use eyelet::{DenyList, Root, TurnContext};
use serde_json::json;
use testkit::{Choices, TempTree, each_seed, random_tree};

use crate::ask::{content, turn};

fn confined(root: &Path) -> TurnContext {
    turn(root).with_root(Root::open(root).unwrap())
}

/// The result of each tool that takes a path, for this path.
fn all_tools(turn: &TurnContext, path: &str) -> Vec<String> {
    vec![
        content(turn, "read", &json!({ "path": path })),
        content(turn, "list_dir", &json!({ "dir_path": turn.cwd().join(path) })),
        content(turn, "grep_files", &json!({"pattern": "CANARY", "path": path})),
    ]
}

#[test]
fn siblings_whose_names_begin_like_the_root_are_outside() {
    let tree = TempTree::new("ws/f = inside");
    for sibling in ["ws ", "ws\"", "ws\n", "ws2", "WS"] {
        tree.file(format!("{sibling}/f"), "CANARY");
    }
    let turn = confined(&tree.path().join("ws"));
    for sibling in ["ws ", "ws\"", "ws\n", "ws2", "WS"] {
        for answer in all_tools(&turn, &tree.at(&format!("{sibling}/f"))) {
            assert!(answer.starts_with("error outside_root: "), "{sibling:?}: {answer}");
        }
    }
}

#[test]
fn paths_that_programs_expand_are_plain_names_inside_the_root() {
    let tree = TempTree::new("");
    let turn = confined(tree.path());
    for path in ["~", "~root/x", "$HOME/x", "%2e%2e/x", "..\\x", "-", "file:x", "{a,b}", "`id`"] {
        let answer = content(&turn, "read", &json!({ "path": path }));
        assert!(answer.starts_with("error not_found: "), "{path}: {answer}");
    }
}

#[test]
fn parents_of_a_root_are_outside_and_its_names_inside() {
    let tree = TempTree::new("f = x");
    let turn = confined(tree.path());
    for path in ["/", "//etc", "/..", "/etc/..", "/../..", "..", "../.."] {
        let answer = content(&turn, "list_dir", &json!({ "dir_path": tree.path().join(path) }));
        assert!(answer.starts_with("error outside_root: "), "{path}: {answer}");
    }
    for path in ["", "/", "/.", "//", "/./."] {
        let answer =
            content(&turn, "list_dir", &json!({ "dir_path": format!("{}{path}", tree.str()) }));
        assert!(answer.ends_with("\nf"), "{path}: {answer}");
    }
}

#[test]
fn a_symlink_chain_counts_as_its_final_target() {
    let tree = TempTree::new("in = inside");
    let beside = tree.beside();
    std::fs::write(beside.join("out"), "CANARY").unwrap();
    std::os::unix::fs::symlink(tree.path().join("in"), beside.join("back")).unwrap();
    for step in 0..8 {
        tree.link(format!("leaving{step}"), format!("leaving{}", step + 1));
        tree.link(format!("staying{step}"), format!("staying{}", step + 1));
    }
    tree.link("leaving8", beside.join("out"));
    tree.link("staying8", "in");
    tree.link("around", beside.join("back"));
    let turn = confined(tree.path());
    assert_eq!(content(&turn, "read", &json!({"path": "staying0"})), "[lines 1-1 of 1]\ninside");
    for path in ["leaving0", "around"] {
        let answer = content(&turn, "read", &json!({ "path": path }));
        assert!(answer.starts_with("error outside_root: "), "{path}: {answer}");
    }
}

#[test]
fn more_symlinks_than_the_kernel_follows_are_a_loop() {
    let tree = TempTree::new("in = inside");
    for step in 0..41 {
        // Absolute symlinks, because the component walk counts them.
        tree.link(format!("l{step}"), tree.path().join(format!("l{}", step + 1)));
    }
    tree.link("l41", "in");
    let turn = confined(tree.path());
    assert!(content(&turn, "read", &json!({"path": "l0"})).contains("symbolic links"));
    assert_eq!(content(&turn, "read", &json!({"path": "l5"})), "[lines 1-1 of 1]\ninside");
}

#[test]
fn magic_links_of_proc_do_not_lead_out() {
    let turn = confined(Path::new("/proc/self"));
    for path in ["root/etc/passwd", "cwd/Cargo.toml", "fd/0", "exe", "../1/environ", "task/../../1"]
    {
        for answer in all_tools(&turn, path) {
            assert!(answer.starts_with("error "), "{path}: {answer}");
            assert!(!answer.contains("root:x:"), "{path}: {answer}");
        }
    }
}

#[test]
fn a_mount_inside_the_root_is_inside() {
    // In a new mount namespace, so nothing stays mounted.
    let own = if testkit::is_root() { "-m" } else { "-rm" };
    let before = format!("exec unshare {own} \"$0\" --exact \"$1\" --nocapture");
    let test = "hostile_paths::a_mount_inside_the_root_is_inside";
    testkit::in_own_process_after(&before, test, || {
        let tree = TempTree::new("mounted/");
        let beside = tree.beside();
        std::fs::write(beside.join("f"), "bound").unwrap();
        let mounted = tree.path().join("mounted");
        let status = std::process::Command::new("mount")
            .args([OsStr::new("--bind"), beside.as_os_str(), mounted.as_os_str()])
            .status();
        assert!(status.unwrap().success(), "mount --bind must work in a mount namespace");
        let turn = confined(tree.path());
        assert_eq!(
            content(&turn, "read", &json!({"path": "mounted/f"})),
            "[lines 1-1 of 1]\nbound"
        );
        let listing = content(&turn, "list_dir", &json!({ "dir_path": tree.str() }));
        assert!(listing.ends_with("mounted/\n  f"), "{listing}");
        let found = content(&turn, "grep_files", &json!({"pattern": "bound"}));
        assert!(found.ends_with("/mounted/f"), "{found}");
        let left = std::process::Command::new("umount").arg(&mounted).status();
        assert!(left.unwrap().success());
    });
}

#[test]
fn a_recreated_root_is_a_different_root() {
    let tree = TempTree::new("root/f = first");
    let root = tree.path().join("root");
    let turn = confined(&root);
    std::fs::remove_dir_all(&root).unwrap();
    assert!(content(&turn, "read", &json!({"path": "f"})).starts_with("error not_found"));
    tree.file("root/f", "second");
    assert!(content(&turn, "read", &json!({"path": "f"})).starts_with("error not_found"));
    assert_eq!(
        content(&confined(&root), "read", &json!({"path": "f"})),
        "[lines 1-1 of 1]\nsecond"
    );
}

/// Random paths into a tree, also through symlinks, made from names that exist.
fn random_path(tree: &TempTree, random: &mut fastrand::Rng) -> String {
    let mut path = tree.path().to_owned();
    for _ in 0..random.usize(0..5) {
        let entries = std::fs::read_dir(&path);
        let names: Vec<_> = entries
            .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect())
            .unwrap_or_default();
        let step = match random.u8(0..6) {
            0 => "..".into(),
            _ if names.is_empty() => ".".into(),
            _ => names[random.usize(0..names.len())].clone(),
        };
        path.push(step);
    }
    path.to_string_lossy().into_owned()
}

#[test]
fn random_symlink_trees_never_lead_outside() {
    each_seed(150, |random| {
        let tree = random_tree(&mut Choices::random(random.u64(..)));
        let beside = tree.beside();
        std::fs::create_dir_all(beside.join("CANARY-dir/deeper")).unwrap();
        for file in ["CANARY", "CANARY-dir/CANARY", "CANARY-dir/deeper/f"] {
            std::fs::write(beside.join(file), "CANARY\n").unwrap();
        }
        for number in 0..random.usize(1..6) {
            let targets = [
                beside.clone(),
                beside.join("CANARY"),
                beside.join("CANARY-dir/deeper/.."),
                "../beside".into(),
                "../../beside/CANARY-dir".into(),
                "/".into(),
                "/proc/self/cwd".into(),
            ];
            let parent = [".", "a", "src", "b"][random.usize(0..4)];
            // Through a symlink, the new link would be created outside.
            let is_dir = std::fs::symlink_metadata(tree.path().join(parent));
            if is_dir.is_ok_and(|metadata| metadata.is_dir()) {
                let target = &targets[random.usize(0..targets.len())];
                tree.link(format!("{parent}/out{number}"), target);
            }
        }
        let turn = confined(tree.path());
        for _ in 0..12 {
            let path = random_path(&tree, random);
            for answer in all_tools(&turn, &path) {
                // An error contains the escaped path and the system error.
                let is_error = answer.starts_with("error ") && answer.lines().count() == 1;
                assert!(
                    is_error || !answer.replace(&path, "").contains("CANARY"),
                    "{path}: {answer}"
                );
            }
        }
        let listing = json!({"dir_path": tree.str(), "depth": 99, "limit": 9999});
        assert!(!content(&turn, "list_dir", &listing).contains("CANARY"));
        let search = json!({"pattern": "CANARY", "include": "**"});
        assert_eq!(content(&turn, "grep_files", &search), "No matches found.");
    });
}

#[test]
fn a_deep_path_can_be_followed_down_and_up() {
    let tree = TempTree::new("");
    let (down, up) = ("d/".repeat(100), "../".repeat(100));
    tree.file(format!("{down}f"), "deep");
    tree.file("d/d/g", "above");
    let deny_list = DenyList::empty().with_glob("*.pem", &[tree.path()]).unwrap();
    for turn in [confined(tree.path()), confined(tree.path()).with_deny_list(deny_list)] {
        let read = |path: String| content(&turn, "read", &json!({ "path": path }));
        assert_eq!(read(format!("{down}f")), "[lines 1-1 of 1]\ndeep");
        assert_eq!(read(format!("{down}{up}d/d/g")), "[lines 1-1 of 1]\nabove");
        let above = "../".repeat(98);
        assert_eq!(read(format!("{down}{above}g")), "[lines 1-1 of 1]\nabove");
        let endless = read(format!("{}f", format!("{down}{up}").repeat(100)));
        assert!(endless.ends_with("File name too long (os error 36)"), "{endless}");
    }
}
