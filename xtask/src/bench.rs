//! `cargo xtask bench NAME`: measures the release build. The benches are a workspace of their own.

use crate::{Workspace, cargo};

/// `words` are the bench's name and its options; the bench knows what they mean.
pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let workspace = Workspace::find()?;
    let product = ["build", "--release", "--locked", "--package", "eyelet-cli"];
    cargo::run(cargo::command(&workspace).args(product))?;
    let bench = ["run", "--release", "--quiet", "--locked", "--manifest-path", "bench/Cargo.toml"];
    cargo::run(cargo::command(&workspace).args(bench).arg("--").args(words))
}
