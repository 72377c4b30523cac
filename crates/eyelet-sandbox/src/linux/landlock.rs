//! The Landlock rules, which the kernel checks whenever a sandboxed command opens a path.
//!
//! In the first tier they back up the read-only mounts; in the second tier they are the only protection.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    Scope,
};

use rustix::fs::{FileType, Mode, OFlags};

use super::detached_mount::open_without_links;
use super::tmp_paths::TmpPaths;
use super::{resolve, sys};
use crate::machine::{MIN_LANDLOCK, SCOPED_LANDLOCK};
use crate::request::{LinkedWorktree, Network, Place, Policy, SandboxRequest, Strictness, Tier};

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
    let kernel = sys::landlock_version()
        .map_err(|error| format!("cannot read the version of Landlock: {error}"))?;
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
    let ruleset = rules.add(ruleset).map_err(|error| format!("cannot set up Landlock: {error}"))?;
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
            ruleset = ruleset.scope(Scope::Signal)?.scope(Scope::AbstractUnixSocket)?;
        }
        ruleset.create()
    }

    fn add(&self, ruleset: RulesetCreated) -> io::Result<RulesetCreated> {
        let read = AccessFs::from_read(self.abi);
        let all = AccessFs::from_all(self.abi);
        let mut ruleset = ruleset;
        let Readable { tops, entries, listed } = self.readable()?;
        for path in tops {
            ruleset = self.allow(ruleset, &path, read)?;
        }
        for path in entries {
            ruleset = self.allow_without_links(ruleset, &path, read)?;
        }
        for path in listed {
            // Directories whose entries are allowed one by one must still be listable.
            ruleset = self.allow(ruleset, &path, AccessFs::ReadDir.into())?;
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
            ruleset = self.allow_place(ruleset, root, access)?;
        }
        for cache in &self.request.caches {
            ruleset = self.allow_place(ruleset, cache, all)?;
        }
        for worktree in &self.request.worktrees {
            ruleset = self.allow_worktree(ruleset, worktree)?;
        }
        if let Some(temp) = TmpPaths::new(self.request, self.tier).private_temp() {
            ruleset = self.allow_without_links(ruleset, &temp, all)?;
        }
        if let Some(spill) = &self.request.spill {
            ruleset = self.allow_place(ruleset, spill, read)?;
        }
        Ok(ruleset)
    }

    /// Allows `access` below a directory. Fails if it is not the one that was checked: another command may have put
    /// a symlink there.
    fn allow_place(
        &self,
        ruleset: RulesetCreated,
        place: &Place,
        access: BitFlags<AccessFs>,
    ) -> io::Result<RulesetCreated> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&place.path, flags, Mode::empty())?;
        let found = rustix::fs::fstat(&handle)?;
        if (found.st_dev, found.st_ino) != place.identity {
            let path = place.path.display();
            return Err(io::Error::other(format!(
                "{path} was replaced while the sandbox was set up; try again"
            )));
        }
        ruleset
            .add_rule(PathBeneath::new(handle, access))
            .map_err(|error| io::Error::other(describe(&error)))
    }

    /// Allows what git needs in the folders of a linked worktree. In the first tier, mounts protect the rest; without
    /// them, only whole folders of the repository can be writable.
    fn allow_worktree(
        &self,
        ruleset: RulesetCreated,
        worktree: &LinkedWorktree,
    ) -> io::Result<RulesetCreated> {
        let all = AccessFs::from_all(self.abi);
        if self.tier == Tier::Namespaces {
            return self.allow_place(ruleset, &worktree.common, all);
        }
        let common = &worktree.common;
        let mut ruleset = self.allow_place(ruleset, common, AccessFs::from_read(self.abi))?;
        // Git creates it with the first entry, but the rules need it now. Git reports the error if this fails.
        let _ = rustix::fs::mkdir(common.path.join("logs"), Mode::from_raw_mode(0o777));
        for name in ["objects", "refs", "logs"] {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(handle) = rustix::fs::open(common.path.join(name), flags, Mode::empty()) else {
                continue;
            };
            ruleset = ruleset
                .add_rule(PathBeneath::new(handle, all))
                .map_err(|error| io::Error::other(describe(&error)))?;
        }
        self.allow_place(ruleset, &worktree.own, all)
    }

    /// The readable paths. In the first tier, mounts cover the denied paths; but the kernel drops a cover if someone
    /// replaces the file.
    fn readable(&self) -> io::Result<Readable> {
        let layout = TmpPaths::new(self.request, self.tier);
        let hidden = self.request.hidden.iter().map(|path| layout.inside(&path.0));
        let hidden = hidden.filter_map(|path| resolve::denied(&path).transpose());
        let mut hidden = hidden.collect::<io::Result<Vec<_>>>()?;
        // These have rules of their own. Without a rule for the directories beside them, those of sessions that start
        // later cannot be read.
        let own = self.request.private_temp.iter().chain(&self.request.spill);
        hidden.extend(own.flat_map(|place| [place.path.clone(), layout.inside(&place.path)]));
        if self.tier == Tier::Landlock {
            // It has disks and memory as files, which root can read.
            hidden.push("/dev".into());
        }
        let tops: &[&str] = match self.request.strictness {
            Strictness::Ordinary => &["/"],
            Strictness::Strict => SYSTEM,
        };
        Readable::new(tops, &hidden)
    }

    /// Allows `access` below a path of the system, which may be a symlink, such as `/bin`. A missing path needs no rule.
    fn allow(
        &self,
        ruleset: RulesetCreated,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> io::Result<RulesetCreated> {
        // A directory that cannot be opened cannot be read anyway.
        let Ok(handle) = PathFd::new(path) else { return Ok(ruleset) };
        self.allow_handle(ruleset, handle, access)
    }

    /// Allows `access` below a path without symlinks. Another command may have put one in the place of the path, or of a
    /// directory around it: then there is no rule.
    fn allow_without_links(
        &self,
        ruleset: RulesetCreated,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> io::Result<RulesetCreated> {
        let Ok(handle) = open_without_links(path) else { return Ok(ruleset) };
        self.allow_handle(ruleset, handle, access)
    }

    fn allow_handle(
        &self,
        ruleset: RulesetCreated,
        handle: impl AsFd,
        access: BitFlags<AccessFs>,
    ) -> io::Result<RulesetCreated> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode);
        // The kernel refuses rights that only directories have for a file.
        let access = if kind.is_dir() { access } else { access & AccessFs::from_file(self.abi) };
        ruleset
            .add_rule(PathBeneath::new(handle, access))
            .map_err(|error| io::Error::other(describe(&error)))
    }
}

