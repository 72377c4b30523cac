//! The real pytest, which tests run in the sandbox.

use std::fs;
use std::process::Command;

use crate::{Workspace, cargo};

const PINNED: &[&str] =
    &["iniconfig==2.3.1", "packaging==26.3", "pluggy==1.7.0", "pygments==2.21.0", "pytest==9.2.0"];

/// Installs it as a folder of plain files, which can be copied for another user.
pub(crate) fn install(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.tools().join("pytest");
    let done = folder.join("installed.txt");
    let pinned = PINNED.join("\n");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == pinned) {
        return Ok(());
    }
    let python = workspace.tools().join("python");
    cargo::run(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
    cargo::run(
        Command::new(python.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--no-deps", "--upgrade", "--target"])
            .arg(&folder)
            .args(PINNED),
    )?;
    fs::write(&done, pinned).map_err(|error| format!("{}: {error}", done.display()))
}
