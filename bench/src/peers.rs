//! Peers from crates.io, built in release mode under `target/` with a pinned version.

use std::path::Path;

use crate::Result;
use crate::contender::output;

const RIPGREP: Peer = Peer { package: "ripgrep", program: "rg", version: "15.2.0" };
const FD: Peer = Peer { package: "fd-find", program: "fd", version: "10.4.2" };

struct Peer {
    package: &'static str,
    program: &'static str,
    version: &'static str,
}

/// The path of `rg`.
pub(crate) fn ripgrep(project: &Path) -> Result<String> {
    RIPGREP.install(project)
}

/// The path of `fd`.
pub(crate) fn fd(project: &Path) -> Result<String> {
    FD.install(project)
}

impl Peer {
    /// Installs the program unless it is there. Returns its path.
    fn install(&self, project: &Path) -> Result<String> {
        let folder = project.join("target/tools/peers");
        let path = super::benches::text(folder.join("bin").join(self.program))?;
        let is_installed = output(&[&path, "--version"]).is_ok_and(|printed| {
            String::from_utf8_lossy(&printed).split_whitespace().nth(1) == Some(self.version)
        });
        if !is_installed {
            println!("== installing {} {} (once)", self.package, self.version);
            let root = super::benches::text(folder.clone())?;
            let build = super::benches::text(folder.join("build"))?;
            output(&[
                "cargo",
                "install",
                self.package,
                "--version",
                self.version,
                "--locked",
                "--force",
                "--quiet",
                "--root",
                &root,
                "--target-dir",
                &build,
            ])?;
        }
        Ok(path)
    }
}