/// The paths that commands can read.
struct Readable {
    /// System directories with everything in them.
    tops: Vec<PathBuf>,
    /// Files and directories without symlinks, with everything in them.
    entries: Vec<PathBuf>,
    /// Directories of which only the names in them can be read, also below them.
    listed: Vec<PathBuf>,
}

impl Readable {
    /// Everything in `tops` except `hidden`: the siblings of these paths and of their ancestors.
    fn new(tops: &[&str], hidden: &[PathBuf]) -> io::Result<Self> {
        let mut split = BTreeSet::new();
        for path in hidden {
            split.extend(path.ancestors().skip(1).map(Path::to_owned));
        }
        let tops = tops.iter().map(PathBuf::from);
        let (listed, tops): (Vec<_>, Vec<_>) = tops.partition(|top| split.contains(top));
        let is_readable = |folder: &&PathBuf| {
            listed.iter().any(|top| folder.starts_with(top))
                && !hidden.iter().any(|path| folder.starts_with(path))
        };
        let mut entries = Vec::new();
        for folder in split.iter().filter(is_readable) {
            let Ok(found) = fs::read_dir(folder) else { continue };
            for entry in found {
                let entry = entry?;
                let path = entry.path();
                // A rule for a symlink would apply to its target.
                let is_link = entry.file_type().map_or(true, |kind| kind.is_symlink());
                if !is_link && !split.contains(&path) && !hidden.contains(&path) {
                    entries.push(path);
                }
            }
        }
        Ok(Readable { tops, entries, listed })
    }
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

#[cfg(test)]
#[path = "landlock_tests.rs"]
mod tests;
