//! The real `rg` that tests compare with.

use std::path::PathBuf;

use crate::packages;
use crate::workspace::Workspace;

const VERSION: &str = "15.2.0";

/// Builds `rg` unless it is there.
pub(super) fn install(workspace: &Workspace) -> Result<(), String> {
    packages::install_crate(workspace, "ripgrep", VERSION, "rg", &[]).map(|_| ())
}

pub(super) fn path(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("bin/rg")
}
