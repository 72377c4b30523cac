//! The programs that tests compare with, and who runs them.

use std::path::{Path, PathBuf};

/// The real ripgrep that `cargo xtask test` puts under `target/`; `EYELET_TEST_RG` names another.
pub fn rg() -> PathBuf {
    tool("EYELET_TEST_RG", "bin/rg")
}

/// The folder of Python modules with the real pytest, likewise; `EYELET_TEST_PYTEST` names another.
pub fn pytest() -> PathBuf {
    tool("EYELET_TEST_PYTEST", "pytest")
}

fn tool(variable: &str, installed: &str) -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let path = std::env::var_os(variable).map_or_else(|| tools.join(installed), PathBuf::from);
    assert!(
        path.exists(),
        "{} is missing: run `cargo xtask test`, which installs it",
        path.display()
    );
    path
}

/// The program `eyelet`: the one that was built for the tests, which the caller knows as
/// `env!("CARGO_BIN_EXE_eyelet")`, unless `EYELET_TEST_BIN` names another.
pub fn eyelet_bin(built: &str) -> PathBuf {
    std::env::var_os("EYELET_TEST_BIN").map_or_else(|| built.into(), PathBuf::from)
}

/// Whether the tests run as root, for whom no file is unreadable.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
