//! The real pytest, run in the sandbox.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::steps::cargo_test;
use crate::workspace::{Workspace, run};

const PINNED: &[&str] =
    &["iniconfig==2.3.1", "packaging==26.3", "pluggy==1.7.0", "pygments==2.21.0", "pytest==9.2.0"];

/// Installs pytest and runs the tests that need it.
pub(super) fn test(workspace: &Workspace) -> Result<(), String> {
    install(workspace)?;
    run(cargo_test(workspace)
        .args(["--workspace", "--test", "it", "--", "--ignored", "pytest"])
        .env("EYELET_TEST_PYTEST", path(workspace)))
}

pub(super) fn path(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("pytest")
}

/// Installs it as a directory of plain files, which can be copied for another user.
fn install(workspace: &Workspace) -> Result<(), String> {
    let directory = path(workspace);
    let done = directory.join("installed.txt");
    let pinned = PINNED.join("\n");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == pinned) {
        return Ok(());
    }
    let python = workspace.tools().join("python");
    run(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
    run(Command::new(python.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(["--no-deps", "--upgrade", "--target"])
        .arg(&directory)
        .args(PINNED))?;
    fs::write(&done, pinned).map_err(|error| format!("{}: {error}", done.display()))
}
