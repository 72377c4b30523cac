//! The software bill of materials: every crate in the program, as CycloneDX JSON.

use std::process::Command;

use super::files::{at, fresh, output, write};
use super::release::stem;
use super::{Dist, third_party};
use crate::packages;

/// The version of cargo-cyclonedx.
const VERSION: &str = "0.5.9";

pub(super) fn build(dist: &mut Dist<'_>) -> Result<(), String> {
    let workspace = dist.workspace;
    let cyclonedx =
        packages::install_crate(workspace, "cargo-cyclonedx", VERSION, "cargo-cyclonedx", &[])?;
    // It writes beside every Cargo.toml, so it gets a copy of the sources.
    let copy = dist.scratch.join("sbom");
    fresh(&copy)?;
    let sources = ["Cargo.toml", "Cargo.lock", "README.md", "crates", "xtask"];
    let sources = sources.map(|name| workspace.root.join(name));
    output(Command::new("cp").arg("-r").args(sources).arg(&copy))?;
    let mut bom = Command::new(cyclonedx);
    bom.args(["cyclonedx", "--format", "json", "--spec-version", "1.5", "--no-build-deps"])
        .args(["--target", dist.program.target, "--manifest-path"])
        .arg(copy.join("crates/eyelet-cli/Cargo.toml"))
        .env("SOURCE_DATE_EPOCH", &dist.epoch);
    output(&mut bom)?;
    let made = copy.join("crates/eyelet-cli/eyelet-cli.cdx.json");
    let made = std::fs::read_to_string(&made).map_err(at(&made))?;
    // References contain the path of the copy, which means nothing elsewhere.
    let made = made.replace(&*copy.to_string_lossy(), "/eyelet");
    for part in third_party::crates(dist)? {
        let reference = format!("\"pkg:cargo/{}@{}", part.name, part.version);
        if !made.contains(&reference) {
            return Err(format!("the SBOM lacks {} {}", part.name, part.version));
        }
    }
    let file = dist.out.join(format!("{}.cdx.json", stem(dist.program.target)));
    write(&file, made)?;
    let python = dist.python()?;
    let check = workspace.root.join("packaging/check_sbom.py");
    output(Command::new(python).arg(check).arg(&file)).map(|_| ())
}
