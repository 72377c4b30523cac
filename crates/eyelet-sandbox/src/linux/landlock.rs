//! The rules that the kernel checks at every path that a sandboxed command opens.
//!
//! In the first tier they stand behind the mounts; in the second they are the wall itself.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    Scope,
};

use super::{layout, reach};
use crate::doctor::{LEAST_LANDLOCK, SCOPED_LANDLOCK};
use crate::request::{Network, Policy, SandboxRequest, Strictness, Tier};

/// The newest version whose rules are used.
const NEWEST: i32 = 6;

/// Devices that commands use; they give nothing away and keep nothing.
pub(super) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// Folders of the system itself, which `--strict` leaves readable.
const SYSTEM: &[&str] = &[
    "/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc",
    "/run", "/sbin", "/snap", "/sys", "/usr", "/var/lib",
];

/// The kernel's version of Landlock; 0 where there is none.
pub(super) fn kernel_abi() -> io::Result<i32> {
    super::sys::landlock_version()
}

/// Restricts this process and everything that it starts, for good.
pub(super) fn apply(request: &SandboxRequest, tier: Tier) -> Result<(), String> {
    let kernel = kernel_abi().map_err(|error| format!("Landlock: {error}"))?;
    if kernel < LEAST_LANDLOCK {
        // Behind mounts it is the second line; `doctor` says that it is missing.
        return match (tier, request.strictness) {
            (Tier::Namespaces, Strictness::Ordinary) => Ok(()),
            (Tier::Namespaces, Strictness::Strict) | (Tier::Landlock, _) => Err(format!(
                "Landlock of version {LEAST_LANDLOCK} is needed, and the kernel has {kernel}"
            )),
        };
    }
    let abi = ABI::from(kernel.min(NEWEST));
    let rules = Rules { abi, request, tier };
    let ruleset = rules.ruleset(kernel).map_err(|error| told(&error))?;
    let ruleset = rules.add(ruleset).map_err(|error| format!("Landlock: {error}"))?;
    let status = ruleset.restrict_self().map_err(|error| told(&error))?;
    if status.ruleset == landlock::RulesetStatus::NotEnforced {
        return Err("Landlock is not enforced".to_owned());
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
            // A folder whose entries are allowed one by one can still be listed.
            ruleset = self.allow(ruleset, Path::new("/"), AccessFs::ReadDir.into())?;
        }
        for device in DEVICES {
            let access = AccessFs::from_file(self.abi) & !AccessFs::Execute;
            ruleset = self.allow(ruleset, &Path::new("/dev").join(device), access)?;
        }
        if self.tier == Tier::Namespaces {
            // Its own, empty at its start.
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
        let layout = layout::Layout::of(self.request, self.tier);
        if let Some(temp) = layout.private_temp() {
            ruleset = self.allow(ruleset, &temp, all)?;
        }
        if let Some(spill) = &self.request.spill {
            ruleset = self.allow(ruleset, &spill.path, read)?;
        }
        Ok(ruleset)
    }

    /// What may be read beside the roots.
    fn readable(&self) -> io::Result<Vec<PathBuf>> {
        if self.request.strictness == Strictness::Strict {
            return Ok(SYSTEM.iter().map(PathBuf::from).collect());
        }
        match self.tier {
            // What is hidden is covered by mounts, and `/dev` is its own.
            Tier::Namespaces => Ok(vec!["/".into()]),
            Tier::Landlock => {
                let hidden = self.request.hidden.iter();
                let hidden = hidden.filter_map(|path| reach::real(&path.0).transpose());
                let mut hidden = hidden.collect::<io::Result<Vec<_>>>()?;
                // Disks and memory lie there as files that root can read.
                hidden.push("/dev".into());
                all_but(&hidden)
            }
        }
    }

    /// Allows `access` below `path`. What is not there needs no rule.
    fn allow(
        &self,
        ruleset: RulesetCreated,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> io::Result<RulesetCreated> {
        let Ok(found) = fs::metadata(path) else { return Ok(ruleset) };
        // What only folders have makes no sense for a file, and is refused.
        let access = if found.is_dir() { access } else { access & AccessFs::from_file(self.abi) };
        // A folder that may not be opened cannot be read anyway.
        let Ok(handle) = PathFd::new(path) else { return Ok(ruleset) };
        ruleset
            .add_rule(PathBeneath::new(handle, access))
            .map_err(|error| io::Error::other(told(&error)))
    }
}

/// Everything in the file system but `hidden`: what lies beside them and beside their parents.
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
            // A rule on a link would be one on its target.
            let is_link = entry.file_type().map_or(true, |kind| kind.is_symlink());
            if !is_link && !split.contains(&path) && !hidden.contains(&path) {
                allowed.push(path);
            }
        }
    }
    Ok(allowed)
}

/// The error with what is behind it.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
