//! `cargo xtask bench NAME`: measures the release build. The benchmarks are a workspace of their own.

use crate::workspace::{Workspace, run as run_command};

/// `words` are the benchmark's name and its options, which the benchmark parses.
pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    let product = ["build", "--release", "--locked", "--package", "eyelet-cli"];
    run_command(workspace.cargo().args(product))?;
    let bench = ["run", "--release", "--quiet", "--locked", "--manifest-path", "bench/Cargo.toml"];
    run_command(workspace.cargo().args(bench).arg("--").args(words))
}
