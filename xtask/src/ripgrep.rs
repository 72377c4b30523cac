//! The real `rg` that tests compare with.

use std::process::Command;

use crate::{Workspace, cargo};

const VERSION: &str = "15.2.0";

pub(crate) fn install(workspace: &Workspace) -> Result<(), String> {
    if is_installed(workspace) {
        return Ok(());
    }
    cargo::run(
        cargo::command(workspace)
            .args(["install", "ripgrep", "--version", VERSION, "--locked", "--force", "--root"])
            .arg(workspace.tools()),
    )
}

fn is_installed(workspace: &Workspace) -> bool {
    let said = Command::new(workspace.tools().join("bin/rg")).arg("--version").output();
    said.is_ok_and(|said| {
        let said = String::from_utf8_lossy(&said.stdout);
        said.split_whitespace().take(2).eq(["ripgrep", VERSION])
    })
}
