//! Directories that are swapped for links while tools work. Another process does the swapping.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use eyelet::tools::{GrepFiles, GrepFilesArgs, ListDir, ListDirArgs, Read, ReadArgs, ReadReport};
use eyelet::{ErrorCode, Root, Tool as _, TurnContext};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use testkit::TempTree;

use crate::ask::turn;

const ALONE: &str = "EYELET_TEST_RACE";

/// Runs `body` in a process of its own on the tree at the path that it gets. Meanwhile this process
/// exchanges `flip`, a directory, and `link`, a link out of the tree to one that looks the same.
fn race(test: &str, body: impl FnOnce(&Path)) {
    if let Some(tree) = std::env::var_os(ALONE) {
        return body(&PathBuf::from(tree));
    }
    let tree = TempTree::new("flip/f = inside\nflip/sub/g = inside\nstill/f = inside");
    let beside = tree.beside();
    std::fs::create_dir(beside.join("sub")).unwrap();
    for file in ["f", "sub/g", "CANARY"] {
        std::fs::write(beside.join(file), "CANARY").unwrap();
    }
    tree.link("link", &beside);
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, tree.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (flip, link) = (tree.path().join("flip"), tree.path().join("link"));
    let mut swaps = 0_u64;
    while child.try_wait().unwrap().is_none() {
        for _ in 0..500 {
            renameat_with(CWD, &flip, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            swaps += 1;
        }
    }
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    assert!(swaps > 1_000, "only {swaps} swaps");
}

fn confined(tree: &Path) -> TurnContext {
    turn(tree).with_root(Root::open(tree).unwrap())
}

#[test]
fn a_million_reads_beside_a_swapped_directory_never_leave_the_root() {
    race("races::a_million_reads_beside_a_swapped_directory_never_leave_the_root", |tree| {
        let turn = confined(tree);
        let (mut inside, mut refused) = (0, 0);
        for round in 0..1_000_000 {
            let path = if round % 2 == 0 { "flip/f" } else { "flip/sub/g" };
            match Read.run(ReadArgs::new(path), &turn) {
                Ok(ReadReport::Text(page)) => {
                    assert_eq!(page.content, "inside");
                    inside += 1;
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => {
                    assert!(
                        matches!(error.code, ErrorCode::OutsideRoot | ErrorCode::IoError),
                        "{error:?}"
                    );
                    refused += 1;
                }
            }
        }
        // Both sides of the swap were seen.
        assert!(inside > 1000 && refused > 1000, "{inside} inside, {refused} refused");
    });
}

#[test]
fn thousands_of_walks_beside_a_swapped_directory_never_leave_the_root() {
    race("races::thousands_of_walks_beside_a_swapped_directory_never_leave_the_root", |tree| {
        let turn = confined(tree);
        let top = tree.to_str().unwrap();
        let (mut entered, mut passed) = (0, 0);
        for _ in 0..1_500 {
            let args = ListDirArgs { depth: Some(9), ..ListDirArgs::new(top) };
            let listing = ListDir.run(args, &turn).unwrap();
            assert!(listing.entries.iter().all(|entry| entry.name != "CANARY"), "{listing:?}");
            let found = GrepFiles.run(GrepFilesArgs::new("CANARY|inside"), &turn).unwrap();
            assert!(found.files.iter().all(|file| !file.ends_with("CANARY")), "{found:?}");
            let found = GrepFiles.run(GrepFilesArgs::new("CANARY"), &turn).unwrap();
            assert!(found.files.is_empty(), "{found:?}");
            for path in ["flip", "flip/sub"] {
                let args = ListDirArgs::new(format!("{top}/{path}"));
                match ListDir.run(args, &turn) {
                    Ok(listing) => {
                        assert!(listing.entries.iter().all(|entry| entry.name != "CANARY"));
                        entered += 1;
                    }
                    Err(_) => passed += 1,
                }
            }
        }
        assert!(entered > 100 && passed > 100, "{entered} entered, {passed} refused");
    });
}

#[test]
fn the_same_race_catches_who_checks_a_path_and_opens_it_later() {
    race("races::the_same_race_catches_who_checks_a_path_and_opens_it_later", |tree| {
        // How many there are in a given number of tries is the scheduler's affair.
        let mut leaks = 0;
        for _ in 0..5_000_000 {
            if leaks == 100 {
                break;
            }
            let path = tree.join("flip/f");
            let Ok(real) = path.canonicalize() else { continue };
            if real.starts_with(tree) && std::fs::read(&path).is_ok_and(|text| text == b"CANARY") {
                leaks += 1;
            }
        }
        assert_eq!(leaks, 100, "this race proves nothing");
    });
}
