//! Helpers for the tests of eyelet: trees, random repositories, naive models and clients.

mod choices;
pub mod cli;
pub mod mcp_client;
mod memory;
mod naive;
mod png;
mod programs;
mod random;
mod random_repo;
mod random_words;
pub mod registry;
mod tree;
pub mod workspace;

pub use choices::Choices;
pub use memory::{base64, in_own_process, in_own_process_after, peak_memory};
pub use naive::{NaivePage, naive_list, naive_read};
pub use png::{png, png_chunk};
pub use programs::{example, eyelet_bin, is_root, lacks, lacks_root, pytest, rg, skip};
pub use random::{each_seed, each_seed_for, random_tree};
pub use random_repo::{RandomQuery, RandomRepo};
pub use random_words::{INCLUDES, PATTERNS};
pub use tree::TempTree;
