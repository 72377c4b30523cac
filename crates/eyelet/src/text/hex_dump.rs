//! Shows bytes as hexadecimal numbers and ASCII.

use std::fmt::Write as _;

/// How many bytes a line shows.
const LINE_BYTES: usize = 16;

/// One line for each 16 bytes: the offset, the bytes, and their ASCII characters.
pub(crate) fn hex_dump(bytes: &[u8]) -> String {
    let mut dump = String::new();
    for (index, line) in bytes.chunks(LINE_BYTES).enumerate() {
        let _ = write!(dump, "{:08x} ", index * LINE_BYTES);
        for place in 0..LINE_BYTES {
            let gap = if place == LINE_BYTES / 2 { " " } else { "" };
            // Writing to a string cannot fail.
            let _ = match line.get(place) {
                Some(byte) => write!(dump, "{gap} {byte:02x}"),
                None => write!(dump, "{gap}   "),
            };
        }
        let shown = line.iter().map(|byte| match byte {
            b' '..=b'~' => char::from(*byte),
            _ => '.',
        });
        dump.push_str("  |");
        dump.extend(shown);
        dump.push_str("|\n");
    }
    dump
}

#[cfg(test)]
#[path = "hex_dump_tests.rs"]
mod tests;
