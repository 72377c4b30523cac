//! What a machine can enforce, and which gaps remain.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::request::Tier;

/// The sandbox features that a supervisor detected on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The release of the Linux kernel, such as `6.12.0`.
    pub kernel: String,
    /// Whether the supervisor runs as root.
    pub is_root: bool,
    /// The reason why the system refuses namespaces, or `None` if it allows them.
    pub namespaces_refused: Option<String>,
    /// The version of Landlock; 0 if the kernel has none.
    pub landlock_abi: i32,
    /// Whether system calls can be filtered with seccomp.
    pub has_seccomp: bool,
    /// Whether the kernel can limit the number of processes of each sandbox separately.
    pub has_own_pid_limit: bool,
}

/// The second tier requires this version of Landlock: earlier ones do not restrict truncation.
pub(crate) const MIN_LANDLOCK: i32 = 3;
/// Since this version, Landlock restricts signals and abstract sockets.
pub(crate) const SCOPED_LANDLOCK: i32 = 6;

impl Machine {
    /// Returns the tier in which sandboxed commands run on this machine, or `None` if the machine
    /// can enforce neither tier.
    pub fn tier(&self) -> Option<Tier> {
        if !self.has_seccomp {
            None
        } else if self.namespaces_refused.is_none() {
            Some(Tier::Namespaces)
        } else if self.landlock_abi >= MIN_LANDLOCK {
            Some(Tier::Landlock)
        } else {
            None
        }
    }

    /// Returns whether the number of processes of a command is limited.
    pub fn limits_processes(&self) -> bool {
        // In the second tier the system ignores the limit for root.
        !self.is_root || (self.has_own_pid_limit && self.tier() != Some(Tier::Landlock))
    }

    /// Returns the gaps in the protection of `tier` on this machine.
    pub fn gaps(&self, tier: Tier) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut gap = |what: &str, is_refused_by_strict, advice: &str| {
            gaps.push(Gap {
                what: what.to_owned(),
                is_refused_by_strict,
                advice: advice.to_owned(),
            });
        };
        match tier {
            Tier::Namespaces => {
                if let Some(advice) = self.landlock_advice() {
                    let what =
                        "Landlock is missing or too old: only namespaces and seccomp protect files";
                    gap(what, true, advice);
                }
                if self.is_root && !self.has_own_pid_limit {
                    let what = "the number of processes is not limited: a fork bomb runs until eyelet kills the command";
                    gap(what, true, LIMIT_FORKS);
                }
            }
            Tier::Landlock => {
                for (what, is_refused_by_strict) in SECOND_TIER_GAPS {
                    gap(what, *is_refused_by_strict, ALLOW_NAMESPACES);
                }
                if self.landlock_abi < SCOPED_LANDLOCK {
                    let what = "commands can send signals to other processes of the user";
                    gap(what, true, BLOCK_SIGNALS);
                }
                if self.is_root {
                    let what = "the number of processes of root is not limited: a fork bomb runs until eyelet kills the command";
                    gap(what, true, if self.has_own_pid_limit { NOT_AS_ROOT } else { LIMIT_FORKS });
                }
            }
        }
        gaps
    }

    /// Returns advice on how to close the gaps and enable the missing features of this machine,
    /// without duplicate lines.
    pub fn advice(&self) -> Vec<String> {
        let mut advice: Vec<String> = match self.tier() {
            Some(tier) => self.gaps(tier).into_iter().map(|gap| gap.advice).collect(),
            None => self.missing().into_iter().map(str::to_owned).collect(),
        };
        let mut seen = BTreeSet::new();
        advice.retain(|line| seen.insert(line.clone()));
        advice
    }

    /// Advice on how to enable the missing features, if the machine can enforce no tier.
    fn missing(&self) -> Vec<&'static str> {
        let seccomp = (!self.has_seccomp).then_some(ENABLE_SECCOMP);
        let namespaces = self.namespaces_refused.is_some().then_some(ALLOW_NAMESPACES);
        let forks = (!self.limits_processes()).then_some(LIMIT_FORKS);
        seccomp.into_iter().chain(namespaces).chain(self.landlock_advice()).chain(forks).collect()
    }

    /// Advice for machines on which Landlock is missing or too old.
    fn landlock_advice(&self) -> Option<&'static str> {
        match self.landlock_abi {
            0 => Some(ENABLE_LANDLOCK),
            version => (version < MIN_LANDLOCK).then_some(NEWER_LANDLOCK),
        }
    }
}

/// What the second tier never protects, and whether strict mode refuses it.
const SECOND_TIER_GAPS: &[(&str, bool)] = &[
    ("commands can change the mode, owner and times of files outside the roots", true),
    (
        "commands can change protected files such as .git/config for a moment; eyelet restores these files \
         at once",
        true,
    ),
    ("commands can list the names in denied directories, but not read the files", true),
    (
        "commands can see the arguments and the state of other processes, but not their memory and environment",
        true,
    ),
    ("commands see the /tmp of the machine and can only read it; only $TMPDIR is private", false),
    ("local test servers do not work: there is no loopback network", false),
    ("deny globs cannot be enforced: if any are configured, commands are refused", false),
    ("commands cannot use System V IPC or POSIX message queues", false),
    (
        "commands cannot set extended attributes, ACLs or inode flags, or change the scheduling of a thread or \
         process by its ID",
        false,
    ),
];

const ALLOW_NAMESPACES: &str = "To run commands in the first tier, which has none of the gaps of the second tier, \
     allow unprivileged user namespaces. On Ubuntu, install an AppArmor \
     profile with `userns,` for the program, or run `sudo sysctl \
     kernel.apparmor_restrict_unprivileged_userns=0` to allow them for all programs. \
     On other systems, run `sudo sysctl user.max_user_namespaces=15000`. With Docker, use `docker run --security-opt \
     seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`, \
     which weakens the container's own isolation.";
const ENABLE_LANDLOCK: &str = "To enable Landlock, use Linux 6.2 or later, add `landlock` to the `lsm=` kernel \
     parameter (the current list is in /sys/kernel/security/lsm) and reboot. In a container, allow the \
     landlock system calls in its seccomp profile.";
const NEWER_LANDLOCK: &str = "To use Landlock, upgrade to Linux 6.2 or later.";
const ENABLE_SECCOMP: &str = "To enable seccomp, use a kernel with CONFIG_SECCOMP_FILTER=y.";
const BLOCK_SIGNALS: &str = "To prevent commands from signalling other processes, upgrade to Linux 6.12 or later, or allow namespaces.";
const LIMIT_FORKS: &str = "To limit fork bombs, run eyelet as an ordinary user, or upgrade to Linux 6.14 or \
     later and allow namespaces.";
const NOT_AS_ROOT: &str =
    "To limit fork bombs, run eyelet as an ordinary user, or allow namespaces.";

/// A gap in the protection: something that commands can do although the sandbox should prevent it,
/// or a feature that does not work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// One sentence that describes the gap.
    pub what: String,
    /// Whether strict mode refuses commands because of this gap.
    pub is_refused_by_strict: bool,
    /// Advice on how to close the gap.
    pub advice: String,
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
