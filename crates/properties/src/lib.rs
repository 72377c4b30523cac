//! Properties that hold for any input. Each module is one target: the tests run it for about a second, and `fuzz/`
//! runs it in libFuzzer for as long as you like.
//!
//! A target makes its input from [`testkit::Choices`], so the bytes of a fuzzer become a directory tree, arguments or
//! a stream of messages that are mostly valid. A target panics if its property does not hold.

pub mod arguments;
pub mod client_files;
pub mod encodings;
pub mod frames;
mod head_tail;
pub mod ignore_files;
pub mod images;
mod inputs;
pub mod pages;
pub mod patterns;
pub mod saved_output;
pub mod sessions;
mod target;
pub mod terminal;
pub mod trees;

pub use inputs::check_for_a_second;
pub use target::{Check, Target};
