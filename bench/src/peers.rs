//! Programs that the benchmarks compare with eyelet, installed under `target/` with pinned versions.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::benches::text;
use crate::contender::output;
use crate::npm;
use crate::options::io_error;
use crate::tables::one_line;

pub(crate) const RIPGREP: Peer =
    Peer { name: "rg", version: "15.2.0", source: Source::Crate("ripgrep") };
pub(crate) const FD: Peer =
    Peer { name: "fd", version: "10.4.2", source: Source::Crate("fd-find") };
pub(crate) const UGREP: Peer =
    Peer { name: "ugrep", version: "3.11.2+dfsg-1", source: Source::Debian("ugrep") };
pub(crate) const RUST_MCP_FILESYSTEM: Peer = Peer {
    name: "rust-mcp-filesystem",
    version: "0.4.5",
    source: Source::Crate("rust-mcp-filesystem"),
};
pub(crate) const SERVER_FILESYSTEM: Peer = Peer {
    name: "server-filesystem",
    version: "2026.8.31",
    source: Source::Npm("@modelcontextprotocol/server-filesystem/dist/index.js"),
};
pub(crate) const DESKTOP_COMMANDER: Peer = Peer {
    name: "desktop-commander",
    version: "0.2.52",
    source: Source::Npm("@wonderwhy-er/desktop-commander/dist/index.js"),
};
pub(crate) const MCP_RIPGREP: Peer = Peer {
    name: "mcp-ripgrep",
    version: "0.4.0",
    source: Source::Npm("mcp-ripgrep/dist/index.js"),
};

/// A program that the benches compare with eyelet, and how to install it.
pub(crate) struct Peer {
    /// As in the reports. The name of a program from a crate or a Debian package.
    pub(crate) name: &'static str,
    version: &'static str,
    source: Source,
}

enum Source {
    /// A crate, built in release mode.
    Crate(&'static str),
    /// A Debian package, unpacked but not installed.
    Debian(&'static str),
    /// A script of an npm package. `bench/npm/NAME` pins the package and its dependencies.
    Npm(&'static str),
}

/// A peer that a benchmark could not use, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Missing {
    pub(crate) peer: String,
    pub(crate) reason: String,
}

/// The peers of a benchmark.
#[derive(Clone, Default)]
pub(crate) struct Peers {
    found: Vec<Found>,
    missing: Vec<Missing>,
}

#[derive(Clone)]
struct Found {
    name: &'static str,
    version: &'static str,
    words: Vec<String>,
}

impl Peers {
    /// Installs the peers that are not installed yet.
    pub(crate) fn install(wanted: &[&Peer], project: &Path) -> Peers {
        let mut peers = Peers::default();
        for peer in wanted {
            match peer.install(project) {
                Ok(words) => {
                    peers.found.push(Found { name: peer.name, version: peer.version, words })
                }
                Err(reason) => peers.add_missing(peer, reason),
            }
        }
        peers
    }

    /// The command that starts a peer, unless it is missing.
    pub(crate) fn words(&self, peer: &Peer) -> Option<&[String]> {
        let found = self.found.iter().find(|found| found.name == peer.name)?;
        Some(&found.words)
    }

    /// The path of a program that the checks of a benchmark use.
    pub(crate) fn required(&self, peer: &Peer) -> Result<String> {
        let words = self.words(peer).and_then(<[String]>::first).cloned();
        words.ok_or_else(|| {
            let missing = self.missing.iter().find(|missing| missing.peer == missing_name(peer));
            let reason = missing.map_or("", |missing| &missing.reason);
            format!("cannot run without {}: {reason}", peer.name)
        })
    }

    /// Reports a peer as missing although it is installed.
    pub(crate) fn exclude(&mut self, peer: &Peer, reason: String) {
        self.found.retain(|found| found.name != peer.name);
        self.add_missing(peer, reason);
    }

    fn add_missing(&mut self, peer: &Peer, reason: String) {
        let reason = one_line(&reason);
        let name = missing_name(peer);
        println!("== {name} is missing: {reason}");
        self.missing.push(Missing { peer: name, reason });
    }

    pub(crate) fn missing(&self) -> &[Missing] {
        &self.missing
    }

    pub(crate) fn versions(&self) -> impl Iterator<Item = String> {
        self.found.iter().map(|found| format!("{} {}", found.name, found.version))
    }
}

fn missing_name(peer: &Peer) -> String {
    format!("{} {}", peer.name, peer.version)
}

impl Peer {
    fn install(&self, project: &Path) -> Result<Vec<String>> {
        match self.source {
            Source::Crate(package) => self.install_crate(package, project).map(|path| vec![path]),
            Source::Debian(package) => self.unpack_debian(package, project).map(|path| vec![path]),
            Source::Npm(script) => npm::install(self.name, script, project),
        }
    }

    fn install_crate(&self, package: &str, project: &Path) -> Result<String> {
        let folder = project.join("target/tools/peers");
        let path = text(folder.join("bin").join(self.name))?;
        let is_installed = output(&[&path, "--version"]).is_ok_and(|printed| {
            String::from_utf8_lossy(&printed).split_whitespace().nth(1) == Some(self.version)
        });
        if !is_installed {
            println!("== installing {package} {} (once)", self.version);
            let (root, build) = (text(folder.clone())?, text(folder.join("build"))?);
            let from = ["cargo", "install", package, "--version", self.version, "--locked"];
            let to = ["--force", "--quiet", "--root", &root, "--target-dir", &build];
            output(&[from, to].concat())?;
        }
        Ok(path)
    }

    fn unpack_debian(&self, package: &str, project: &Path) -> Result<String> {
        let folder = project.join("target/tools/debian").join(self.version);
        let path = folder.join("usr/bin").join(self.name);
        if !path.exists() {
            println!("== unpacking {package} {} (once)", self.version);
            fs::create_dir_all(&folder).map_err(io_error)?;
            let (folder, exact) = (text(folder.clone())?, format!("{package}={}", self.version));
            output(&["env", "-C", &folder, "apt-get", "download", "--quiet", &exact])?;
            output(&["sh", "-c", "dpkg-deb -x \"$0\"/*.deb \"$0\"", &folder])?;
        }
        let path = text(path)?;
        // Fails if one of its shared libraries is not installed.
        output(&[&path, "--version"])?;
        Ok(path)
    }
}
