//! Random trees that depend only on a seed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::choices::Choices;
use crate::tree::TempTree;

/// Runs `body` for `count` seeds and prints a seed that fails. `EYELET_TEST_SEED` runs only that seed.
pub fn each_seed(count: u64, body: impl FnMut(&mut fastrand::Rng)) {
    each(0..count, body);
}

/// The same for as many seeds as `time` allows.
pub fn each_seed_for(time: Duration, body: impl FnMut(&mut fastrand::Rng)) {
    let end = Instant::now() + time;
    each((0..).take_while(|_| Instant::now() < end), body);
}

fn each(seeds: impl Iterator<Item = u64>, mut body: impl FnMut(&mut fastrand::Rng)) {
    struct PrintOnPanic(u64);
    impl Drop for PrintOnPanic {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("failed with EYELET_TEST_SEED={}", self.0);
            }
        }
    }
    let mut run = |seed| {
        let print_on_panic = PrintOnPanic(seed);
        body(&mut fastrand::Rng::with_seed(seed));
        std::mem::forget(print_on_panic);
    };
    match std::env::var("EYELET_TEST_SEED") {
        Ok(seed) => run(seed.parse().expect("a number")),
        Err(_) => seeds.for_each(run),
    }
}

/// A tree with unusual names, symlinks of all kinds, and empty directories.
pub fn random_tree(random: &mut Choices) -> TempTree {
    const NAMES: [&[u8]; 22] = [
        b"a",
        b"b",
        b"a-",
        b"a.txt",
        b"a b",
        b"-x",
        b"Z",
        b".hidden",
        b"src",
        b"src-old",
        b"src.txt",
        b"back\\slash",
        b"new\nline",
        b"tab\t",
        b"bad\xff",
        b"bad\xfe",
        b"esc\x1b[0m",
        "\u{e9}".as_bytes(),
        "e\u{301}".as_bytes(),
        "\u{1F600}".as_bytes(),
        "\u{202e}x".as_bytes(),
        "\u{ffff}".as_bytes(),
    ];
    let tree = TempTree::new("");
    let mut directories = vec![PathBuf::new()];
    for _ in 0..random.usize(0..40) {
        let parent = directories[random.usize(0..directories.len())].clone();
        let mut name = NAMES[random.usize(0..NAMES.len())].to_vec();
        if random.u8(..) < 20 {
            name = name.repeat(60);
            name.truncate(255);
        }
        let path = parent.join(OsStr::from_bytes(&name));
        if std::fs::symlink_metadata(tree.path().join(&path)).is_ok() {
            continue;
        }
        match random.u8(0..10) {
            0..4 => {
                tree.dir(&path);
                directories.push(path);
            }
            4 => {
                let target = directories[random.usize(0..directories.len())].clone();
                tree.link(&path, tree.path().join(target));
            }
            5 => {
                tree.link(&path, [".", "..", "nowhere", "a", "/etc"][random.usize(0..5)]);
            }
            _ => {
                tree.file(&path, [&b"text\n"[..], b"", b"\0\xff"][random.usize(0..3)]);
            }
        }
    }
    tree
}
