//! Trees, naive models and properties that eyelet's tests share.

mod random_repo;
mod random_words;
mod tools;
mod tree;

pub use random_repo::{RandomQuery, RandomRepo};
pub use tools::{is_root, rg};
pub use tree::TempTree;
