//! Trees, naive models and properties that eyelet's tests share.

mod tools;
mod tree;

pub use tools::{eyelet_bin, is_root, rg};
pub use tree::TempTree;
