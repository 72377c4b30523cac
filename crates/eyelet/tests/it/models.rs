//! The tools against the obvious way to do the same.

use serde_json::json;
use testkit::{NaivePage, each_seed, naive_list, naive_read, random_tree};

use crate::ask::{content, data, turn};

#[test]
fn list_dir_is_the_collect_everything_listing_on_random_trees() {
    each_seed(400, |random| {
        let tree = random_tree(random);
        for _ in 0..8 {
            let offset = random.usize(1..12);
            let limit = random.usize(1..12);
            let depth = random.usize(1..6);
            let arguments =
                json!({"dir_path": tree.str(), "offset": offset, "limit": limit, "depth": depth});
            let expected = naive_list(tree.path(), offset, limit, depth);
            let answer = content(&turn(tree.path()), "list_dir", &arguments);
            assert_eq!(answer.trim_start_matches("error invalid_input: "), expected, "{arguments}");
        }
    });
}

#[test]
fn read_is_the_page_of_the_whole_file_on_random_files() {
    const PARTS: [&[u8]; 14] = [
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b"word ",
        b"\xff",
        b"\xe2\x82",
        b"\0",
        "\u{e9}".as_bytes(),
        "\u{20ac}".as_bytes(),
        "\u{1F600}".as_bytes(),
        b"\xf0\x9f",
        b"\x80",
        b"\xed\xa0\x80",
    ];
    each_seed(1500, |random| {
        let tree = testkit::TempTree::new("");
        let mut file = Vec::new();
        for _ in 0..random.usize(0..60) {
            let part = PARTS[random.usize(0..PARTS.len())];
            // Some runs reach over the window of a line and over its byte limit.
            let times = if random.u8(..) < 20 { random.usize(400..2100) } else { 1 };
            file.extend(part.repeat(times));
        }
        tree.file("f", &file);
        for _ in 0..4 {
            let (offset, limit) = (random.usize(1..20), random.usize(1..2200));
            let column = if random.bool() { 1 } else { random.usize(1..1200) };
            let page = data(
                &turn(tree.path()),
                "read",
                &json!({"path": "f", "offset": offset, "limit": limit, "column": column}),
            );
            let found = NaivePage {
                content: page["content"].as_str().unwrap().to_owned(),
                lines_shown: page["lines_shown"].as_u64().unwrap(),
                total_lines: page["total_lines"].as_u64().unwrap(),
                truncated: page["truncated"].as_bool().unwrap(),
            };
            assert_eq!(found, naive_read(&file, offset, limit.min(2000), column));
        }
    });
}
