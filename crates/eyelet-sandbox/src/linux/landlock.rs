//! The Landlock rules, which the kernel checks whenever a sandboxed command opens a path.
//!
//! In the first tier they back up the read-only mounts; in the second tier they are the only protection.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    Scope,
};

use super::tmp_paths::TmpPaths;
use super::{resolve, sys};
use crate::machine::{MIN_LANDLOCK, SCOPED_LANDLOCK};
use crate::request::{Network, Policy, SandboxRequest, Strictness, Tier};

/// The newest Landlock version that this code knows.
const NEWEST: i32 = 6;

/// Devices that commands may use: they hold no data.
pub(super) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// System directories, which stay readable under `--strict`.
const SYSTEM: &[&str] = &[
    "/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc",
    "/run", "/sbin", "/snap", "/sys", "/usr", "/var/lib",
];

/// Restricts this process and all its descendants irrevocably.
pub(super) fn apply(request: &SandboxRequest, tier: Tier) -> Result<(), String> {
    let kernel = sys::landlock_version().map_err(|error| format!("Landlock: {error}"))?;
    if kernel < MIN_LANDLOCK {
        // The mounts protect as well; `eyelet doctor` reports that Landlock is missing.
        return match (tier, request.strictness) {
            (Tier::Namespaces, Strictness::Ordinary) => Ok(()),
            (Tier::Namespaces, Strictness::Strict) | (Tier::Landlock, _) => Err(format!(
                "Landlock version {MIN_LANDLOCK} or later is required; the kernel has version {kernel}"
            )),
        };
    }
    let abi = ABI::from(kernel.min(NEWEST));
    let rules = Rules { abi, request, tier };
    let ruleset = rules.ruleset(kernel).map_err(|error| describe(&error))?;
    let ruleset = rules.add(ruleset).map_err(|error| format!("Landlock: {error}"))?;
    let status = ruleset.restrict_self().map_err(|error| describe(&error))?;
    if status.ruleset == landlock::RulesetStatus::NotEnforced {
        return Err("the kernel does not enforce Landlock".to_owned());
    }
    Ok(())
}

struct Rules<'r> {
    abi: ABI,
    request: &'r SandboxRequest,
    tier: Tier,
}

impl Rules<'_> {
    fn ruleset(&self, kernel: i32) -> Result<RulesetCreated, RulesetError> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(self.abi))?;
        let needs_no_tcp = self.request.network == Network::Off && self.tier == Tier::Landlock;
        if needs_no_tcp && kernel >= 4 {
            ruleset = ruleset.handle_access(AccessNet::from_all(self.abi))?;
        }
        if kernel >= SCOPED_LANDLOCK {
            ruleset = ruleset.scope(Scope::Signal)?;
            if self.request.network == Network::Off {
                ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
            }
        }
        ruleset.create()
    }

    fn add(&self, ruleset: RulesetCreated) -> io::Result<RulesetCreated> {
        let read = AccessFs::from_read(self.abi);
        let all = AccessFs::from_all(self.abi);
        let mut ruleset = ruleset;
        for path in self.readable()? {
            ruleset = self.allow(ruleset, &path, read)?;
        }
        if self.tier == Tier::Landlock && self.request.strictness == Strictness::Ordinary {
            // Directories whose entries are allowed one by one must still be listable.
            ruleset = self.allow(ruleset, Path::new("/"), AccessFs::ReadDir.into())?;
        }
        for device in DEVICES {
            let access = AccessFs::from_file(self.abi) & !AccessFs::Execute;
            ruleset = self.allow(ruleset, &Path::new("/dev").join(device), access)?;
        }
        if self.tier == Tier::Namespaces {
            // Private to the sandbox, and empty at its start.
            ruleset = self.allow(ruleset, Path::new("/dev/shm"), all)?;
            ruleset = self.allow(ruleset, Path::new("/dev/pts"), all)?;
        }
        for root in &self.request.roots {
            let access = match self.request.policy {
                Policy::ReadOnly => read,
                Policy::WorkspaceWrite | Policy::Full => all,
            };
            ruleset = self.allow(ruleset, &root.path, access)?;
        }
        if let Some(temp) = TmpPaths::new(self.request, self.tier).private_temp() {
            ruleset = self.allow(ruleset, &temp, all)?;
        }
        if let Some(spill) = &self.request.spill {
            ruleset = self.allow(ruleset, &spill.path, read)?;
        }
        Ok(ruleset)
    }

    /// The readable paths besides the roots.
    fn readable(&self) -> io::Result<Vec<PathBuf>> {
        if self.request.strictness == Strictness::Strict {
            return Ok(SYSTEM.iter().map(PathBuf::from).collect());
        }
        match self.tier {
            // Mounts cover the denied paths, and `/dev` is private.
            Tier::Namespaces => Ok(vec!["/".into()]),
            Tier::Landlock => {
                let hidden = self.request.hidden.iter();
                let hidden = hidden.filter_map(|path| resolve::real(&path.0).transpose());
                let mut hidden = hidden.collect::<io::Result<Vec<_>>>()?;
                // It has disks and memory as files, which root can read.
                hidden.push("/dev".into());
                all_but(&hidden)
            }
        }
    }

    /// Allows `access` below `path`. A missing path needs no rule.
    fn allow(
        &self,
        ruleset: RulesetCreated,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> io::Result<RulesetCreated> {
        let Ok(found) = fs::metadata(path) else { return Ok(ruleset) };
        // The kernel refuses rights that only directories have for a file.
        let access = if found.is_dir() { access } else { access & AccessFs::from_file(self.abi) };
        // A directory that cannot be opened cannot be read anyway.
        let Ok(handle) = PathFd::new(path) else { return Ok(ruleset) };
        ruleset
            .add_rule(PathBeneath::new(handle, access))
            .map_err(|error| io::Error::other(describe(&error)))
    }
}

/// The whole file system except `hidden`: the siblings of these paths and of their ancestors.
fn all_but(hidden: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut split = BTreeSet::new();
    for path in hidden {
        split.extend(path.ancestors().skip(1).map(Path::to_owned));
    }
    let mut allowed = Vec::new();
    for folder in &split {
        if hidden.iter().any(|path| folder.starts_with(path)) {
            continue;
        }
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            // A rule for a symlink would apply to its target.
            let is_link = entry.file_type().map_or(true, |kind| kind.is_symlink());
            if !is_link && !split.contains(&path) && !hidden.contains(&path) {
                allowed.push(path);
            }
        }
    }
    Ok(allowed)
}

/// The error with its sources.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
