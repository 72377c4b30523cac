//! The files that the calls work on.

use std::fmt::Write as _;

use testkit::{TempTree, png};

/// The lines of the large file.
pub(crate) const LINES: usize = 20_000;
/// The number of source files.
pub(crate) const SOURCES: usize = 40;
/// A tree with sources, a large file, an image, other encodings and a repository.
pub(crate) fn tree() -> TempTree {
    let tree = TempTree::new(
        "notes.txt = one line of notes\\n
         .gitignore = ignored/\\n
         ignored/hidden.rs = needle\\n
         .git/HEAD = ref: refs/heads/main\\n
         .git/config = [core]\\n\\tbare = false\\n
         .git/hooks/
         .git/objects/
         .git/refs/heads/
         data.bin = \\0\\0\\0\\0\\0\\0\\0\\0",
    );
    for number in 0..SOURCES {
        let content = format!("fn item_{number}() {{}}\n// needle {number}\n");
        tree.file(format!("src/part_{}/item_{number}.rs", number % 4), content);
    }
    let lines = (1..=LINES).fold(String::new(), |mut lines, number| {
        let _ = writeln!(lines, "line {number} of a large file");
        lines
    });
    tree.file("large.txt", lines);
    tree.file("image.png", png(320, 200));
    let utf16: Vec<u8> = "\u{feff}wide text\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    tree.file("utf16.txt", utf16);
    tree
}
