use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use testkit::TempTree;

use crate::context::TurnContext;
use crate::progress::Progress;
use crate::sandbox_policy::SandboxPolicy;
use crate::text::line_page::{PagePart, PageRequest};

use super::{PARALLEL_FROM_BYTES, read_page};
use crate::fs::regular_file::RegularFile;

/// The line count of a large file that is truncated to `left` bytes after it was opened.
fn total_of_cut(left: u64) -> u64 {
    let tree = TempTree::new("");
    let file = tree.file("large", "line\n".repeat(PARALLEL_FROM_BYTES as usize / 4));
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Off).unwrap();
    let path = turn.resolve_path("path", "large").unwrap();
    let Ok(open) = RegularFile::open(&path) else { panic!("it is a file") };
    File::options().write(true).open(file).and_then(|file| file.set_len(left)).unwrap();
    let page = PageRequest {
        part: PagePart::FromOffset,
        offset: 1,
        limit: 2,
        column: 1,
        width: 10,
        bytes: usize::MAX,
        is_numbered: false,
    };
    let scanned = read_page(&open, page, &turn.stop_check(Duration::MAX), &Progress::default());
    let Ok(scanned) = scanned else { panic!("it can be read") };
    assert!(scanned.exact);
    assert_eq!(scanned.lines.lines_shown, scanned.lines.total_lines.min(2));
    scanned.lines.total_lines
}

#[test]
fn a_file_has_grown_if_bytes_were_appended() {
    let tree = TempTree::new("");
    for (start, skipped) in [("\u{feff}line\n", 3), ("", 0)] {
        let file = tree.file("f", start);
        let turn = TurnContext::new(tree.path(), SandboxPolicy::Off).unwrap();
        let path = turn.resolve_path("path", "f").unwrap();
        let Ok(open) = RegularFile::open(&path) else { panic!("it is a file") };
        let open = open.without_start(skipped);
        assert!(!open.has_grown());
        File::options().append(true).open(file).unwrap().write_all(b"more").unwrap();
        assert!(open.has_grown());
    }
}

#[test]
fn a_truncated_file_has_the_remaining_lines() {
    assert_eq!(total_of_cut(0), 0);
    assert_eq!(total_of_cut(5), 1);
    assert_eq!(total_of_cut(50), 10);
}
