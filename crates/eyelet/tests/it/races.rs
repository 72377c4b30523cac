//! Another process replaces directories by symlinks while tools run.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use eyelet::tools::{GrepFiles, GrepFilesArgs, ListDir, ListDirArgs, Read, ReadArgs, ReadReport};
use eyelet::{ErrorCode, Root, Tool as _, TurnContext};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use testkit::TempTree;

use crate::ask::turn;

const ALONE: &str = "EYELET_TEST_RACE";

/// Runs `body` in a new process, with the path of the tree. At the same time this process exchanges
/// `flip`, a directory, with `link`, a symlink to a similar directory outside the tree.
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
    while child.try_wait().unwrap().is_none() {
        for _ in 0..500 {
            renameat_with(CWD, &flip, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        }
    }
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

/// Counts what one side of the race saw of the other. The race continues until both sides have won
/// often enough; how many tries that takes depends on the scheduler.
struct Seen {
    tries: u32,
    least: u32,
    last: bool,
    turns: u32,
    least_turns: u32,
}

impl Seen {
    /// The minimum number of tries, and of results that differ from the one before. If swaps are
    /// slow, up to a hundred times as many tries.
    fn at_least(least: u32, least_turns: u32) -> Seen {
        Seen { tries: 0, least, last: true, turns: 0, least_turns }
    }

    fn note(&mut self, inside: bool) {
        self.turns += u32::from(inside != self.last);
        self.last = inside;
    }

    /// Whether another try is needed.
    fn more(&mut self) -> bool {
        self.tries += 1;
        let noticed = self.turns >= self.least_turns;
        assert!(noticed || self.tries / 100 < self.least, "only {} turns noticed", self.turns);
        self.tries <= self.least || !noticed
    }
}

fn confined(tree: &Path) -> TurnContext {
    turn(tree).with_root(Root::open(tree).unwrap())
}

#[test]
fn a_million_reads_beside_a_swapped_directory_never_leave_the_root() {
    race("races::a_million_reads_beside_a_swapped_directory_never_leave_the_root", |tree| {
        let turn = confined(tree);
        let mut seen = Seen::at_least(1_000_000, 1_000);
        while seen.more() {
            let path = if seen.tries % 2 == 0 { "flip/f" } else { "flip/sub/g" };
            match Read.run(ReadArgs::new(path), &turn) {
                Ok(ReadReport::Text(page)) => {
                    assert_eq!(page.content, "inside");
                    seen.note(true);
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => {
                    assert!(
                        matches!(error.code, ErrorCode::OutsideRoot | ErrorCode::IoError),
                        "{error:?}"
                    );
                    seen.note(false);
                }
            }
        }
    });
}

#[test]
fn thousands_of_walks_beside_a_swapped_directory_never_leave_the_root() {
    race("races::thousands_of_walks_beside_a_swapped_directory_never_leave_the_root", |tree| {
        let turn = confined(tree);
        let top = tree.to_str().unwrap();
        let mut seen = Seen::at_least(2_000, 100);
        while seen.more() {
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
                        seen.note(true);
                    }
                    Err(_) => seen.note(false),
                }
            }
        }
    });
}

#[test]
fn the_race_catches_a_check_followed_by_an_open() {
    race("races::the_race_catches_a_check_followed_by_an_open", |tree| {
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
