//! The MCP bundle (`.mcpb`), with which desktop clients install a server.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Dist;
use super::files::{copy, fresh, output, write};
use super::release::{DESCRIPTION, REPOSITORY, VERSION, author, stem};
use super::third_party;
use crate::packages;
use crate::workspace::run;

/// The program of the package `@anthropic-ai/mcpb`.
const MCPB: &str = "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js";

pub(super) fn build(dist: &mut Dist<'_>) -> Result<(), String> {
    let workspace = dist.workspace;
    let tools = workspace.tools().join("mcpb");
    packages::install_node(workspace, "packaging/mcpb", &tools)?;
    let tree = dist.scratch.join("bundle");
    fresh(&tree)?;
    let manifest = tree.join("manifest.json");
    let values = [VERSION, REPOSITORY, author(), DESCRIPTION];
    let mut node = Command::new("node");
    node.arg(tools.join("manifest.mjs")).arg(&dist.program.path).args(values);
    write(&manifest, output(&mut node)?)?;
    copy(&dist.program.path, &tree.join("server/eyelet"), 0o755)?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        copy(&workspace.root.join(name), &tree.join(name), 0o644)?;
    }
    copy(&third_party::file(dist), &tree.join("THIRD-PARTY-LICENSES.txt"), 0o644)?;
    output(mcpb(dist, &tools, "validate").arg(&manifest))?;
    let bundle = file(dist);
    output(mcpb(dist, &tools, "pack").arg(&tree).arg(&bundle))?;
    check(dist, &tools, &bundle)
}

pub(super) fn file(dist: &Dist<'_>) -> PathBuf {
    dist.out.join(format!("{}.mcpb", stem(dist.program.target)))
}

fn mcpb(dist: &Dist<'_>, tools: &Path, verb: &str) -> Command {
    let mut node = Command::new("node");
    node.arg("--require").arg(tools.join("fixed_date.cjs")).arg(tools.join(MCPB)).arg(verb);
    node.env("SOURCE_DATE_EPOCH", &dist.epoch).env("TZ", "UTC");
    node
}

/// Unpacks the bundle and starts its server as the manifest says.
fn check(dist: &Dist<'_>, tools: &Path, bundle: &Path) -> Result<(), String> {
    let unpacked = dist.scratch.join("unpacked-bundle");
    fresh(&unpacked)?;
    output(mcpb(dist, tools, "unpack").arg(bundle).arg(&unpacked))?;
    let root = dist.scratch.join("root");
    run(Command::new("node").arg(tools.join("check.mjs")).arg(&unpacked).arg(&root))
}
