//! Trees, naive models and properties that eyelet's tests share.

mod tools;
mod tree;

pub use tools::{is_root, rg};
pub use tree::TempTree;
