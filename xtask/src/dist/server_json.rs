//! `server.json`, the entry for the MCP registry. It names the bundle and its checksum.
//!
//! No package of the registry's own ships its schema. The linter skillsaw contains a copy of it and checks the rules
//! that the registry applies beyond the schema. The registry itself accepts bundles only from releases on GitHub and
//! GitLab, which nothing here checks as long as the address of the project is a placeholder.

use std::process::Command;

use super::files::{at, copy, fill, fresh, output, write};
use super::release::{DESCRIPTION, REPOSITORY, VERSION, download, registry_name};
use super::{Dist, bundle};

const NAME: &str = "server.json";

pub(super) fn build(dist: &mut Dist<'_>) -> Result<(), String> {
    let bundle = bundle::file(dist);
    let sum = output(Command::new("sha256sum").arg("--binary").arg(&bundle))?;
    let sum = sum.split(' ').next().unwrap_or_default();
    let bundle = bundle.file_name().unwrap_or_default().to_string_lossy();
    let values = [
        ("NAME", registry_name(REPOSITORY)),
        ("DESCRIPTION", DESCRIPTION.to_owned()),
        ("VERSION", VERSION.to_owned()),
        ("REPOSITORY", REPOSITORY.to_owned()),
        ("BUNDLE", download(&bundle)),
        ("SHA256", sum.to_owned()),
    ];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    let template = dist.workspace.read("packaging/server.json")?;
    let file = dist.out.join(NAME);
    write(&file, fill(&template, &values)?)?;
    check(dist)
}

/// Lints the entry in a directory of its own, and a wrong one, which must fail.
fn check(dist: &Dist<'_>) -> Result<(), String> {
    let linter = dist.python()?.with_file_name("skillsaw");
    let directory = dist.scratch.join("registry");
    fresh(&directory)?;
    let entry = directory.join(NAME);
    let lint = || {
        let mut lint = Command::new(&linter);
        lint.args(["lint", "--strict", "--type", "mcp-registry", "--no-plugins"]);
        output(lint.arg("--no-custom-rules").arg(&directory))
    };
    copy(&dist.out.join(NAME), &entry, 0o644)?;
    lint()?;
    let right = std::fs::read_to_string(&entry).map_err(at(&entry))?;
    write(&entry, right.replace("\"fileSha256\"", "\"sha256\""))?;
    match lint() {
        Err(complaint) if complaint.contains("fileSha256") => Ok(()),
        other => Err(format!("skillsaw does not report that {NAME} has no checksum: {other:?}")),
    }
}
