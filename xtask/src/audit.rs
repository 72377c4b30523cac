//! Checks the dependencies with `cargo deny`: their licences, banned and duplicate crates, their sources, and
//! known vulnerabilities if the advisory database can be reached.

use std::process::Stdio;

use crate::workspace::{Workspace, run};

const INSTALL: &str = "`cargo deny` is missing; run `cargo install cargo-deny --locked`";

/// The output of `cargo deny` if the database cannot be reached.
const UNREACHABLE: &[&str] = &["failed to fetch", "failed to load advisory database"];

pub(crate) fn check(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    if !words.is_empty() {
        return Err("usage: cargo xtask audit".to_owned());
    }
    let mut version = workspace.cargo();
    version.args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status().is_ok_and(|status| status.success()) {
        return Err(INSTALL.to_owned());
    }
    // The benchmarks are not published, and may have a crate in two versions.
    let product: &[_] = &["licenses", "bans", "sources"];
    for (manifest, checks) in
        [("Cargo.toml", product), ("bench/Cargo.toml", &["licenses", "sources"])]
    {
        println!("== {manifest}: {}", checks.join(", "));
        let mut deny = workspace.cargo();
        run(deny.args(["deny", "--manifest-path", manifest, "check"]).args(checks))?;
    }
    advisories(workspace)
}

fn advisories(workspace: &Workspace) -> Result<(), String> {
    println!("== advisories");
    let output = workspace.cargo().args(["deny", "check", "advisories"]).output();
    let output = output.map_err(|error| format!("cannot start `cargo deny`: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    print!("{text}");
    if output.status.success() {
        return Ok(());
    }
    if UNREACHABLE.iter().any(|sign| text.contains(sign)) {
        println!("not checked: the advisory database cannot be reached");
        return Ok(());
    }
    Err("`cargo deny check advisories` reports problems; see its output above".to_owned())
}
