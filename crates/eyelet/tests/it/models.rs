//! Compares `read` of large files with a naive implementation; the crate `properties` compares small ones.

use serde_json::json;
use testkit::{NaivePage, each_seed, naive_read};

use crate::ask::{data, turn};

fn found(page: &serde_json::Value) -> NaivePage {
    NaivePage {
        content: page["content"].as_str().unwrap().to_owned(),
        lines_shown: page["lines_shown"].as_u64().unwrap(),
        total_lines: page["total_lines"].as_u64().unwrap(),
        truncated: page["truncated"].as_bool().unwrap(),
    }
}

/// A large sparse file, whose lines are counted in blocks. Some lines span holes.
fn large_file(random: &mut fastrand::Rng) -> (testkit::TempTree, Vec<u8>) {
    use std::os::unix::fs::FileExt as _;
    let tree = testkit::TempTree::new("");
    let path = tree.file("f", "");
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    let size = random.u64(9 << 20..30 << 20);
    file.set_len(size).unwrap();
    for _ in 0..random.usize(0..5) {
        let start = random.u64(0..size);
        let ending = ["\n", "\r\n", ""][random.usize(0..3)];
        let line = ["x", "é", "\u{1F600}"][random.usize(0..3)].repeat(random.usize(0..90)) + ending;
        let length = random.u64(1..8 << 20).min(size - start);
        let mut text = line.into_bytes();
        text.push(b"\nz"[random.usize(0..2)]);
        let text: Vec<u8> = text.iter().copied().cycle().take(length as usize).collect();
        file.write_all_at(&text, start).unwrap();
    }
    let whole = std::fs::read(&path).unwrap();
    (tree, whole)
}

#[test]
fn pages_of_a_sparse_file_equal_the_naive_result() {
    each_seed(8, |random| {
        let (tree, whole) = large_file(random);
        let lines = naive_read(&whole, 1, 1, 1).total_lines as usize;
        for _ in 0..6 {
            let offset = random.usize(1..lines + 3);
            let limit = random.usize(1..20);
            let column = [1, 1, 2, 77, 1_000_001, 9_000_000][random.usize(0..6)];
            let page = data(
                &turn(tree.path()),
                "read",
                &json!({"path": "f", "offset": offset, "limit": limit, "column": column}),
            );
            assert_eq!(found(&page), naive_read(&whole, offset, limit, column), "offset {offset}");
        }
    });
}
