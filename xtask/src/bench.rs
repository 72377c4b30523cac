//! `cargo xtask bench`: measures the release build, and draws the results. The benchmarks are a workspace of
//! their own.

use crate::workspace::{Workspace, run as run_command};

/// `words` are the benchmark's name and its options, which the benchmark parses.
pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    let measures = words != ["--charts"];
    if measures {
        let product = ["build", "--release", "--locked", "--package", "eyelet-cli"];
        run_command(workspace.cargo().args(product))?;
    }
    let mut bench = workspace.cargo();
    bench.args(["run", "--quiet", "--locked", "--manifest-path", "bench/Cargo.toml"]);
    // A release build takes minutes, and drawing does not need it.
    bench.args(measures.then_some("--release"));
    run_command(bench.arg("--").args(words))
}
