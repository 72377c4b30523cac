//! The real `rg` that tests compare with.

use std::path::PathBuf;
use std::process::Command;

use crate::workspace::{Workspace, run};

const VERSION: &str = "15.2.0";

/// Builds `rg` unless it is there. Little optimisation: building it takes longer than all searches.
pub(super) fn install(workspace: &Workspace) -> Result<(), String> {
    if is_installed(workspace) {
        return Ok(());
    }
    let profile = ["profile.dev.opt-level=1", "profile.dev.debug=false"];
    let mut install = workspace.cargo();
    install
        .args([
            "install",
            "ripgrep",
            "--version",
            VERSION,
            "--locked",
            "--force",
            "--profile",
            "dev",
        ])
        .args(profile.iter().flat_map(|setting| ["--config", setting]))
        .arg("--root")
        .arg(workspace.tools())
        .arg("--target-dir")
        .arg(workspace.tools().join("build"));
    run(&mut install)
}

pub(super) fn path(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("bin/rg")
}

fn is_installed(workspace: &Workspace) -> bool {
    let version = Command::new(path(workspace)).arg("--version").output();
    version.is_ok_and(|version| {
        let version = String::from_utf8_lossy(&version.stdout);
        version.split_whitespace().take(2).eq(["ripgrep", VERSION])
    })
}
