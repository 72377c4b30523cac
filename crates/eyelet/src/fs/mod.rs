//! Directories and regular files, opened by handle and read in bounded memory.

#![expect(clippy::disallowed_methods, reason = "reads directories and files")]

pub(crate) mod decode_lines;
pub(crate) mod directory;
pub(crate) mod guess_encoding;
pub(crate) mod read_line_page;
pub(crate) mod regular_file;
pub(crate) mod similar_file;
pub(crate) mod tree_descent;
